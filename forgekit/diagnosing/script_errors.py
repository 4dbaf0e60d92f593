"""In a script or a test, errors of forgekit end at the user's own line, not at a file of forgekit.

`install` puts a hook before Python's, which prints what nobody caught; the exception itself keeps
all its frames, for a debugger. FORGEKIT_TRACEBACK=full shows them all. Frames are hidden from
pytest's report by `ForgekitError` itself. Imports neither torch nor CuTe DSL.
"""

from __future__ import annotations

import sys
from types import TracebackType

from forgekit.errors import ForgekitError, is_user_frame, wants_all_frames

__all__ = ["install"]


def install() -> None:
    """Put the hook before the one there is, which prints the shortened exception."""
    before = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        short = None if wants_all_frames() else _to_the_users_line(trace)
        if not isinstance(error, ForgekitError) or short is None:
            before(kind, error, trace)
            return
        cause, context = error.__cause__, error.__context__
        try:
            error.__cause__ = error.__context__ = None  # frames of torch's, say
            before(kind, error.with_traceback(short), short)
        finally:
            error.__cause__, error.__context__ = cause, context
            error.__traceback__ = trace

    sys.excepthook = show


def _to_the_users_line(trace: TracebackType | None) -> TracebackType | None:
    """A copy of a traceback without what follows the user's last frame; None if he has none."""
    if trace is None:
        return None
    rest = _to_the_users_line(trace.tb_next)
    if rest is None and not is_user_frame(trace.tb_frame):
        return None
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
