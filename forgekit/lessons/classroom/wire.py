"""Connect a judge to a student's process. A message consists of its length and JSON text.

The judge sends a request and waits for the answer of the student's process. The answer is a result,
an error, or a "need": the student's code has called one of the judge's functions. The judge then
calls the function, sends its result (possibly after further requests), and waits for the next
answer.

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
from forgekit.lessons.classroom.values import LostError, RefFunction, Values, reading

_MOST_BYTES = 64 << 20  # maximum bytes per message
_ORIGIN = "_forgekit_origin"  # attribute of an exception from the other process: its number there
_GRACE_S = 5  # seconds to answer after an interrupt
_SILENT, _ENDED = "it did not answer in time", "its process has ended"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _End(Values):
    """The base class of the two ends of a connection.

    serves: maps names to the functions that the other process may call. about, found: as in
    `Values`. on_silence: interrupts the other process if it does not answer in time.
    """

    on_silence: Callable[[], None] | None = None
    _deadline, _interrupted = math.inf, False

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
        """Execute a request from the other process; return its result or error as a message."""
        try:
            decoded = self.decoded(args)
            tensors = _tensors_in(decoded) if what == "call" else []
            result = self.encode(self.serves[what](*decoded))
            # Include the tensors that the function received, because it may have changed them.
            return {"return": result, "tensors": [self.encode(t) for t in tensors]}
        except LostError:  # a lost connection is not the student's error
            raise
        # including KeyboardInterrupt and SystemExit
        except BaseException as error:
            self._kept.append(error)
            words = type(error).__name__, _ADDRESS.sub("", str(error))[:20_000]
            origin = getattr(error, _ORIGIN, None)
            return {"raise": [*words, len(self._kept) - 1, origin]}

    def _outcome(self, message: Mapping[str, Any], what: str, args: tuple[Any, ...]) -> Any:
        """Decode a message from `_done`: return the result or raise the error.

        Only an answer to "call" changes tensors, and only the call's arguments.
        """
        if "raise" in message:
            raise self._error(message["raise"])
        if what == "call":
            self.write_back(_tensors_in(args), message.get("tensors"))
        return self.decoded(message.get("return"))

    def _error(self, said: Any) -> BaseException:
        """Rebuild an exception; if it originated in this process, return the original."""
        with reading():
            name, text, number, origin = said
            if isinstance(origin, int) and isinstance(self._kept[origin], Exception):
                return self._kept[origin]
            kind: Any = getattr(errors, name, None) or getattr(builtins, name, None)
            error: Exception = type(str(name), (Exception,), {})(str(text))
            if isinstance(kind, type) and issubclass(kind, Exception):
                with contextlib.suppress(TypeError):  # from UnicodeDecodeError and others
                    error = kind(str(text))
            setattr(error, _ORIGIN, int(number))
            return error

    # -- messages -------------------------------------------------------------------------------
    def _wait(self) -> None:
        """Set the socket's timeout to the time left until the deadline; raise TimeoutError if none
        is left."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.sock.settimeout(None if left == math.inf else left)

    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode()
        try:
            self._wait()
            self.sock.sendall(struct.pack("<I", len(data)) + data)
        except TimeoutError:
            raise LostError(_SILENT) from None
        except OSError:
            raise LostError(_ENDED) from None

    def _receive(self) -> dict[str, Any]:
        with reading():
            size = struct.unpack("<I", self._exactly(4))[0]
            if size > _MOST_BYTES:
                raise LostError(f"it sent a message of more than {_MOST_BYTES >> 20} MiB")
            return dict(json.loads(self._exactly(size)).items())

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                self._wait()
                part = self.sock.recv(1 << 20)
            except TimeoutError:
                if self._interrupted or self.on_silence is None:
                    raise LostError(_SILENT) from None
                self.on_silence()
                self._interrupted, self._deadline = True, time.monotonic() + _GRACE_S
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
    """The judge's end, which sends requests.

    seconds: the time limit for an answer, including its needs. waiting: True while this end waits
    for an answer.
    """

    seconds = math.inf
    waiting = False

    def ask(self, what: str, *args: Any) -> Any:
        """Send a request; return the answer, or raise the exception that the student's process
        reports.

        Raises:
            LostError: the student's process does not answer.
        """
        first = self._deadline == math.inf
        if first:
            self._deadline, self._interrupted = time.monotonic() + self.seconds, False
        try:
            answer = self._exchange({"do": what, "args": self.encode(list(args))})
            while "need" in answer:
                answer = self._exchange(self._done(answer["need"], answer.get("args")))
            return self._outcome(answer, what, args)
        finally:
            if first:
                self._deadline = math.inf

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self.waiting = True
        self._send(message)
        answer = self._receive()
        self.waiting = False
        return answer


class StudentEnd(_End):
    """The student's end, which answers requests."""

    def serve(self) -> None:
        """Answer requests until the judge closes the connection."""
        with contextlib.suppress(LostError):
            while True:
                self._answer(self._receive())

    def ask(self, what: str, *args: Any) -> Any:
        """Call one of the judge's functions; return its result or raise its exception. Meanwhile,
        answer the judge's requests."""
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
