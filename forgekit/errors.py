"""The exceptions of forgekit, and how one finds the student's own line in a traceback.

    ForgekitError(Exception)
    ├── UsageError(.., ValueError)       a forgekit function was given something it cannot take
    │   ├── CallError(.., TypeError)     too many or too few arguments, or an unknown name
    │   └── ArgumentMismatchError        a compiled kernel was called with a tensor or scalar other
    │                                    than it was compiled for
    ├── PlatformError                    this machine lacks something (no GPU, no compiler here)
    ├── CompileError                     a mistake in the kernel caught by CuTe DSL's compiler
    ├── CheckError(.., AssertionError)   check() found wrong values
    └── KernelError                      the virtual GPU stopped a kernel
        ├── MemoryAccessError            out of bounds, misaligned, unmapped
        ├── DeadlockError                threads wait for each other for ever
        ├── InstructionBudgetError       the kernel ran longer than its instruction budget
        ├── SanitizerError               a race, memory nobody wrote, a barrier misused
        ├── LaunchError                  too many threads, too much shared memory, bad grid
        ├── UnsupportedPtxError          PTX the virtual GPU does not know yet
        └── PtxSyntaxError               PTX text that cannot be parsed

Messages say got, needed and remedy (`got_needed`). In a notebook only the message and the student's
own line show, never the frames of libraries; in a script and in pytest the traceback ends at that
line, but with FORGEKIT_TRACEBACK=full. This module imports nothing of forgekit.
"""

from __future__ import annotations

import linecache
import os
import re
import reprlib
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

_WIDTH = 96  # characters of a notebook's error box
_GOT = 400  # characters of what was got, where it is put into words
_ADDRESS = re.compile(r" at 0x[0-9a-f]+|0x[0-9a-f]{9,}")
_BOLD_RED, _RESET = "\x1b[1;31m", "\x1b[0m"

# Frames of these packages are never the student's line.
_LIBRARIES = frozenset((
    "forgekit", "cutlass", "tvm_ffi", "torch", "numpy", "matplotlib", "IPython", "ipykernel",
    "traitlets", "tornado", "zmq", "nbclient", "_pytest", "pytest", "pluggy",
))  # fmt: skip
# Kernels that forgekit ships are code somebody reads and changes, so their lines count.
_SHOWN_PACKAGE = "forgekit.kernels"
_FORGEKIT_DIR = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SHOWN_DIR = os.path.join(_FORGEKIT_DIR, "kernels") + os.sep
_CELL = re.compile(r"(^|[/\\])ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")


def got_needed(what: str, got: object, needed: object, remedy: str) -> str:
    """Format a message in the house's order: `what: got …, needed …; remedy`.

    got: words, or any other value, which is put into a few.
    """
    words = _cut(got, _GOT) if isinstance(got, str) else brief(got)
    return f"{what}: got {words}, needed {needed}; {remedy}"


def brief(value: object) -> str:
    """A value in one line: its `repr`, shortened; a tensor by dtype and shape. Raises nothing."""
    kind = type(value)
    if isinstance(value, type | FunctionType | BuiltinFunctionType | ModuleType):
        module, name = isinstance(value, ModuleType), value.__name__
        noun = "class" if isinstance(value, type) else "module" if module else "function"
        return "a lambda" if name == "<lambda>" else f"the {noun} {name}"
    if kind.__name__ == "device" or isinstance(value, os.PathLike):
        return str(value)
    try:
        array = {"ndarray": "array", "Tensor": "tensor", "Parameter": "tensor"}.get(kind.__name__)
        if array and hasattr(value, "dtype") and hasattr(value, "shape"):
            dtype = str(value.dtype).removeprefix("torch.")
            return f"{with_article(dtype)} {array} of shape {tuple(value.shape)}"
        text = _ADDRESS.sub("", " ".join(_BRIEF.repr(value).split("\n")))
    except Exception:  # an object that cannot be shown
        return with_article(kind.__name__)
    bare = text.startswith("<") and f" {kind.__name__} " in f" {text[1:-1].split('.')[-1]} "
    return with_article(kind.__name__) if bare else _cut(text, _BRIEF.maxother)


