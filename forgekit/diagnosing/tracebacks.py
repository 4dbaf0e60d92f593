"""Make tracebacks of errors from forgekit and CuTe DSL end at the user's own line, not in a library
file.

In a script, `install` adds a hook that runs before Python's hook for uncaught exceptions; a
debugger still sees all frames. In a notebook, `install` adds a handler that runs before IPython's,
so that an error from a direct call to CuTe DSL looks like an error from `compile`; IPython handles
all other errors as usual. FORGEKIT_TRACEBACK=full shows all frames. `ForgekitError` itself hides
frames from pytest's report. This module imports neither torch nor CuTe DSL.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from forgekit.errors import ForgekitError, is_user_frame, user_line, wants_all_frames

_BOLD_RED, _RESET = "\x1b[1;31m", "\x1b[0m"
_SIMULATOR = "forgekit.vgpu"


def install() -> None:
    """Install the hook, which runs before the current hook, and, in a notebook, the handler."""
    _install_hook()
    if "IPython" in sys.modules:
        _install_handler()


# -- scripts --------------------------------------------------------------------------------------
def _install_hook() -> None:
    before = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        short = None if wants_all_frames() else _to_the_users_line(trace)
        if not isinstance(error, ForgekitError) or short is None:
            before(kind, error, trace)
            return
        cause, context = error.__cause__, error.__context__
        try:
            error.__cause__ = error.__context__ = None  # omit chained exceptions, such as torch's
            before(kind, error.with_traceback(short), short)
        finally:
            error.__cause__, error.__context__ = cause, context
            error.__traceback__ = trace

    sys.excepthook = show


def _to_the_users_line(trace: TracebackType | None) -> TracebackType | None:
    """Return a copy of a traceback that ends at the user's last frame; None if there is no such
    frame."""
    if trace is None:
        return None
    rest = _to_the_users_line(trace.tb_next)
    if rest is None and not is_user_frame(trace.tb_frame):
        return None
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


# -- notebooks ------------------------------------------------------------------------------------
def _install_handler() -> bool:
    """Install the handler; return False if there is no IPython shell, or another handler exists."""
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
    """Show an error briefly if CuTe DSL raised it or it stopped a kernel; otherwise show it as
    IPython does."""
    described = _briefly(error, trace)
    if described is None:
        # IPython shows the syntax error of a cell without frames, because none belong to the
        # student.
        ran = not isinstance(error, SyntaxError) or user_line(trace) is not None
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=ran)
        return
    shell._get_exc_info((kind, error, trace))  # stores the exception for %tb and %debug
    instead, lines = described
    shell._showtraceback(type(instead), instead, lines)


def _briefly(
    error: BaseException, trace: TracebackType | None
) -> tuple[BaseException, list[str]] | None:
    """Return the exception and the lines to show; None if IPython should show the error."""
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

        instead = explain_compile_error(error)
        return instead, instead._render_traceback_()
    except Exception:  # if this fails, IPython shows the long traceback
        return None


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def _passes_through(trace: TracebackType | None, package: str) -> bool:
    while trace is not None:
        if _is_of(str(trace.tb_frame.f_globals.get("__name__", "")), package):
            return True
        trace = trace.tb_next
    return False
