"""Run the notebooks and the tests that compare numbers under the conditions of other machines, one
row per machine.

    python -m tests.machines                    # all rows that this machine can simulate
    python -m tests.machines default-3 locale   # only these rows
    python -m tests.machines --out FILE         # also write the table as JSON

A row sets the properties that differ between machines: the vector instructions that PyTorch may
use, the number of threads, the path of the course, the user, and the available programs. Notebooks
are compared strictly. The exit status is 1 if a row fails; for a row that this machine cannot
simulate, the command prints the reason.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ("week0_copy_transpose", "week1_reduce", "week2_softmax")
NUMBERS = ("tests/checking", "tests/kernels", "tests/ops", "tests/test_devices.py",
           "tests/tracing", "tests/vgpu")  # fmt: skip
PLACES = ("tests/checking", "tests/commands", "tests/compiling", "tests/profiling",
          "tests/test_errors.py")  # fmt: skip
PROGRAMS = ("git", "chromium", "google-chrome")  # programs that a machine may lack
NOBODY = 65534


@dataclass(frozen=True)
class Row:
    """A machine to simulate: environment variables, and the surroundings of the course.

    capability: PyTorch's name for the vector instructions, which the CPU must have. copied: True if
    the path of the course contains a space and a non-ASCII letter, and the course has no `.git`.
    without: the programs that are not on PATH. read_only_home: True if HOME is not writable. user:
    a user other than root.
    """

    name: str
    tests: tuple[str, ...] = NUMBERS
    capability: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    copied: bool = False
    without: tuple[str, ...] = ()
    read_only_home: bool = False
    user: bool = False


def _cpu(capability: str, threads: int) -> Row:
    count = str(threads)
    environment = {
        "FORGEKIT_DEVICE": "virtual",
        "ATEN_CPU_CAPABILITY": capability,
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
    }
    return Row(f"{capability}-{threads}", capability=capability, environment=environment)


ROWS = (
    _cpu("default", 1),
    _cpu("default", 3),
    _cpu("default", 8),
    _cpu("avx2", 1),
    _cpu("avx2", 8),
    _cpu("avx512", 1),
    _cpu("avx512", 8),
    Row("path", PLACES, copied=True),
    Row("no-programs", PLACES, copied=True, without=PROGRAMS),
    Row("home", PLACES, read_only_home=True),
    Row("locale", PLACES, environment={"LC_ALL": "C", "LANG": "C"}),
    Row("user", PLACES, copied=True, read_only_home=True, user=True),
)


def main() -> None:
    """Run the requested rows, print one line per row, and exit with status 1 if a row failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(r.name for r in ROWS))
    parser.add_argument("--out", type=Path, help="write the table to this JSON file")
    parser.add_argument("--logs", type=Path, help="keep pytest's output in this folder")
    parser.add_argument(
        "--workers", type=int, help="number of pytest's workers; default: one per core, at most 8"
    )
    asked = parser.parse_args()
    options = (f"-n{asked.workers}", f"--maxprocesses={asked.workers}") if asked.workers else ()
    unknown = set(asked.rows) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"got {', '.join(sorted(unknown))}, needed {', '.join(r.name for r in ROWS)}")
    results = []
    for row in ROWS:
        if not asked.rows or row.name in asked.rows:
            results.append(result := played(row, asked.logs, options))
            print(line(result), flush=True)
            if asked.out:
                table = {"machine": machine(), "rows": results}
                asked.out.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    sys.exit(any(result["failed"] for result in results))


def played(
    row: Row, logs: Path | None = None, options_of_pytest: Sequence[str] = ()
) -> dict[str, Any]:
    """Run a row; return its counts, its time in seconds and the names of the failed tests."""
    if why := _why_not(row):
        return {"row": row.name, "left_out": why, "failed": []}
    started = time.monotonic()
    with _surroundings(row) as (root, environment, options):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf",
                   "--color=no", *options_of_pytest, *NOTEBOOKS, *row.tests]  # fmt: skip
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, encoding="utf-8",
            errors="replace", stdin=subprocess.DEVNULL, **options,
        )  # fmt: skip
    if logs:
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f"{row.name}.log").write_text(done.stdout + done.stderr, "utf-8")
    last = done.stdout.strip().split("\n")[-1]
    counts = {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|skipped|errors?)", last)}
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.M)
    if done.returncode and not failed:
        failed = [f"pytest ended with {done.returncode}: {(last or done.stderr)[-300:]}"]
    seconds = round(time.monotonic() - started)
    return {"row": row.name, **counts, "failed": failed, "seconds": seconds}


