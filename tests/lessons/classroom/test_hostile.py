"""Test that a notebook can pass only with right kernels, and that no notebook stops another."""

from __future__ import annotations

import base64
import socket
import time

import pytest

from forgekit.lessons.classroom.found import SubmittedNotebook
from forgekit.lessons.classroom.running import Judge
from forgekit.lessons.classroom.sandbox import Limits, available
from forgekit.lessons.exercise import exercise
from tests.lessons.classroom.hostile import HOSTILE, SLOW

pytestmark = pytest.mark.skipif(
    bool(available()), reason="no user namespaces here; see book/classroom.md"
)
NAME = "week0/scale"
GRADE = f'fk.exercise("{NAME}").grade(scale)'
START = "import forgekit as fk\nimport cutlass.cute as cute\n"


@pytest.fixture(scope="module")
def judge():
    made = Judge(Limits(seconds=5, total_seconds=40, memory_mib=1500))
    assert verdict(made, START, exercise(NAME).source.solution, GRADE)["verdict"] == "passed"
    yield made
    assert verdict(made, START, exercise(NAME).source.solution, GRADE)["verdict"] == "passed"
    made.close()


def verdict(judge, *cells):
    found = judge.verdicts(SubmittedNotebook("ann", "x", "x", "", cells, (), (NAME,)))
    assert found is not None, "the judge was lost"
    return found[0]


def wrong(e):
    return e.source.solution.replace("3.0 * mX[i] + 1.0", "3.0 * mX[i]")


OUT_OF_REACH = """
import ctypes, glob, os, socket, subprocess, sys
import forgekit
root = os.path.dirname(os.path.dirname(forgekit.__file__))
seen = {root, sys.prefix, sys.base_prefix}  # may lie below /home; of that only the way there shows
found = [f for f in (root + "/README.md", "/root/.bashrc", "/home", "/var", "/run", "/sys", "/old")
         if os.path.exists(f) and not any(place.startswith(f + "/") for place in seen)]
for file in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/etc/x", forgekit.__file__,
             "/proc/1/mem"):
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT))
        found.append(file)
    except OSError:
        pass
found += glob.glob(root + "/week*/exercises/*") + glob.glob(root + "/week*/*.ipynb")
found += [] if ctypes.CDLL(None).unshare(0x10000000) else ["namespaces"]
found += [] if subprocess.check_output(["ls", "/proc"]).count(b"\\n") > 5 else ["no /proc"]
found += [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid())][2:]
found += [name for _, name in socket.if_nameindex() if name != "lo"]
try:
    socket.create_connection(("127.0.0.1", PORT), 2)
    found.append("network")
except OSError:
    pass
trace = ctypes.CDLL(None).ptrace
found += [p for p in (JUDGE, *range(1, 200)) if p != os.getpid() and trace(16, p, 0, 0) == 0]
status = dict(line.split(":") for line in open("/proc/self/status"))
found += [status["CapEff"]] if int(status["CapEff"], 16) else []
reverse = found
"""


def found_nothing(judge, *cells):
    """Check that the cells leave an empty list under the name `reverse`."""
    cells = START, *cells, 'fk.exercise("week0/reverse").grade(reverse)'
    submitted = SubmittedNotebook("ann", "x", "x", "", cells, (), (NAME, "week0/reverse"))
    happened = judge.verdicts(submitted)[1]["happened"]
    return happened.startswith("Expected a @cute.jit function, got [].") or happened


def test_what_a_sandbox_reaches(judge):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        cell = OUT_OF_REACH.replace("PORT", port).replace("JUDGE", str(judge.process.pid))
        assert found_nothing(judge, cell) is True


FILES = """
import os
reverse, number = [], 0
try:
    for number in range(1000):
        with open(f"/tmp/{number}", "wb") as file:
            file.write(bytes(1 << 20))
except OSError:
    pass
reverse += [] if 200 < number <= 256 else [number]
for place in ("/dev/shm/x", "/x", os.path.expanduser("~/x")):
    try:
        with open(place, "wb") as file:
            file.write(bytes(2 << 20))
        reverse.append(place)
    except OSError:
        pass
"""


