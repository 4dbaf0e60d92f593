"""Exchange values between a judge and a student's process as JSON, because reading JSON runs no
code.

Numbers, strings, containers, tensors with their layouts, dtypes and specs are sent. Functions and
objects of other classes stay in their process; the other process receives a `Ref`.
"""

from __future__ import annotations

import base64
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from forgekit.compiling.specs import TensorSpec
from forgekit.layouts import Layout

_PLAIN: dict[type, Callable[[Any], Any]] = {
    int: int.__pos__, float: float.__pos__, str: str.__str__}  # fmt: skip
_FIELDS = {
    Layout: ("shape", "stride"),
    TensorSpec: ("dtype", "shape", "stride", "align", "divisible", "read_only"),
}


class LostError(BaseException):  # not an Exception, which a gate would report as the kernel's error
    """The other process has ended, does not answer, or sends unreadable data."""


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Convert any exception to LostError, because it means that the other process sent unreadable
    data."""
    try:
        yield
    except Exception as error:
        raise LostError("it sent an answer that cannot be read") from error


class Ref:
    """A reference to an object in the other process. about: its description."""

    def __init__(self, peer: Values, number: int, about: Mapping[str, Any]) -> None:
        self.peer, self.number, self.about = peer, number, about

    def __repr__(self) -> str:
        return str(self.about.get("repr"))

    def __add__(self, other: Any) -> Any:
        return self.peer.ask("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.peer.ask("add", other, self)


class RefFunction(Ref):
    """A reference to a function; calling it calls the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.peer.ask("call", self, list(args), kwargs)


