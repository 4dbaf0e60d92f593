"""Check the arguments of public functions against their annotations.

    @checked(warps=(1, 32))
    def coalescing(kernel, *args, line: Line | None = None, warps: int = 1): ...

`checked` checks arguments whose annotations consist of the types in `_KINDS`; the decorated
function itself must check other arguments. NumPy integers are converted to `int`, and other real
numbers to `float`. This module does not import torch.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar, cast

from forgekit.errors import CallError, brief, usage_error, with_article

F = TypeVar("F", bound=Callable[..., Any])
Limits = tuple[float, float | None]


@dataclass(frozen=True)
class _Kind:
    """A type that annotations may contain: a test for its values, their description, and the remedy
    for other values."""

    fits: Callable[[Any], bool]
    words: str
    remedy: str = ""


@dataclass(frozen=True)
class _Parameter:
    """A parameter to check. limits: the minimum and maximum allowed number, or None."""

    what: str
    kinds: tuple[_Kind, ...]
    limits: Limits | None
    default: Any

    def taken(self, value: Any) -> Any:
        """Check a value; return it converted to the type that the function expects.

        Raises:
            UsageError: the value has a different type or is outside the limits.
        """
        kind = next((k for k in self.kinds if k.fits(value)), None)
        if kind is _WHOLE and type(value) is not int:
            value = operator.index(value)
        elif kind is _NUMBER and type(value) not in (int, float):
            value = operator.index(value) if isinstance(value, Integral) else float(value)
        if kind is None or (self.limits and kind in (_WHOLE, _NUMBER) and self._beyond(value)):
            raise usage_error(self.what, brief(value), self._needed, self._remedy)
        return value

    def _beyond(self, value: Any) -> bool:
        low, high = self.limits or (value, None)
        return not low <= value or (high is not None and value > high)

    @property
    def _needed(self) -> str:
        numbers = ""
        if self.limits is not None:
            low, high = self.limits
            numbers = f" of {low} or more" if high is None else f" from {low:,} to {high:,}"
        return " or ".join(
            k.words + (numbers if k in (_WHOLE, _NUMBER) else "") for k in self.kinds if k.words
        )

    @property
    def _remedy(self) -> str:
        own = next((k.remedy for k in self.kinds if k.remedy), "pass one")
        if self.default is inspect.Parameter.empty:
            return own
        usual = "" if self.default is None else f" for {brief(self.default)}"
        return f"leave it out{usual}, or {own}"


def checked(**limits: Limits) -> Callable[[F], F]:
    """Decorate a function to check its arguments before it runs.

    limits: maps parameters to (minimum, maximum); a maximum of None means no upper limit.

    Raises, when the function is called:
        UsageError: an argument does not fit its annotation or is outside its limits.
        CallError: there are too many or too few arguments, or an argument has an unknown name.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        name = getattr(function, "__qualname__", "").removesuffix(".__init__")
        known = _parameters(name, signature, limits)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise CallError(f"{name}: {error}; write {_example(name, signature)}") from None
            given = bound.arguments
            for parameter, one in known.items():
                if parameter not in given:
                    continue
                value = given[parameter]
                if signature.parameters[parameter].kind is inspect.Parameter.VAR_POSITIONAL:
                    given[parameter] = tuple(map(one.taken, value))
                else:
                    given[parameter] = one.taken(value)
            return function(*bound.args, **bound.kwargs)

        return cast(F, call)

    return decorate


def require_one_of(what: str, got: object, known: tuple[object, ...]) -> None:
    """Raise UsageError if `got` is not one of the known values."""
    if not (got is None or isinstance(got, str)) or got not in known:
        needed = "one of " + ", ".join(repr(k) for k in known)
        raise usage_error(what, brief(got), needed, "choose one of these")


def integer_or_none(value: object) -> int | None:
    """Convert a Python or NumPy integer to an int; return None for other values."""
    if type(value) is int:
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return None


