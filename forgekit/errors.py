"""Define forgekit's exceptions.

    ForgekitError(Exception)
    ├── UsageError(.., ValueError)       an argument of a forgekit function is unusable
    │   ├── CallError(.., TypeError)     too many or too few arguments, or an unknown name
    │   └── ArgumentMismatchError        a compiled kernel was called with a tensor or scalar
    │                                    that does not fit
    ├── PlatformError                    this machine lacks, for example, a GPU or the compiler
    ├── CompileError                     CuTe DSL's compiler reports a mistake in the kernel
    ├── CheckError(.., AssertionError)   check() found wrong values
    └── KernelError                      the virtual GPU stopped a kernel
        ├── MemoryAccessError            an out-of-bounds, misaligned or unmapped access
        ├── DeadlockError                threads wait for each other indefinitely
        ├── InstructionBudgetError       the kernel exceeded its instruction budget
        ├── SanitizerError               a race, unwritten memory, a misused barrier
        ├── LaunchError                  too many threads, too much shared memory, an invalid grid
        ├── UnsupportedPtxError          PTX that the virtual GPU does not support yet
        └── PtxSyntaxError               PTX text that cannot be parsed

Messages state the passed value, the requirement and a remedy (`got_needed`). A notebook shows only
the message and the student's own line, without library frames; in a script and in pytest, the
traceback ends at that line, unless FORGEKIT_TRACEBACK=full. `forgekit.vgpu.errors` defines the
virtual GPU's exceptions and their base class; this module defines the other exceptions.
"""

from __future__ import annotations

from typing import Any

from forgekit.vgpu.errors import (
    ArgumentMismatchError,
    DeadlockError,
    ForgekitError,
    InstructionBudgetError,
    KernelError,
    LaunchError,
    MemoryAccessError,
    PlatformError,
    PtxSyntaxError,
    SanitizerError,
    UnsupportedPtxError,
    UsageError,
    usage_error,
    wants_all_frames,
)
from forgekit.vgpu.user_lines import (
    SourceLine,
    calling_user_line,
    display_path,
    is_library,
    is_user_file,
    is_user_frame,
    source_line,
    user_line,
)
from forgekit.vgpu.wording import as_typed, brief, got_needed, with_article, wrapped

__all__ = [
    "ArgumentMismatchError", "CallError", "CheckError", "CompileError", "DeadlockError",
    "ForgekitError", "InstructionBudgetError", "KernelError", "LaunchError", "MemoryAccessError",
    "PlatformError", "PtxSyntaxError", "SanitizerError", "SourceLine", "UnsupportedPtxError",
    "UsageError", "as_typed", "brief", "calling_user_line", "display_path", "got_needed",
    "is_library", "is_user_file", "is_user_frame", "source_line", "usage_error", "user_line",
    "wants_all_frames", "with_article", "wrapped",
]  # fmt: skip

# Tracebacks and pickles should name the module from which users import these exceptions.
for _kind in (
    ForgekitError, UsageError, ArgumentMismatchError, PlatformError, KernelError,
    MemoryAccessError, DeadlockError, InstructionBudgetError, LaunchError, SanitizerError,
    UnsupportedPtxError, PtxSyntaxError,
):  # fmt: skip
    _kind.__module__ = __name__


class CallError(UsageError, TypeError):
    """A call does not fit a function's signature: too many or too few arguments, or an unknown
    name."""


class CompileError(ForgekitError):
    """A mistake in the kernel that CuTe DSL's compiler reports, explained to the student.

    Attributes:
        kind: the mistake's short name, such as `store-dtype`; `unrecognised` if no rule matches.
        filename, line: the student's file (or cell) and 1-based line number; None if unknown.
        source_line: the text of that line, stripped; None if unknown.
        compiler_text: the compiler's own text, without colours and internal frames.
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
        # If the message names the kernel's line, omit the line that calls compile().
        return super()._where() if self.line is None else None


class CheckError(ForgekitError, AssertionError):
    """Raised when `check()` finds wrong values. report: the CheckReport with all details."""

    def __init__(self, message: str = "", report: Any = None) -> None:
        super().__init__(message)
        self.report = report
