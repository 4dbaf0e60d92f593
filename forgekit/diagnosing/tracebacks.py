"""Make errors from forgekit and CuTe DSL end at the user's own line, not in a library file.

In a script, `install` adds a hook that runs before Python's hook for uncaught exceptions; the
exception keeps all its frames for a debugger. In a notebook, `install` adds a handler that runs
before IPython's, so that an error from a direct DSL call reads like an error from `compile`;
IPython handles everything else as usual. FORGEKIT_TRACEBACK=full shows all frames. `ForgekitError`
itself hides frames from pytest's report. This module imports neither torch nor CuTe DSL.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from forgekit.errors import ForgekitError, is_user_frame, user_line, wants_all_frames

_BOLD_RED, _RESET = "\x1b[1;31m", "\x1b[0m"
_SIMULATOR = "forgekit.vgpu"


def install() -> None:
    """Install the hook so that it runs before the current hook and, in a notebook, the handler."""
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
            error.__cause__ = error.__context__ = None  # frames of torch, for example
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
    """Install the handler; return False if there is no shell, or another handler exists."""
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
    """Show `error` briefly if the DSL raised it or it stopped a kernel, else as IPython does."""
    described = _briefly(error, trace)
    if described is None:
        # IPython shows a cell that cannot be parsed without frames, because none would be the
        # student's.
        ran = not isinstance(error, SyntaxError) or user_line(trace) is not None
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=ran)
        return
    shell._get_exc_info((kind, error, trace))  # for %tb and %debug
    instead, lines = described
    shell._showtraceback(type(instead), instead, lines)


def _briefly(
    error: BaseException, trace: TracebackType | None
) -> tuple[BaseException, list[str]] | None:
    """Return the exception to name and the lines to show; None if IPython should show the error."""
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
    except Exception:  # a long traceback is better than none
        return None


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def _passes_through(trace: TracebackType | None, package: str) -> bool:
    while trace is not None:
        if _is_of(str(trace.tb_frame.f_globals.get("__name__", "")), package):
            return True
        trace = trace.tb_next
    return False