def line(result: dict[str, Any]) -> str:
    """Return a row's result as one line of text, with the failures below it."""
    if "left_out" in result:
        return f"{result['row']:12} left out: {result['left_out']}"
    counts = (f"{result.get('passed', 0):6} passed, {len(result['failed']):3} failed, "
              f"{result.get('skipped', 0):4} skipped, {result['seconds']:5} s")  # fmt: skip
    return "\n    ".join((f"{result['row']:12} {counts}", *result["failed"]))


def machine() -> dict[str, str]:
    """Describe this machine: date, processor, Python and packages."""
    model = re.search(r"model name\s*: (.*)", _cpuinfo())
    packages = ("torch", "numpy", "matplotlib", "pillow", "nvidia-cutlass-dsl")
    return {
        "date": datetime.date.today().isoformat(),
        "processor": f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }


def _cpuinfo() -> str:
    return Path("/proc/cpuinfo").read_text()


def _why_not(row: Row) -> str:
    """Explain why this machine cannot simulate a row; return an empty string if it can."""
    flag = {"avx2": "avx2", "avx512": "avx512f"}.get(row.capability, "")
    if flag and not re.search(rf"\b{flag}\b", _cpuinfo()):
        return f"the CPU has no {row.capability}"
    if row.user and os.getuid() == 0:
        probe = [sys.executable, "-c", "import torch"]
        if subprocess.run(probe, user=NOBODY, capture_output=True, cwd="/").returncode:
            return f"another user cannot run {sys.executable}; use a Python outside /root"
    return ""


@contextmanager
def _surroundings(row: Row) -> Iterator[tuple[Path, dict[str, str], dict[str, Any]]]:
    """Yield the folder, the environment and further options of `subprocess.run` for a row."""
    options: dict[str, Any] = {}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FORGEKIT_")}
    environment |= row.environment
    environment.pop("PYTEST_ADDOPTS", None)  # it could select other tests
    with ExitStack() as stack:
        there = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="machine-")))
        there.chmod(0o755)
        root = ROOT
        if row.copied:
            root = there / "Kernel Forgé"
            shutil.copytree(ROOT, root, ignore=_left_behind, symlinks=True)
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(root), os.environ.get("PYTHONPATH", "")))
        )
        if row.without:
            environment["PATH"] = str(_programs(there / "bin", row.without))
        if row.read_only_home:
            home = there / "home"
            home.mkdir()
            home.chmod(0o555)
            environment["HOME"] = str(home)
        if row.user and os.getuid() == 0:
            for place in (root, *root.rglob("*")):
                os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
            temporary = there / "tmp"
            temporary.mkdir()
            os.chown(temporary, NOBODY, NOBODY)
            environment |= {"TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        yield root, environment, options


def _left_behind(folder: str, names: list[str]) -> set[str]:
    """Return the names to omit from a copy of the course: git's files, environments, caches,
    builds."""
    hidden = {name for name in names if name.startswith(".") and name not in (".ci", ".github",
              ".gitignore", ".devcontainer", ".pre-commit-config.yaml")}  # fmt: skip
    return hidden | ({"_build", "__pycache__", "uv.lock"} & set(names))


def _programs(folder: Path, without: tuple[str, ...]) -> Path:
    """Create a folder with a link to each program on PATH, except programs whose names begin with
    an entry of `without`."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*") if Path(place).is_dir() else ():
            link = folder / program.name
            if not program.name.startswith(without) and not link.is_symlink():
                link.symlink_to(program)
    return folder


if __name__ == "__main__":
    main()
