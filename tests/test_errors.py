"""Test the exception hierarchy, and the part of an exception that a notebook shows to a student."""

import ast
import linecache
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest
from jupyter_client.provisioning import local_provisioner
from nbclient import NotebookClient

import forgekit as fk
from forgekit import errors
from forgekit.errors import (
    CheckError,
    CompileError,
    ForgekitError,
    KernelError,
    UsageError,
    brief,
    calling_user_line,
    display_path,
    got_needed,
    is_user_file,
    user_line,
)
from tests.forked_kernels import ForkedKernel

TREE = {
    "UsageError": ("ForgekitError", "ValueError"),
    "CallError": ("UsageError", "TypeError"),
    "ArgumentMismatchError": ("UsageError",),
    "PlatformError": ("ForgekitError",),
    "CompileError": ("ForgekitError",),
    "CheckError": ("ForgekitError", "AssertionError"),
    "KernelError": ("ForgekitError",),
    "MemoryAccessError": ("KernelError",),
    "DeadlockError": ("KernelError",),
    "InstructionBudgetError": ("KernelError",),
    "LaunchError": ("KernelError",),
    "UnsupportedPtxError": ("KernelError",),
    "PtxSyntaxError": ("KernelError",),
}
FORGEKIT = Path(errors.__file__).parent


@pytest.mark.parametrize("name", TREE)
def test_tree(name):
    kind = getattr(errors, name)
    assert tuple(base.__name__ for base in kind.__bases__) == TREE[name]
    assert name in errors.__doc__


def test_got_needed():
    text = got_needed("N", 130, "a multiple of 8", "pad N to 136")
    assert text == "N: got 130, needed a multiple of 8; pad N to 136"


def raised(error):
    try:
        raise error  # raised here
    except ForgekitError as exc:
        return exc


def test_notebook_shows_message_and_users_line_only():
    first, blank, where = raised(UsageError("no such thing"))._render_traceback_()
    assert first == "\x1b[1;31mUsageError\x1b[0m: no such thing"
    assert blank == ""
    assert where.startswith("  test_errors.py, line ")
    assert where.endswith(": raise error  # raised here")


def test_frames_of_forgekit_are_skipped():
    scope = {"__name__": "forgekit.inner", "UsageError": UsageError}
    code = compile("def f(): raise UsageError('x')", str(FORGEKIT / "inner.py"), "exec")
    exec(code, scope)
    with pytest.raises(UsageError) as caught:
        scope["f"]()  # the user's call
    assert user_line(caught.value.__traceback__).text.endswith("# the user's call")


@pytest.mark.parametrize("library", ["torch.nn", "cutlass.cute", "IPython.core", "asyncio.events"])
def test_frames_of_libraries_are_skipped_wherever_they_are_installed(library):
    error = cell("raise UsageError('x')", "/opt/checkout/library.py", library)
    assert "library.py" not in error._render_traceback_()[-1]
    error = cell("raise UsageError('x')", "/opt/checkout/mine.py", "torchlike")
    assert error._render_traceback_()[-1] == "  mine.py, line 1: raise UsageError('x')"


def cell(source, number="/tmp/ipykernel_77/1234.py", name="__main__"):
    """Run a cell as a notebook does: under a pseudo path, and with its text in linecache."""
    linecache.cache[number] = (len(source), None, source.splitlines(keepends=True), number)
    scope = {"__name__": name, "UsageError": UsageError}
    try:
        exec(compile(source, number, "exec"), scope)
    except ForgekitError as exc:
        return exc
    return None


def test_cell_is_named_without_its_path():
    error = cell("x = 1\n\nraise UsageError('bad')\n")
    assert error._render_traceback_()[-1] == "  cell, line 3: raise UsageError('bad')"
    same = cell("x = 1\n\nraise UsageError('bad')\n", "/tmp/ipykernel_9/5678.py")
    assert same._render_traceback_() == error._render_traceback_()


def test_no_line_where_there_is_none():
    assert KernelError("stop")._render_traceback_() == ["\x1b[1;31mKernelError\x1b[0m: stop"]


def test_compile_error_shows_the_kernels_line_only():
    error = raised(
        CompileError("words", kind="store-dtype", filename="k.py", line=3, source_line="x")
    )
    assert len(error._render_traceback_()) == 1
    assert len(raised(CompileError("words"))._render_traceback_()) == 3