def test_files_are_limited_together(judge):
    assert found_nothing(judge, FILES) is True


SEEN = """
reverse = []
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    decode = peer._decode_tensor
    peer._decode_tensor = lambda held, *a, **k: (reverse.append(held[:2]), decode(held, *a, **k))[1]
"""


def test_no_values_of_a_kernels_arguments_reach_the_student(judge):
    assert found_nothing(judge, SEEN, exercise(NAME).source.solution, GRADE) is True


NAMES_A_FILE = """
import re
@cute.kernel
def beyond(mX: cute.Tensor, mY: cute.Tensor):
    mY[mX.shape[0] + cute.arch.thread_idx()[0]] = mX[0]
@cute.jit
def scale(mX: cute.Tensor, mY: cute.Tensor):
    beyond(mX, mY).launch(grid=(1, 1, 1), block=(128, 1, 1))
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    compile_ = peer.serves["compile"]
    def renamed(*args):
        held, ptx, *more = compile_(*args)
        ptx = re.sub(r'([.]file.*?)".*?"', lambda m: m[1] + '"FILE"', ptx)
        return [held, ptx, *more]
    peer.serves["compile"] = renamed
"""


def test_no_line_of_another_file_is_shown(judge, tmp_path):
    (tmp_path / "theirs.py").write_text("SECRET\n" * 50)
    for file in (f"{tmp_path}/theirs.py", f"/notebook/../{tmp_path}/theirs.py"):
        found = verdict(judge, START, NAMES_A_FILE.replace("FILE", file), GRADE)
        assert "the kernel was stopped" in found["happened"]
        assert "SECRET" not in str(found)
    shown = verdict(judge, START, NAMES_A_FILE.partition("for peer")[0], GRADE)
    assert "cell [2], line 4: def beyond(" in shown["happened"]


HIDDEN_MEMORY = """
import ctypes, mmap, os, subprocess, sys
libc, found = ctypes.CDLL(None), []
for name, make in {
    "memfd": lambda: os.memfd_create("x"), "shared map": lambda: mmap.mmap(-1, 1 << 20),
    "zero": lambda: os.open("/dev/zero", os.O_RDWR),
}.items():
    try:
        make()
        found.append(name)
    except OSError:
        pass
found += [name for name in ("shmget", "semget", "msgget")
          if getattr(libc, name)(0, 1 << 4, 0o1600) >= 0]
found += [] if mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) else ["no map"]
found += [] if subprocess.run([sys.executable, "-c", "3"]).returncode == 0 else ["no process"]
reverse = found
"""


def test_a_secret_seed_decides_what_kernels_get(judge):
    def happened(seed):
        cells = START, wrong(exercise(NAME)), GRADE
        submitted = SubmittedNotebook("ann", "x", "x", "", cells, (), (NAME,), seed=seed)
        return judge.verdicts(submitted)[0]["happened"]

    usual, secret = happened(0), happened(2**51 + 3)
    assert "got  expected" in usual and secret != usual
    assert happened(2**51 + 3) == secret and happened(0) == usual


def test_all_memory_belongs_to_a_process(judge):
    assert found_nothing(judge, HIDDEN_MEMORY) is True


def test_an_earlier_error_is_named_and_a_helper_is_found(judge):
    solution = exercise(NAME).source.solution.replace("3.0 *", "helper.THREE *")
    cells, found = (START, "import helper", solution, GRADE), []
    for files in ({}, {"helper.py": base64.b64encode(b"THREE = 3.0").decode()}):
        submitted = SubmittedNotebook("ann", "x", "x", "", cells, (), (NAME,), files=files)
        found += judge.verdicts(submitted)
    assert [v["verdict"] for v in found] == ["failed", "passed"]
    (note,) = found[0]["notes"]
    assert note == "cell [2] raised ModuleNotFoundError: No module named 'helper'"


