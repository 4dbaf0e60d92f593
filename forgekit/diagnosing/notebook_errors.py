"""In a notebook, errors that come from CuTe DSL itself are told as `compile` tells them.

A jit function called directly, or `cute.compile`, raises the DSL's own exceptions, and IPython
would show dozens of frames of libraries. `install` puts a handler before IPython's; everything that
is not the DSL's goes on to IPython unchanged. Imports neither torch nor CuTe DSL.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from forgekit.errors import ForgekitError, user_line

__all__ = ["install"]

_BOLD_RED, _RESET = "\x1b[1;31m", "\x1b[0m"
_SIMULATOR = "forgekit.vgpu"


def install() -> bool:
    """Register the handler with IPython; False where there is no shell or another handler."""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None or shell.custom_exceptions:
        return False
    shell.set_custom_exc((Exception, KeyboardInterrupt), _show)
    return True


def _show(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    """Show `error` in few lines if it is the DSL's or stopped a kernel, else as IPython does."""
    told = _told_briefly(error, trace)
    if told is None:
        # IPython shows a cell that cannot be parsed without frames: none of them is the student's.
        ran = not isinstance(error, SyntaxError) or user_line(trace) is not None
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=ran)
        return
    shell._get_exc_info((kind, error, trace))  # for %tb and %debug
    instead, lines = told
    shell._showtraceback(type(instead), instead, lines)


def _told_briefly(
    error: BaseException, trace: TracebackType | None
) -> tuple[BaseException, list[str]] | None:
    """The exception to name and the lines to show; None where IPython's own way is right."""
    if isinstance(error, KeyboardInterrupt):
        if not _passes_through(trace, _SIMULATOR):
            return None
        line = user_line(trace)
        lines = [f"{_BOLD_RED}KeyboardInterrupt{_RESET}: the kernel was stopped"]
        return error, [*lines, *(["", f"  {line}"] if line is not None else [])]
    if isinstance(error, ForgekitError) or not _is_of(type(error).__module__, "cutlass"):
        return None
    try:
        from forgekit.diagnosing.diagnosis import explain_compile_error

        told = explain_compile_error(error)
        return told, told._render_traceback_()
    except Exception:  # a traceback too long is better than none
        return None


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def _passes_through(trace: TracebackType | None, package: str) -> bool:
    while trace is not None:
        if _is_of(str(trace.tb_frame.f_globals.get("__name__", "")), package):
            return True
        trace = trace.tb_next
    return False