def test_attributes_survive_pickling():
    """Pickle the exceptions, as processes do that run notebooks in parallel and exchange
    exceptions."""
    error = CompileError(
        "message", kind="index-rank", filename="k.py", line=3, compiler_text="words"
    )
    copy = pickle.loads(pickle.dumps(error))
    found = (str(copy), copy.kind, copy.line, copy.compiler_text)
    assert found == ("message", "index-rank", 3, "words")
    assert pickle.loads(pickle.dumps(CheckError("wrong", "report"))).report == "report"


def test_calling_user_line():
    assert calling_user_line().text.startswith("assert calling_user_line()")


@pytest.mark.parametrize(
    ("filename", "shown", "user"),
    [
        ("/tmp/ipykernel_12/345.py", "cell", True),
        ("C:\\Temp\\ipykernel_12\\345.py", "cell", True),
        ("<ipython-input-3-abcdef>", "cell", True),
        ("/home/me/week1/kernels.py", "kernels.py", True),
        ("<string>", "<string>", False),
        (ast.__file__, "ast.py", False),
        (pytest.__file__, "__init__.py", False),
        (str(FORGEKIT / "checking.py"), "checking.py", False),
        (str(FORGEKIT / "kernels" / "softmax.py"), "softmax.py", True),
    ],
)
def test_files(filename, shown, user):
    assert display_path(filename) == shown
    assert is_user_file(filename) is user


# -- errors of CuTe DSL itself, in a notebook ----------------------------------------
NOTEBOOK = {
    "setup": """
        import os, signal, threading
        import torch
        import forgekit as fk
        import cutlass.cute as cute

        @cute.kernel
        def kernel(mX: cute.Tensor, mY: cute.Tensor):
            tidx, _, _ = cute.arch.thread_idx()
            mY[tidx] = mX[tidx]

        @cute.kernel
        def endless_kernel(mX: cute.Tensor, mY: cute.Tensor):
            tidx, _, _ = cute.arch.thread_idx()
            total = mX[tidx]
            for i in range(100_000_000):
                total = total + 1.0
            mY[tidx] = total

        @cute.jit
        def scale(mX: cute.Tensor, mY: cute.Tensor):
            kernel(mX, mY).launch(grid=(1, 1, 1), block=(4, 1, 1))

        @cute.jit
        def endless(mX: cute.Tensor, mY: cute.Tensor):
            endless_kernel(mX, mY).launch(grid=(1, 1, 1), block=(4, 1, 1))

        x, y = torch.ones(4), torch.zeros(4)
        """,
    "call": "scale(x, y)",
    "launch": "kernel(x, y).launch(grid=(1, 1, 1), block=(4, 1, 1))",
    "compile": "z = 1\nrun = cute.compile(scale, x, y)",
    "usage": "fk.compile(scale, x)",
    "ordinary": "z = 1\nz / 0",
    "syntax": "z = = 1",
    "stopped": """
        run = fk.compile(endless, x, y)
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        run(x, y)
        """,
    "interrupted": "raise KeyboardInterrupt",
    "alive": "fk.compile(scale, x, y)(x, y)\nprint(y.tolist())",
}


@pytest.fixture(scope="module")
def outputs():
    """Return the outputs of NOTEBOOK, run in a real Jupyter kernel, without colours or cell
    numbers."""
    cells = [nbformat.v4.new_code_cell(textwrap.dedent(c).strip()) for c in NOTEBOOK.values()]
    book = nbformat.v4.new_notebook(cells=cells)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_provisioner, "launch_kernel", ForkedKernel)
        here = {"metadata": {"path": "."}}
        NotebookClient(book, timeout=100, allow_errors=True, resources=here).execute()
    outputs = {}
    for name, cell in zip(NOTEBOOK, book.cells, strict=True):
        (output,) = cell.outputs or [None]
        if output is not None and output.output_type == "error":
            text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))
            output.traceback = re.sub(r"\bcell \[\d+\]", "cell", text)
        outputs[name] = output
    return outputs


def test_a_direct_call_shows_a_message_and_no_frames(outputs):
    assert outputs["setup"] is None
    for name, line in (("call", 1), ("compile", 2)):
        text = outputs[name].traceback
        assert outputs[name].ename == "CompileError" and "\x1b" not in outputs[name].evalue
        assert len(text.splitlines()) < 12 and "site-packages" not in text
        last = NOTEBOOK[name].splitlines()[-1]
        assert f"cell, line {line}: {last}" in text
        assert "`run = fk.compile(scale, x, y)`, then `run(x, y)`" in " ".join(text.split())
    text = outputs["launch"].traceback
    assert len(text.splitlines()) < 12 and "@cute.jit function" in text


