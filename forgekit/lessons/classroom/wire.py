"""The connection between a judge and a student's process. A message is a length and JSON.

The judge asks and the student's process only answers, one message at a time in each direction. An
answer is a result, an error, or a need: student code has called what stays with the judge. The
judge meets the need, for which it may ask something else first, and then gets the next answer.

    {"do": "call", …}  ->
                       <-  {"need": "call", …}
    {"return": …}      ->
                       <-  {"return": …}
"""

from __future__ import annotations

import builtins
import contextlib
import json
import math
import re
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from forgekit import errors
from forgekit.lessons.classroom.values import LostError, RefFunction, Values

_MOST_BYTES = 64 << 20  # of one message
_ORIGIN = "_forgekit_origin"  # set on an error of the other side: its number there
_GRACE_S = 5  # after an interrupt
_SILENT, _ENDED = "it did not answer in time", "its process has ended"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _Patience:
    """How long an answer may take: some seconds and, after an interrupt, a few more."""

    def __init__(self, seconds: float, interrupt: Callable[[], None] | None) -> None:
        self._end, self._interrupt = time.monotonic() + seconds, interrupt

    def left(self) -> float | None:
        """Seconds, or None for no limit. Raises TimeoutError if none are left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return None if left == math.inf else left

    def interrupt(self) -> None:
        """Interrupt the other side and wait a little longer. Raises LostError after that."""
        if self._interrupt is None:
            raise LostError(_SILENT)
        self._interrupt()
        self._end, self._interrupt = time.monotonic() + _GRACE_S, None


_NO_LIMIT = _Patience(math.inf, None)


class _End(Values):
    """What both ends have in common.

    serves: what the other side may have done here, by name. about, found: as in `Values`.
    """

    def __init__(
        self,
        sock: socket.socket,
        serves: Mapping[str, Callable[..., Any]],
        about: Callable[[Any], dict[str, Any]] = lambda value: {},
        found: Callable[..., Any] = RefFunction,
    ) -> None:
        super().__init__(about, found)
        self.sock = sock
        self.serves: dict[str, Callable[..., Any]] = {
            "call": lambda f, args, kwargs: f(*args, **kwargs), "add": lambda a, b: a + b, **serves
        }  # fmt: skip
        self._buffer = bytearray()

    def _done(self, what: Any, args: Any) -> dict[str, Any]:
        """Do what the other side wants; its result, or the error, as a message."""
        try:
            decoded = self.decoded(args)
            tensors = _tensors_in(decoded) if what == "call" else []
            result = self.encode(self.serves[what](*decoded))
            # With the arguments of a call, which the function may have changed in place.
            return {"return": result, "tensors": [self.encode(t) for t in tensors]}
        except LostError:
            raise
        except BaseException as error:  # KeyboardInterrupt and SystemExit are the student's, too
            self._kept.append(error)
            words = type(error).__name__, _ADDRESS.sub("", str(error))[:20_000]
            origin = getattr(error, _ORIGIN, None)
            return {"raise": [*words, len(self._kept) - 1, origin]}

    def _outcome(self, message: Mapping[str, Any], what: str, args: tuple[Any, ...]) -> Any:
        """The opposite of `_done`: returns what the other side returned, raises what it raised.

        Only the answer to "call" changes tensors, and only those among the call's arguments.
        """
        if "raise" in message:
            raise self._error(message["raise"])
        if what == "call":
            self.write_back(_tensors_in(args), message.get("tensors"))
        return self.decoded(message.get("return"))

    def _error(self, said: Any) -> BaseException:
        """What the other side raised: our own, if it came from here."""
        try:
            name, text, number, origin = said
            if isinstance(origin, int) and isinstance(self._kept[origin], Exception):
                return self._kept[origin]
            kind: Any = getattr(errors, name, None) or getattr(builtins, name, None)
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                kind = type(str(name), (Exception,), {})
            try:
                error = kind(str(text))
            except TypeError:  # UnicodeDecodeError and the like
                error = type(str(name), (Exception,), {})(str(text))
            setattr(error, _ORIGIN, int(number))
            return error
        except (TypeError, ValueError, IndexError) as error:
            raise LostError("it answered what cannot be read") from error

    # -- frames ---------------------------------------------------------------------------------
    def _send(self, message: Mapping[str, Any], patience: _Patience = _NO_LIMIT) -> None:
        data = json.dumps(message).encode()
        try:
            self.sock.settimeout(patience.left())
            self.sock.sendall(struct.pack("<I", len(data)) + data)
        except TimeoutError:
            raise LostError(_SILENT) from None
        except OSError:
            raise LostError(_ENDED) from None

    def _receive(self, patience: _Patience = _NO_LIMIT) -> dict[str, Any]:
        try:
            size = struct.unpack("<I", self._exactly(4, patience))[0]
            if size > _MOST_BYTES:
                raise LostError(f"it sent a message of more than {_MOST_BYTES >> 20} MiB")
            message = json.loads(self._exactly(size, patience))
            assert isinstance(message, dict)
            return message
        except (ValueError, RecursionError, AssertionError) as error:
            raise LostError("it answered what cannot be read") from error

    def _exactly(self, size: int, patience: _Patience) -> bytes:
        while len(self._buffer) < size:
            try:
                self.sock.settimeout(patience.left())
                part = self.sock.recv(1 << 20)
            except TimeoutError:
                patience.interrupt()
                continue
            except OSError:
                raise LostError(_ENDED) from None
            if not part:
                raise LostError(_ENDED)
            self._buffer += part
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


class JudgeEnd(_End):
    """The end that asks.

    seconds: that an answer may take. on_silence: interrupts the other side after them. waiting:
    True while the other side has the word.
    """

    seconds = math.inf
    on_silence: Callable[[], None] | None = None
    waiting = False

    def ask(self, what: str, *args: Any) -> Any:
        """What the other side answers; raises what it raises.

        Raises:
            LostError: there is no answer.
        """
        patience = _Patience(self.seconds, self.on_silence)
        answer = self._exchange({"do": what, "args": self.encode(list(args))}, patience)
        while "need" in answer:
            answer = self._exchange(self._done(answer["need"], answer.get("args")), patience)
        return self._outcome(answer, what, args)

    def _exchange(self, message: Mapping[str, Any], patience: _Patience) -> dict[str, Any]:
        self.waiting = True
        self._send(message, patience)
        answer = self._receive(patience)
        self.waiting = False
        return answer


class StudentEnd(_End):
    """The end that answers."""

    def serve(self) -> None:
        """Answer until the other side closes."""
        with contextlib.suppress(LostError):
            while True:
                self._answer(self._receive())

    def ask(self, what: str, *args: Any) -> Any:
        """What the judge returns for a need; raises what it raises. The judge may ask first."""
        self._send({"need": what, "args": self.encode(list(args))})
        while "do" in (message := self._receive()):
            self._answer(message)
        return self._outcome(message, what, args)

    def _answer(self, message: Mapping[str, Any]) -> None:
        self._send(self._done(message["do"], message["args"]))


def _tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [t for v in value for t in _tensors_in(v)] if isinstance(value, tuple | list) else []
