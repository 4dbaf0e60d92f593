"""The connection between a judge and a student's process: one asks, the other answers, and may
ask back meanwhile. A message is a length and JSON."""

from __future__ import annotations

import builtins
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
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Peer(Values):
    """One end of the connection.

    serves: what the other side may ask for, by name. about, found: as in `Values`.
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
        self.seconds = math.inf  # for an answer
        self.on_silence: Callable[[], None] = lambda: None  # when these have passed
        self.waiting = False  # for an answer
        self._deadline, self._asked_again = math.inf, False
        self._buffer = bytearray()

    def ask(self, what: str, *args: Any) -> Any:
        """What the other side answers; raises what it raises.

        Raises:
            LostError: there is no answer.
        """
        self._deadline, self._asked_again = time.monotonic() + self.seconds, False
        self.waiting = True
        self._send({"ask": what, "args": self.encode(list(args))})
        while True:
            message = self._receive()
            if "ask" in message:
                self._serve(message)
                self.waiting = True  # again: it may have asked back
                continue
            self.waiting = False
            if "raise" in message:
                raise self._error(message["raise"])
            for tensor in message.get("tensors", ()):  # that the other side has written to
                self.decoded(tensor)
            return self.decoded(message.get("return"))

    def serve(self) -> None:
        """Answer until the other side closes."""
        while True:
            try:
                message = self._receive()
            except LostError:
                return
            self._serve(message)

    def _serve(self, message: Mapping[str, Any]) -> None:
        try:
            args = self.decoded(message["args"])
            result = self.encode(self.serves[message["ask"]](*args))
            # What was changed in place is told: the tensors that came with the request.
            answer = {"return": result, "tensors": [self.encode(t) for t in _tensors_in(args)]}
        except LostError:
            raise
        except BaseException as error:  # KeyboardInterrupt and SystemExit are the student's, too
            self._kept.append(error)
            words = type(error).__name__, _ADDRESS.sub("", str(error))[:20_000]
            origin = getattr(error, _ORIGIN, None)
            answer = {"raise": [*words, len(self._kept) - 1, origin]}
        self._send(answer)

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
    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode()
        try:
            self._limit()
            self.sock.sendall(struct.pack("<I", len(data)) + data)
        except OSError as error:
            raise _lost(error) from None

    def _receive(self) -> dict[str, Any]:
        try:
            size = struct.unpack("<I", self._exactly(4))[0]
            if size > _MOST_BYTES:
                raise LostError(f"it sent a message of more than {_MOST_BYTES >> 20} MiB")
            message = json.loads(self._exactly(size))
            assert isinstance(message, dict)
            return message
        except (ValueError, RecursionError, AssertionError) as error:
            raise LostError("it answered what cannot be read") from error

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                self._limit()
                part = self.sock.recv(1 << 20)
            except OSError as error:
                if not isinstance(error, TimeoutError) or self._asked_again:
                    raise _lost(error) from None
                self._asked_again, self._deadline = True, time.monotonic() + _GRACE_S
                self.on_silence()
                continue
            if not part:
                raise LostError("its process has ended")
            self._buffer += part
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _limit(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.sock.settimeout(None if left == math.inf else left)


def _tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [t for v in value for t in _tensors_in(v)] if isinstance(value, tuple | list) else []


def _lost(error: OSError) -> LostError:
    silent = isinstance(error, TimeoutError)
    return LostError("it did not answer in time" if silent else "its process has ended")
