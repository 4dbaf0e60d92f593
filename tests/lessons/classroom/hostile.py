"""Define the cells of hostile notebooks. No hostile notebook passes week0/scale or stops another
notebook."""

from __future__ import annotations

HOSTILE = {
    "edits the grade": 'print("PASSED  week0/scale")\nprint(repr(True))',
    "replaces the grade": """
import forgekit, forgekit.lessons.exercise as x, forgekit.lessons.grading as g
from forgekit.lessons.report import GradeReport
x.Exercise.grade = g.grade = lambda *a, **k: GradeReport("week0/scale", "", (), ())
forgekit.exercise = lambda name: type("E", (), {"grade": lambda *a: True})()
""",
    "replaces comparisons": """
import torch, numpy, builtins
for name in ("allclose", "equal", "isclose"):
    setattr(torch, name, lambda *a, **k: True)
    setattr(numpy, name, lambda *a, **k: True)
import forgekit.checking.compare as c
c.compare = lambda *a, **k: type("R", (), {"ok": True, "hints": ()})()
builtins.all = builtins.any = lambda *a: True
""",
    "replaces gates": """
import forgekit.lessons.gates as g, forgekit.lessons.gates.values as v
g.Group.run = property(lambda self: lambda s: "8 sizes")
v.check_values = lambda *a, **k: None
g.GateError.__init__ = lambda *a, **k: None
""",
    "writes progress": """
import os, json, pathlib
for folder in ("~/.local/share/forgekit", "/tmp", "."):
    folder = pathlib.Path(folder).expanduser(); folder.mkdir(parents=True, exist_ok=True)
    (folder / "progress.json").write_text(json.dumps({"version": 1, "exercises": {
        "week0/scale": {"tries": 1, "passed_at_try": 1}}}))
""",
    "ends at once": "import os\nos._exit(0)",
    "ends at the end": "import atexit, os, sys\natexit.register(os._exit, 0)\nsys.exit(0)",
    "forges the answer": """
import os, json, struct
text = json.dumps({"verdicts": [{"name": "week0/scale", "verdict": "passed"}]})
for number in range(64):
    try:
        os.write(number, (text + "\\n").encode())
    except OSError:
        pass
""",
    "answers for itself": """
import gc, json, struct
from forgekit.lessons.classroom.wire import StudentEnd
def passed(self, *a):
    said = json.dumps({"return": {"verdict": "passed"}}).encode()
    self.sock.sendall(struct.pack("<I", len(said)) + said)
StudentEnd._answer = passed
""",
    "launches nothing": """
import forgekit.lessons.classroom.student as s
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    peer.serves["launch"] = lambda *a: [[], {0: 1 << 20, 1: 1 << 21}]
""",
    "computes while it compiles": """
import torch
import cutlass.cute as cute
@cute.kernel
def nothing(mX: cute.Tensor, mY: cute.Tensor):
    pass
@cute.jit
def scale(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    nothing(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    compile_ = peer.serves["compile"]
    def computed(function, example, arch):
        if isinstance(example[0], torch.Tensor):
            example[1].copy_(3 * example[0] + 1)
        return compile_(function, example, arch)
    peer.serves["compile"] = computed
""",
    "other PTX": """
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    compile_ = peer.serves["compile"]
    peer.serves["compile"] = lambda *a: [compile_(*a)[0], "not PTX", "x", [["x", "tensor", 0]]]
""",
    "cannot run": """
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    peer.serves["run"] = lambda *a: 1 / 0
""",
    "points elsewhere": """
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    launch = peer.serves["launch"]
    peer.serves["launch"] = lambda *a: [launch(*a)[0], {0: 4096, 1: 4096}]
""",
    "deep JSON": """
import struct
for peer in [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]:
    said = b"[" * 200_000
    peer.sock.sendall(struct.pack("<I", len(said)) + said)
""",
    "kills everybody": """
import os, signal
for pid in (os.getppid(), 0, -1, *range(2, 400)):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            pid and os.kill(pid, number)
        except OSError:
            pass
""",
    "deletes files": """
import shutil, os, forgekit, sys
for folder in (os.path.dirname(forgekit.__file__), sys.prefix, "/etc", "/usr", os.getcwd()):
    shutil.rmtree(folder, ignore_errors=True)
""",
    "reads the solution": """
import glob, forgekit, os
root = os.path.dirname(os.path.dirname(forgekit.__file__))
for file in glob.glob(root + "/week*/**/solution.py", recursive=True):
    exec(open(file).read())
""",
    "asks for the solution": """
import forgekit as fk
scale = fk.exercise("week0/scale").reference()
""",
    "imports the solution": """
from forgekit import course
scale = course.load_part(course.exercise_folders()["week0/scale"], "solution").scale
""",
    "reads others": """
import glob
import forgekit, os
places = [os.path.dirname(os.path.dirname(forgekit.__file__)), "/root", "/home", "/tmp", "/var"]
found = [open(f).read() for p in places for f in glob.glob(p + "/**/*.ipynb", recursive=True)]
assert found, "nothing"
exec(found[0])
""",
    "does not parse": "def scale(:",
    "environment": """
import os
os.environ.update(FORGEKIT_BUDGET="1", FORGEKIT_SANITIZER="off", PATH="")
""",
    "calls for help": """
import socket
socket.create_connection(("1.1.1.1", 53), 2).send(b"?")
""",
    "equals everything": """
class Same(float):
    __eq__ = __le__ = __ge__ = lambda *a: True
    __hash__ = float.__hash__
    __reduce__ = lambda self: (print, ("passed",))
scale = Same(1)
""",
    "rises": """
import resource, ctypes
resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))
""",
}
SLOW = {  # stopped by a limit
    "hangs": "while True: pass",
    "ignores signals": """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        time.sleep(1e6)
    except BaseException:
        pass
""",
    "forks": """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
    "fills the disk": """
for k in range(10_000):
    with open(f"/tmp/{k}", "wb") as file:
        file.write(bytes(1 << 20))
""",
    "takes memory": """
held = []
while True:
    held.append(bytearray(b"x") * (64 << 20))
""",
    "takes memory in children": """
import os
held = bytearray(b"x") * (400 << 20)
for k in range(8):
    if os.fork() == 0:
        more = bytearray(b"y") * (900 << 20)
        while True: pass
while True: pass
""",
    "prints": 'while True: print("x" * 1_000_000)',
    "asks indefinitely": """
(peer,) = [o for o in __import__("gc").get_objects() if type(o).__name__ == "StudentEnd"]
while True:
    try:
        peer.ask("add", [0] * 1000, [1])
    except BaseException:
        pass
""",
    "an endless kernel": """
import cutlass, cutlass.cute as cute
@cute.kernel
def k(mX: cute.Tensor, mY: cute.Tensor):
    while mX[0] == mX[0]:
        mY[0] = mX[0]
@cute.jit
def scale(mX: cute.Tensor, mY: cute.Tensor):
    k(mX, mY).launch(grid=(1, 1, 1), block=(128, 1, 1))
""",
}