def dense(what: str, value: Any, *, meta: bool = False) -> Any:
    """Return the value if it is a torch tensor of numbers with dense storage, contiguous or
    strided; otherwise raise UsageError.

    meta: True to accept tensors without storage (meta tensors).

    Raises:
        UsageError: the value is not a tensor, or it is a meta, sparse, quantized or nested tensor.
    """
    if not _is_tensor(value):
        raise usage_error(what, brief(value), _TENSOR.words, _TENSOR.remedy)
    odd = {
        "nested": (value.is_nested, "pass one of its tensors"),
        "sparse": (not value.is_nested and "sparse" in str(value.layout),
                   "convert it with .to_dense()"),
        "quantized": (value.is_quantized, "convert it with .dequantize()"),
        "meta": (value.is_meta and not meta,
                 "create it on the device, such as fk.empty(4, 8)"),
    }  # fmt: skip
    for kind, (is_one, remedy) in odd.items():
        if is_one:
            needed = "a dense tensor whose elements are in memory"
            raise usage_error(what, f"a {kind} tensor", needed, remedy)
    return value


# -- annotations ----------------------------------------------------------------------------------
def _parameters(
    name: str, signature: inspect.Signature, limits: Mapping[str, Limits]
) -> dict[str, _Parameter]:
    found = {}
    for p in signature.parameters.values():
        parts = _parts(str(p.annotation))
        if "os.PathLike" in parts:  # not every string is a valid file name
            parts.remove("str")
        kinds = tuple(map(_KINDS.get, parts))
        if p.kind is not p.VAR_KEYWORD and all(kinds):
            plain = tuple(kind for kind in kinds if kind is not None)
            found[p.name] = _Parameter(f"{name}, {p.name}", plain, limits.get(p.name), p.default)
    return found


def _parts(annotation: str) -> list[str]:
    """Split `int | tuple[int, ...] | None` into `int`, `tuple` and `None`."""
    depth, found = 0, [""]
    for letter in annotation:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            found.append("")
        elif depth == 0 and letter not in "] ":
            found[-1] += letter
    return found


def _example(name: str, signature: inspect.Signature) -> str:
    """Return the form of a call, such as `randn(*shape, dtype=torch.float32, seed=0,
    device=None)`."""
    shown = []
    for p in signature.parameters.values():
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        default = "" if p.default is p.empty else f"={brief(p.default)}"
        if p.name != "self":
            shown.append(f"{star}{p.name}{default}")
    return f"{name.rpartition('.')[2]}({', '.join(shown)})"


def _of(kinds: Any, but: Any = ()) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds) and not isinstance(value, but)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike) and _names_a_file(os.fspath(value))


def _names_a_file(name: Any) -> bool:
    """Return True if the operating system accepts the string as a file name."""
    try:
        return bool(os.fsencode(name)) and "\0" not in name
    except (TypeError, UnicodeError):
        return False


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _instance(name: str, remedy: str = "") -> _Kind:
    """Return the _Kind for objects of a forgekit class, which is recognised by name to avoid an
    import."""

    def fits(value: Any) -> bool:
        ours = [c.__name__ for c in type(value).__mro__ if c.__module__.startswith("forgekit.")]
        return name in ours

    return _Kind(fits, with_article(name), remedy)


_LAYOUT = "write Layout((4, 8), (8, 1)), for example; layouts.of(...) converts CuTe's layouts"
_WHOLE = _Kind(_of(Integral, but=bool), "a whole number", "pass an int")
_NUMBER = _Kind(_of(Real, but=bool), "a number", "pass an int or a float")
_TENSOR = _Kind(_is_tensor, "a torch tensor", "pass one such as fk.randn(4, 8)")
_PATH = _Kind(_is_path, "the name of a file", 'write "picture.svg", for example')
_KINDS = {
    "None": _Kind(_of(type(None)), ""),
    "int": _WHOLE,
    "float": _NUMBER,
    "bool": _Kind(_is_flag, "True or False", "write one of the two"),
    "str": _Kind(_of(str), "a string", "put it in quotes"),
    "Callable": _Kind(callable, "a function", "pass the function itself, without calling it"),
    "Mapping": _Kind(_of(Mapping), "a dict", "write {1: 4}, for example"),
    "Sequence": _Kind(_of(Sequence, but=(str, bytes)), "a list"),
    "Iterable": _Kind(
        _of(Iterable, but=(str, bytes, Mapping)), "a list", "write [0, 1], for example"
    ),
    "tuple": _Kind(_of(tuple), "a tuple", "write (0, 1), for example"),
    "Layout": _instance("Layout", _LAYOUT),
    "ComposedLayout": _instance("ComposedLayout"),
    "Gpu": _instance("Gpu", "a name in forgekit.profiling.gpus.GPUS"),
    "torch.Tensor": _TENSOR,
    "Path": _PATH,
    "os.PathLike": _PATH,
}