def as_typed(text: str) -> str:
    """The text, whose commands (`forgekit doctor`, say) stand behind `uv run` where uv runs this
    process: so they work there as they are typed or pasted."""
    if "UV_RUN_RECURSION_DEPTH" not in os.environ:
        return text
    return re.sub(r"`(?=(?:forgekit|jupytext|python) )", "`uv run ", text)


def with_article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeioAEIO' else 'a'} {noun}"


def _cut(text: str, most: int) -> str:
    """The text, its middle left out if it is long."""
    return text if len(text) <= most else f"{text[: most - 20]} … {text[-17:]}"


_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxtuple, _BRIEF.maxlist, _BRIEF.maxdict = 5, 12, 12, 8
_BRIEF.maxstring = _BRIEF.maxother = 120


@dataclass(frozen=True)
class SourceLine:
    """One line of source: its file (or a cell's pseudo path), its 1-based number, its text."""

    filename: str
    line: int
    text: str

    @property
    def where(self) -> str:
        """`kernels.py, line 12`, or `cell, line 3`: no folder, so that it is equal on every
        machine.
        """
        return f"{display_path(self.filename)}, line {self.line}"

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" if self.text else self.where


def display_path(filename: str) -> str:
    """The name of a source file as shown to a student: without folders; for a notebook cell
    `cell [7]`, the number Jupyter shows beside it, or `cell` where that is not to be had.
    """
    if not _CELL.search(filename):
        return re.split(r"[/\\]", filename)[-1]
    number = _execution_count(filename)
    return "cell" if number is None else f"cell [{number}]"


def _execution_count(filename: str) -> int | None:
    """The number of a cell's last run, from IPython's own table of cell files."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    table = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return table.get(filename) if isinstance(table, dict) else None


def is_user_file(filename: str) -> bool:
    """Whether a file holds the student's code: not a library's, not forgekit's own (its kernels
    count).
    """
    if _CELL.search(filename):
        return True
    if filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    if path.startswith(_FORGEKIT_DIR):
        return path.startswith(_SHOWN_DIR)
    stdlib = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
    installed = any(f"{os.sep}{d}{os.sep}" in path for d in ("site-packages", "dist-packages"))
    return not (installed or path.startswith(stdlib))


def is_library(module: str) -> bool:
    """Whether a top-level module is one of the libraries whose frames are never the student's."""
    return module in _LIBRARIES or module in sys.stdlib_module_names


