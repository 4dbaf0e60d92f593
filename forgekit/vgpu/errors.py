"""Define the exceptions that the virtual GPU raises, and the base class of all forgekit exceptions.

`forgekit.errors` shows the tree of exceptions. In a notebook, an exception shows its message and
the user's source line; pytest hides the frames of forgekit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from forgekit.vgpu.user_lines import SourceLine, is_user_frame, user_line
from forgekit.vgpu.wording import as_typed, got_needed, wrapped

_BOLD_RED, _RESET = "\x1b[1;31m", "\x1b[0m"


def wants_all_frames() -> bool:
    """Return True if FORGEKIT_TRACEBACK=full requests tracebacks with forgekit's frames."""
    return os.environ.get("FORGEKIT_TRACEBACK", "").strip().lower() == "full"


def _hide_from_pytest(frame: FrameType | None) -> None:
    """Mark forgekit's modules up to the user's frame, so that pytest hides their frames if forgekit
    raised the error."""

    def hidden(caught: Any) -> bool:
        return isinstance(caught.value, ForgekitError) and not wants_all_frames()

    while frame is not None and not is_user_frame(frame):
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "forgekit":
            frame.f_globals["__tracebackhide__"] = hidden
        frame = frame.f_back


class ForgekitError(Exception):
    """Base class of all exceptions that forgekit defines; `str()` returns the message."""

    def __init__(self, message: str = "") -> None:
        super().__init__(as_typed(message))
        if "_pytest" in sys.modules:
            _hide_from_pytest(sys._getframe(1))

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows instead of a traceback: the name, the message and the
        user's source line."""
        lines = [f"{_BOLD_RED}{type(self).__name__}{_RESET}: {wrapped(str(self))}"]
        where = self._where()
        if where is not None:
            lines += ["", f"  {where}"]
        return lines

    def _where(self) -> SourceLine | None:
        return user_line(self.__traceback__)


class UsageError(ForgekitError, ValueError):
    """A forgekit function received an argument that it cannot use."""


def usage_error(what: str, got: object, needed: object, remedy: str) -> UsageError:
    """Return a UsageError whose message is formatted by `got_needed`, with the same arguments."""
    return UsageError(got_needed(what, got, needed, remedy))


class ArgumentMismatchError(UsageError):
    """A compiled kernel was called with a tensor or scalar that does not match its signature."""


class PlatformError(ForgekitError):
    """This machine lacks a requirement, such as a requested GPU or a compiler for this system."""


class KernelError(ForgekitError):
    """The virtual GPU stopped a kernel.

    Attributes:
        kind: a short slug for the mistake, such as `out-of-bounds`; empty if there is none.
        lines: the source lines involved, each with `file` and `line`; empty if unknown.
        who: the coordinates of the first failing thread, ((x, y, z) of its block, (x, y, z) of the
            thread); None if there is no such thread.
        place: the element or the offset that the message names.
        overrun: the `faults.Overrun` that describes an access outside a tensor; otherwise None.
    """

    kind: str = ""
    lines: tuple[Any, ...] = ()
    who: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None
    place: str = ""
    overrun: Any = None


class MemoryAccessError(KernelError):
    """A kernel accessed memory that is out of bounds, misaligned or unmapped."""


class DeadlockError(KernelError):
    """A kernel's threads wait indefinitely; the message lists them."""

    kind = "deadlock"


class InstructionBudgetError(KernelError):
    """A kernel executed more instructions than its budget allows."""

    kind = "endless"


class LaunchError(KernelError):
    """A launch was refused, as a GPU would refuse it: too many threads, too much shared memory, or
    an invalid grid."""

    kind = "launch-limits"


class SanitizerError(KernelError):
    """A kernel completed, but its behaviour is undefined on a GPU.

    The tensors contain its results. `findings` lists the most serious mistakes that the sanitizer
    found.
    """

    def __init__(self, message: str = "", findings: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)


class UnsupportedPtxError(KernelError):
    """The kernel uses PTX that the virtual GPU does not support yet."""


class PtxSyntaxError(KernelError):
    """PTX text cannot be parsed."""