def test_errors_that_are_not_the_dsls_look_as_ever(outputs):
    assert outputs["ordinary"].ename == "ZeroDivisionError"
    assert "----> 2 z / 0" in outputs["ordinary"].traceback
    assert outputs["syntax"].ename == "SyntaxError"
    assert "z = = 1" in outputs["syntax"].traceback and "frame" not in outputs["syntax"].traceback
    usage = outputs["usage"].traceback
    assert usage.startswith("UsageError: compile(scale, …): got 1 argument,")
    assert usage.endswith("  cell, line 1: fk.compile(scale, x)")
    assert "Traceback (most recent call last)" in outputs["interrupted"].traceback


def test_a_kernel_stopped_by_hand_shows_the_users_line(outputs):
    assert outputs["stopped"].ename == "KeyboardInterrupt"
    assert outputs["stopped"].traceback == (
        "KeyboardInterrupt: the kernel was stopped\n\n  cell, line 3: run(x, y)"
    )
    assert outputs["alive"].text == "[1.0, 1.0, 1.0, 1.0]\n"


def test_another_handler_of_ipythons_errors_is_left_alone():
    from forgekit.diagnosing import tracebacks

    assert tracebacks._install_handler() is False  # no IPython shell runs here


MINE = """
import forgekit as fk

def test_short():
    return fk.Layout((4, 8)).mode("a")  # mine

def test_full(monkeypatch):
    monkeypatch.setenv("FORGEKIT_TRACEBACK", "full")
    test_short()
"""
SHORT = "-c", "import mine; mine.test_short()"
AFTER_THE_DSL = "-c", "import cutlass, mine; mine.test_short()"
FULL = "-c", "import mine, pytest; mine.test_full(pytest.MonkeyPatch())"
PYTEST = "-m", "pytest", "--disable-plugin-autoload", "-p", "no:cacheprovider", "mine.py"


@pytest.mark.parametrize("command", [SHORT, AFTER_THE_DSL, FULL, PYTEST])
def test_a_traceback_ends_at_the_users_line_unless_all_is_wanted(command, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    words = [sys.executable, *command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    short, _, full = (done.stdout + done.stderr).partition("test_full")
    assert "mode of (4,8):(1,4): got 'a'" in short + full and "# mine" in short + full
    inside = re.compile(r"forgekit/\w+/\w+.py")
    assert not inside.search(short) and bool(inside.search(full)) is (command in (FULL, PYTEST))


def test_the_exception_keeps_its_frames_and_its_cause(monkeypatch):
    """Check that the hook shortens only the printed text, because a debugger needs the frames and
    the cause."""
    from forgekit.diagnosing import tracebacks

    shown = []
    monkeypatch.setattr(sys, "excepthook", lambda *given: shown.append(frames(given[2])))
    tracebacks.install()
    try:
        fk.Layout("a")
    except UsageError as error:
        error.__cause__ = cause = KeyError("inside")
        trace = error.__traceback__
        sys.excepthook(type(error), error, trace)
        assert error.__traceback__ is trace and error.__cause__ is cause
    assert shown == [["test_errors.py"]] and len(frames(trace)) > 1
    sys.excepthook(KeyError, KeyError("mine"), trace)
    assert len(shown[1]) > 1


def frames(trace):
    found = []
    while trace is not None:
        found.append(Path(trace.tb_frame.f_code.co_filename).name)
        trace = trace.tb_next
    return found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, 2], "[1, 2]"),
        (print, "the function print"),
        (int, "the class int"),
        (lambda: 1, "a lambda"),
        (iter([]), "a list_iterator"),
        (object(), "an object"),
        ("x" * 500, "'" + "x" * 57 + "..." + "x" * 58 + "'"),
    ],
)
def test_brief(value, words):
    assert brief(value) == words


def test_brief_raises_nothing():
    class Hidden:
        def __repr__(self):
            raise RuntimeError

    deep = ()
    for _ in range(3000):
        deep = (deep,)
    assert brief(Hidden()) == "a Hidden"
    assert len(brief(deep)) < 40 and len(brief([deep] * 100)) < 200


def test_importing_forgekit_stays_light():
    code = "import sys, IPython, forgekit.devices; print({'torch', 'cutlass'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_commands_read_as_they_have_to_be_typed(monkeypatch):
    text = "run `forgekit doctor` (not forgekit), or `jupytext --sync x`, `uv sync`"
    assert str(ForgekitError(text)) == text
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")  # as `uv run` sets it
    assert str(ForgekitError(text)) == (
        "run `uv run forgekit doctor` (not forgekit), or `uv run jupytext --sync x`, `uv sync`"
    )
