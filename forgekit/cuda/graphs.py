"""Implement streams, events and CUDA graphs. Work runs immediately or, during a capture, is
recorded instead.

A capture records, in order, the kernels, copies and torch operations of its stream and of streams
that wait for one of its events. A replay runs this work again, on the same memory.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forgekit.vgpu.errors import usage_error

NOT_CAPTURED = object()
LEGACY_STREAM = 0

# nonzero handles for streams, events and graphs
_handles = itertools.count(0x5000_0010, 0x10)


def new_handle() -> int:
    """Return a new handle for a stream, event or graph."""
    return next(_handles)


@dataclass
class Graph:
    """Captured work, in order, and the captured streams."""

    streams: set[int] = field(default_factory=set)
    nodes: list[Callable[[], Any]] = field(default_factory=list)

    def replay(self) -> None:
        for node in self.nodes:
            node()


@dataclass
class Event:
    """An event: its time on this machine's clock, and the stream in which it was recorded."""

    recorded_s: float | None = None
    stream: int = LEGACY_STREAM

    def record(self, stream: int) -> None:
        self.recorded_s, self.stream = time.perf_counter(), stream

    def let_wait(self, stream: int) -> None:
        """Add a stream that waits for this event to the capture, if the event's stream is being
        captured."""
        if is_capturing(self.stream):
            assert _here.capture is not None
            _here.capture.streams.add(stream)

    def elapsed_ms(self, end: Event) -> float:
        """Return the time between two recorded events in milliseconds, on this machine's clock.

        Raises:
            UsageError: an event was not recorded.
        """
        if self.recorded_s is None or end.recorded_s is None:
            needed = "two recorded events"
            raise usage_error(
                "elapsed time", "an event that was not recorded", needed, "call record() on both"
            )
        return (end.recorded_s - self.recorded_s) * 1e3


class _Here(threading.local):
    """A thread's state: torch's current stream, and the graph that is being captured."""

    stream = LEGACY_STREAM
    capture: Graph | None = None


_here = _Here()


def current_stream() -> int:
    """Return torch's current stream in this thread."""
    return _here.stream


def set_current_stream(stream: int) -> int:
    """Set torch's current stream in this thread; return the previous one."""
    before, _here.stream = _here.stream, stream
    return before


def is_capturing(stream: int) -> bool:
    """Return True if this thread is capturing the work of a stream."""
    return _here.capture is not None and stream in _here.capture.streams


def begin_capture(stream: int) -> None:
    """Begin a capture. Raise UsageError if a capture is in progress, or if the stream is the
    default stream."""
    if _here.capture is not None or stream == LEGACY_STREAM:
        within = "inside another capture" if _here.capture else "of the default stream"
        got = f"a capture {within}"
        needed = "one capture at a time, on a stream that you created"
        raise usage_error("graph capture", got, needed, "capture a torch.cuda.Stream()")
    _here.capture = Graph({stream})


def end_capture() -> Graph:
    """Return the work captured since `begin_capture`."""
    capture, _here.capture = _here.capture, None
    if capture is None:
        needed = "a capture in progress"
        raise usage_error("end of a graph capture", "none", needed, "begin a capture first")
    return capture


def submit(stream: int, work: Callable[[], Any]) -> None:
    """Run work in a stream: now or, if the stream is being captured, in each replay of the
    graph."""
    if not keep(stream, work):
        work()


def keep(stream: int, work: Callable[[], Any]) -> bool:
    """Record work if this stream is being captured. Return True if the work was recorded and
    therefore must not run now."""
    if not is_capturing(stream):
        return False
    assert _here.capture is not None
    _here.capture.nodes.append(work)
    return True


def capture_operation(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """If the current stream is being captured, record a torch operation and return its result.
    Otherwise, return NOT_CAPTURED."""
    import torch

    if not is_capturing(current_stream()):
        return NOT_CAPTURED
    returns, given = func._schema.returns, dict(kwargs)
    given |= {a.name: v for a, v in zip(func._schema.arguments, args, strict=False)}
    if func._schema.is_mutable:
        changed = [given.get(a.name) for a in func._schema.arguments if _is_written(a)]
        if len(returns) > len(changed) or not all(_is_written(r) for r in returns):
            needed = "an operation that changes tensors or creates new ones"
            raise usage_error("graph capture", str(func), needed, "run it before the capture")
        keep(current_stream(), lambda: _run(func, args, kwargs))
        return changed[0] if len(returns) == 1 else tuple(changed[: len(returns)]) or None
    result = func(*args, **kwargs)
    if any(r.alias_info for r in returns) or not returns:  # creating a view needs no replay
        return result

    def again() -> None:
        fresh = _run(func, args, kwargs)
        pairs = zip(*(r if isinstance(r, tuple | list) else (r,) for r in (result, fresh)),
                    strict=True)  # fmt: skip
        for out, new in pairs:
            if isinstance(out, torch.Tensor):
                out.copy_(new)

    keep(current_stream(), again)
    return result


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _run(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    import torch

    with torch.no_grad():
        return func(*args, **kwargs)