def test_parsing_is_under_the_limits(judge):
    long = "a = 1\n" * 10_000 + GRADE
    assert verdict(judge, START, exercise(NAME).source.solution, long)["verdict"] == "passed"
    process = judge.process
    deep = "x = " + "-" * 50_000 + "1\n" + GRADE
    assert verdict(judge, START, exercise(NAME).source.solution, deep)["verdict"] == "passed"
    assert judge.process is process


def test_other_versions_and_names(judge):
    e = exercise(NAME)
    cells = START, e.source.solution, GRADE, "1/0", "not_here = 3"
    for task, notes in ((e.task, 0), (e.task.replace("3 * x", "4 * x"), 1)):
        submitted = SubmittedNotebook(
            "ann", "x", "x", "", cells, ((e.title, f"### {task}"),), (NAME,)
        )
        (found,) = judge.verdicts(submitted)
        assert found["verdict"] == "passed" and len(found["notes"]) == notes
    names = NAME, "week0/reverse"
    submitted = SubmittedNotebook("ann", "x", "x", "", cells, (), names, ("week0/gone",))
    found = {v["name"]: v for v in judge.verdicts(submitted)}
    assert [v["verdict"] for v in found.values()] == ["passed", "missing", "unknown"]
    assert "cell [4] raised ZeroDivisionError" in found["week0/reverse"]["happened"]


@pytest.mark.weekly
def test_an_operator_is_for_a_person_to_review(judge):
    e = exercise("week2/softmax_operator")
    cells = "import torch", e.source.solution, f'fk.exercise("{e.name}").grade({e.entry})'
    submitted = SubmittedNotebook("ann", "x", "x", "", cells, (), (e.name,))
    assert judge.verdicts(submitted)[0]["verdict"] == "review"


QUICK = (
    "replaces comparisons", "computes while it compiles", "forges the answer", "launches nothing",
    "cannot run", "points elsewhere", "kills everybody", "reads the solution",
)  # fmt: skip
CELLS = {**HOSTILE, **SLOW}
SAYS = {
    "forks": "it started more than 32 processes", "ignores signals": "it did not answer in time",
    "takes memory in children": "it used more than 1,500 MiB of memory",
    "deep JSON": "it sent an answer that cannot be read",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.weekly) for n in CELLS]
)
def test_hostile(judge, name):
    e, process = exercise(NAME), judge.process
    for order in ((wrong(e), CELLS[name]), (CELLS[name], wrong(e))):
        found = verdict(judge, START, *order, GRADE)
        assert found["verdict"] != "passed", found
    assert SAYS.get(name, "") in found["happened"]
    assert judge.process is process, "the judge was lost"


def test_all_time_is_counted_together():
    made = Judge(Limits(seconds=2, total_seconds=3, memory_mib=1500))
    made.verdicts(SubmittedNotebook("ann", "x", "x"))  # the process has started
    began = time.monotonic()
    found = verdict(made, *["import time\ntime.sleep(1.3)"] * 9, GRADE)
    assert "more than 3 s in total" in found["happened"] and time.monotonic() - began < 20
    made.close()


@pytest.mark.weekly
def test_what_was_interrupted_is_no_verdict(judge):
    found = verdict(judge, START, "while True: pass\n" + exercise(NAME).source.solution, GRADE)
    assert found["verdict"] == "stopped" and "more than 5 s" in found["happened"]


def test_an_endless_loop_while_compiling_is_interrupted(judge):
    forever, cell = "def forever():\n    while True: pass\n\n\n", exercise(NAME).source.solution
    cell = forever + cell.replace("    scale_kernel(", "    forever()\n    scale_kernel(")
    found = verdict(judge, START, cell, GRADE)
    assert found["verdict"] == "stopped" and found["happened"].startswith("The code ran for more")