def is_user_frame(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    shown = module == _SHOWN_PACKAGE or module.startswith(_SHOWN_PACKAGE + ".")
    top = module.partition(".")[0]
    if not shown and top != "__main__" and is_library(top):
        return False
    return is_user_file(frame.f_code.co_filename)


def source_line(filename: str, line: int) -> SourceLine:
    """The line with its text, which is empty where the source is not to be had."""
    return SourceLine(filename, line, linecache.getline(filename, line).strip())


def user_line(traceback: TracebackType | None) -> SourceLine | None:
    """The innermost line of the student's code in a traceback; None if there is none."""
    found: SourceLine | None = None
    while traceback is not None:
        if is_user_frame(traceback.tb_frame):
            found = source_line(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def calling_user_line() -> SourceLine | None:
    """The student's line that is running now, found from the live stack; None if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_frame(frame):
            return source_line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def wrapped(message: str) -> str:
    """Long lines broken between words, as a notebook's error box breaks them anywhere."""
    broken: list[str] = []
    for line in message.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        pieces = textwrap.wrap(
            line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        broken += pieces or [""]
    return "\n".join(broken)


def wants_all_frames() -> bool:
    """Whether FORGEKIT_TRACEBACK=full asks for the frames within forgekit too."""
    return os.environ.get("FORGEKIT_TRACEBACK", "").strip().lower() == "full"


def _hide_from_pytest(frame: FrameType | None) -> None:
    """Mark our modules up to the user's frame: pytest then shows neither, if it is our error."""

    def hidden(caught: Any) -> bool:
        return isinstance(caught.value, ForgekitError) and not wants_all_frames()

    while frame is not None and not is_user_frame(frame):
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "forgekit":
            frame.f_globals["__tracebackhide__"] = hidden
        frame = frame.f_back


class ForgekitError(Exception):
    """Base of all exceptions that forgekit raises on purpose; `str()` of it is its message."""

    def __init__(self, message: str = "") -> None:
        super().__init__(as_typed(message))
        if "_pytest" in sys.modules:
            _hide_from_pytest(sys._getframe(1))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: name, message, the student's line."""
        lines = [f"{_BOLD_RED}{type(self).__name__}{_RESET}: {wrapped(str(self))}"]
        where = self._where()
        if where is not None:
            lines += ["", f"  {where}"]
        return lines

    def _where(self) -> SourceLine | None:
        return user_line(self.__traceback__)


class UsageError(ForgekitError, ValueError):
    """A forgekit function was given something it cannot take."""


def usage_error(what: str, got: object, needed: object, remedy: str) -> UsageError:
    """A UsageError in the house's order; the arguments are those of `got_needed`."""
    return UsageError(got_needed(what, got, needed, remedy))


class ArgumentMismatchError(UsageError):
    """A compiled kernel was called with a tensor or scalar other than it was compiled for."""


class CallError(UsageError, TypeError):
    """A call that does not fit a function's signature: too many arguments, an unknown name."""


class PlatformError(ForgekitError):
    """This machine lacks something: a GPU that was asked for, a compiler for this system."""


class CompileError(ForgekitError):
    """A mistake in the kernel that CuTe DSL's compiler caught, in the student's terms.

    Attributes:
        kind: short slug of the mistake, such as `store-dtype`; `unrecognised` if no rule fits.
        filename, line: the student's file (or cell) and 1-based line; None if not known.
        source_line: the text of that line, stripped; None if not known.
        compiler_text: the compiler's own words, without colours and internal frames.
    """

    def __init__(
        self,
        message: str = "",
        *,
        kind: str = "unrecognised",
        filename: str | None = None,
        line: int | None = None,
        source_line: str | None = None,
        compiler_text: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.filename = filename
        self.line = line
        self.source_line = source_line
        self.compiler_text = compiler_text

    def _where(self) -> SourceLine | None:
        # The message names the kernel's line; the line that called compile() would only distract.
        return super()._where() if self.line is None else None


class CheckError(ForgekitError, AssertionError):
    """`check()` found wrong values; `report` is the CheckReport with all that is known of them."""

    def __init__(self, message: str = "", report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class KernelError(ForgekitError):
    """The virtual GPU stopped a kernel.

    Attributes:
        kind: short slug of the mistake, such as `out-of-bounds`; empty where there is none.
        lines: the Python lines concerned, with `file` and `line`; empty where they are not known.
        who: ((x, y, z) of the block, of the thread) that was the first; None where nobody is.
        place: the element or offset, as in the message.
        overrun: of an access outside a tensor, its numbers (a `faults.Overrun`); None elsewhere.
    """

    kind: str = ""
    lines: tuple[Any, ...] = ()
    who: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None
    place: str = ""
    overrun: Any = None


class MemoryAccessError(KernelError):
    """A kernel touched memory that is out of bounds, misaligned or unmapped."""


class DeadlockError(KernelError):
    """The threads of a kernel wait for each other for ever; the message says who waits where."""

    kind = "deadlock"


class InstructionBudgetError(KernelError):
    """A kernel ran longer than its instruction budget."""

    kind = "endless"


class LaunchError(KernelError):
    """A launch that no GPU accepts: too many threads, too much shared memory, a bad grid."""

    kind = "launch-limits"


class SanitizerError(KernelError):
    """A kernel ran to its end, and did what a GPU does not promise to forgive.

    Its results stand in the tensors. `findings` is the list of them, the gravest mistakes that
    the sanitizer of the virtual GPU found.
    """

    def __init__(self, message: str = "", findings: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)


class UnsupportedPtxError(KernelError):
    """PTX that the virtual GPU does not know yet."""


class PtxSyntaxError(KernelError):
    """PTX text that cannot be parsed."""
