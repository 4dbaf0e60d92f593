"""A gate on a key: pairs of tensors for which a function has to give the same, or not the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.lessons.gates.failure import GateError, Group
from forgekit.lessons.gates.python_function import python_function

if TYPE_CHECKING:
    import torch

    from forgekit.lessons.gates.submission import Submission

__all__ = ["Pair", "key_of", "keys"]


@dataclass(frozen=True)
class Pair:
    """Two tensors, in words; what is said if a key takes them for different, or for the same."""

    one: torch.Tensor
    other: torch.Tensor
    words: str
    says: str


def keys(
    skeleton: str,
    pairs: Callable[[], Iterable[Pair]],
    *,
    same: bool,
    name: str,
    more: tuple[Any, ...] = (),
) -> Group:
    """A group that asks for the keys of pairs of tensors.

    skeleton: as in `python_function`. same: whether the keys of a pair have to be equal. more: what
    the function takes besides a tensor.
    """

    def run(handed_in: Submission) -> str:
        function = python_function(handed_in, skeleton)
        count = 0
        for pair in pairs():
            one, other = key_of(function, pair.one, *more), key_of(function, pair.other, *more)
            if (one == other) is not same:
                got = "different keys" if same else "the same key"
                needed = "share one kernel" if same else "need different machine code"
                happened = f"{pair.words}: these {needed}, and got {got}.\n{one!r:.160}"
                happened += f"\n{other!r:.160}" if same else ""
                raise GateError(happened[0].upper() + happened[1:], pair.says)
            count += 1
        return f"{count} pairs"

    return Group(name, run)


def key_of(function: Callable[..., Any], x: torch.Tensor, *more: Any) -> Any:
    """The key of a tensor, usable in a dict. Raises GateError if it is not."""
    import torch

    name = getattr(function, "__name__", "it")
    try:
        key = function(x, *more)
    except Exception as error:
        where = f"{tuple(x.shape)}, strides {x.stride()}, {x.dtype}, on {x.device}"
        raise GateError(f"{name} raised {type(error).__name__}: {error}\nfor {where}") from None
    if key is None:
        raise GateError(
            f"{name} returned None, so all tensors have one key.",
            "a function that ends without `return` returns None.",
        )
    try:
        hash(key)
    except TypeError as error:
        remedy = "Use a tuple, of tuples where need be; lists and dicts can change."
        happened = f"{key!r:.120} cannot be a key of a dict: {error}."
        raise GateError(happened, look_at=remedy) from None
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, torch.Tensor) for part in parts):
        raise GateError(
            "The key holds the tensor itself, which a dict then never lets go.",
            look_at="Put facts about the tensor into the key.",
        )
    return key