class Values(ABC):
    """Encodes the values that one end of a connection sends, decodes those that it receives, and
    keeps the objects that stay in this process.

    about: returns a function's description for the other process. found: creates the proxy for a
    function in the other process.
    """

    def __init__(
        self, about: Callable[[Any], dict[str, Any]], found: Callable[..., RefFunction]
    ) -> None:
        self.about, self.found = about, found
        self._kept: list[Any] = []  # objects to which the other process has a Ref
        self._tensors: dict[int, torch.Tensor] = {}  # the other process's tensors, by number
        self._numbers: dict[int, int] = {}  # id of our copy of such a tensor -> its number
        self._own: dict[int, int] = {}  # id of one of our tensors that was sent -> its number

    @abstractmethod
    def ask(self, what: str, *args: Any) -> Any:
        """Send a request; return the other process's answer."""

    def encode(self, value: Any) -> Any:
        """Encode a value as JSON."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, np.generic | np.ndarray):
            array = np.asarray(value)
            return {"array": [array.dtype.str, array.shape, _text(array.tobytes())],
                    "scalar": isinstance(value, np.generic)}  # fmt: skip
        for kind, plain in _PLAIN.items():  # the value's class may be a subclass, even a student's
            if isinstance(value, kind):
                return plain(value)
        if isinstance(value, bytes | bytearray):
            return {"bytes": _text(bytes(value))}
        if isinstance(value, torch.Tensor):
            return self._encode_tensor(value)
        if isinstance(value, torch.dtype | torch.device):
            return {type(value).__name__: str(value).removeprefix("torch.")}
        if isinstance(value, Ref):
            return {"yours": value.number}
        for kind, names in _FIELDS.items():
            if isinstance(value, kind):
                parts = [self.encode(getattr(value, name)) for name in names]
                return {kind.__name__: parts}
        if isinstance(value, Mapping):
            return {"dict": [[self.encode(k), self.encode(v)] for k, v in list(value.items())]}
        if isinstance(value, tuple | list):
            name = "tuple" if isinstance(value, tuple) else "list"
            return {name: [self.encode(v) for v in list(value)]}
        if value is ...:
            return {"ellipsis": 0}
        if isinstance(value, type) and value.__module__.startswith("cutlass"):
            return {"cutlass": value.__name__}
        self._kept.append(value)
        about = {"function": callable(value), **self.about(value)}
        return {"mine": len(self._kept) - 1, "about": about}

    def _encode_tensor(self, tensor: torch.Tensor) -> Any:
        number = self._numbers.get(id(tensor))
        mine = number is None
        if number is None:
            number = self._own.setdefault(id(tensor), len(self._kept))
            self._kept.append(tensor)
        if tensor.device.type == "meta":
            layout = tensor.shape, tensor.stride()
            return {"meta": [str(tensor.dtype).removeprefix("torch."), *map(list, layout)]}
        storage = tensor.detach().untyped_storage()
        data = bytes(torch.empty(0, dtype=torch.uint8).set_(storage).numpy())
        return {"tensor": [str(tensor.dtype).removeprefix("torch."), list(tensor.shape),
                           list(tensor.stride()), tensor.storage_offset(), _text(data)],
                "number": number, "mine": mine}  # fmt: skip

    def decoded(self, value: Any) -> Any:
        """Decode a value from JSON; raise LostError if it is invalid."""
        with reading():
            return self._decode(value)

    def _decode(self, value: Any) -> Any:
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise TypeError("a bare list")
            return value
        (kind, held), *more = value.items()
        rest = dict(more)
        if kind in ("tuple", "list"):
            parts = [self._decode(v) for v in held]
            return tuple(parts) if kind == "tuple" else parts
        if kind == "dict":
            return {self._decode(k): self._decode(v) for k, v in held}
        if kind == "array":
            array = np.frombuffer(base64.b64decode(held[2]), held[0]).reshape(held[1]).copy()
            return array[()] if rest["scalar"] else array
        if kind == "tensor":
            return self._decode_tensor(held, rest["number"], mine=rest["mine"])
        if kind == "yours":
            return self._kept[int(held)]
        if kind == "mine":
            about = dict(rest["about"])
            return (self.found if about["function"] else Ref)(self, int(held), about)
        simple: dict[str, Any] = {
                  "bytes": base64.b64decode, "ellipsis": lambda _: ..., "device": torch.device,
                  "dtype": _dtype, "cutlass": _cutlass,
                  "meta": lambda h: torch.empty_strided(*h[1:], dtype=_dtype(h[0]), device="meta"),
                  "Layout": lambda h: Layout(*map(self._decode, h)),
                  "TensorSpec": lambda h: TensorSpec(*map(self._decode, h))}  # fmt: skip
        return simple[kind](held)

    def write_back(self, tensors: Sequence[torch.Tensor], said: Any) -> None:
        """Update these tensors from the other process's copies, to which it may have written."""
        with reading():
            for tensor, one in zip(tensors, said, strict=True):
                if "meta" in one:
                    continue
                if id(tensor) in self._own:
                    _write(tensor, _raw(one["tensor"][-1]))
                else:  # the other process's tensor; update our copy
                    self._decode(one)

    def _decode_tensor(self, held: Any, number: int, *, mine: bool) -> Any:
        """Return the copy of a tensor from the other process, or our own tensor if it was sent from
        here."""
        if not mine:
            return self._kept[int(number)]
        dtype, shape, stride, offset, data = held
        raw = _raw(data)
        if (known := self._tensors.get(number)) is not None:
            _write(known, raw)
            return known
        if min((offset, *shape, *stride)) < 0:
            raise ValueError("outside its memory")
        last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
        if 0 not in shape and (last + 1) * _dtype(dtype).itemsize > len(raw):
            raise ValueError("outside its memory")  # set_ would enlarge the storage
        # torch allocates aligned memory
        made = torch.empty(len(raw) if data else 0, dtype=torch.uint8)
        made.copy_(raw[: made.numel()])
        tensor = torch.empty(0, dtype=_dtype(dtype))
        tensor.set_(made.untyped_storage(), offset, tuple(shape), tuple(stride))
        self._tensors[number], self._numbers[id(tensor)] = tensor, number
        return tensor


def _raw(data: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(data)) or bytearray(1), dtype=torch.uint8)


def _write(tensor: torch.Tensor, raw: torch.Tensor) -> None:
    """Overwrite a tensor's whole storage with these bytes."""
    target = torch.empty(0, dtype=torch.uint8).set_(tensor.detach().untyped_storage())
    if target.numel() == raw.numel() and not torch.equal(target, raw):
        target.copy_(raw)


def _dtype(name: str) -> torch.dtype:
    found = getattr(torch, name)
    if not isinstance(found, torch.dtype):
        raise TypeError(name)
    return found


def _cutlass(name: str) -> type:
    import cutlass

    found = getattr(cutlass, name)
    if not (isinstance(found, type) and issubclass(found, cutlass.Numeric)):
        raise TypeError(name)
    return found


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
