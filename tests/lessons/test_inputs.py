"""Test that a puzzle's inputs distinguish the right result from those of standard mistakes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from forgekit.checking.compare import compare
from forgekit.lessons.exercise import Exercise, all_exercises
from forgekit.lessons.gates.submission import Case, case_of
from forgekit.lessons.gates.values import secret_size, shared_out
from forgekit.tensors import reseeded

Tensor = torch.Tensor
SMALL = 150_000  # maximum number of elements; larger calls are omitted


class Mistake(TorchFunctionMode):
    """Replaces torch's reductions with reductions that contain a mistake. read: the type to which
    inputs are rounded. start: the initial value of a maximum. narrow: the type in which numbers are
    added. part: selects the elements of a row that are not omitted. equal: True if >= replaces
    >."""

    def __init__(
        self,
        *,
        read: torch.dtype | None = None,
        start: float = -math.inf,
        narrow: torch.dtype = torch.float64,
        part: Callable[[int], Tensor] | None = None,
        equal: bool = False,
    ) -> None:
        super().__init__()
        self.read, self.start, self.narrow = read, start, narrow
        self.part, self.equal = part, equal
        self.used = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.strip("_")
        own = getattr(self, f"of_{name}", None)
        if own is None or not args[0].is_floating_point():
            return func(*args, **(kwargs or {}))
        return own(*args, **(kwargs or {}))

    def kept(self, x: Tensor, dim: int, blank: float) -> Tensor:
        if self.part is None:
            return x
        take = self.part(x.shape[dim])
        self.used |= not bool(take.all())
        return x.movedim(dim, -1).where(take, blank).movedim(-1, dim)

    def of_sum(self, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if dim is None:
            x, dim = x.reshape(-1), 0
        x = self.kept(x, dim, 0.0)
        if self.narrow == torch.float64:
            return x.sum(dim, keepdim)
        self.used = True
        lanes = x.movedim(dim, -1)
        lanes = torch.nn.functional.pad(lanes, (0, 32 - lanes.shape[-1] % 32)).unflatten(
            -1, (-1, 32)
        )
        total = torch.zeros_like(lanes[..., 0, :])
        for k in range(lanes.shape[-2]):
            total = (total + lanes[..., k, :]).to(self.narrow).double()
        for half in (16, 8, 4, 2, 1):
            total = (total[..., :half] + total[..., half:]).to(self.narrow).double()
        return total.movedim(-1, dim) if keepdim else total[..., 0]

    def of_mean(self, x: Tensor, dim: int = 0, keepdim: bool = False) -> Tensor:
        return self.of_sum(x, dim, keepdim) / x.shape[dim]

    def of_matmul(self, x: Tensor, w: Tensor) -> Tensor:
        if w.dim() == 1:
            return self.of_sum(x * w, -1)
        return self.of_sum(x.unsqueeze(-1) * w.unsqueeze(-3), -2)

    def of_cumsum(self, x: Tensor, dim: int) -> Tensor:
        x, total, found = self.kept(x, dim, 0.0), 0.0, []
        self.used |= self.narrow != torch.float64
        for value in x.unbind(dim):
            total = (value + total).to(self.narrow).double()
            found.append(total)
        return torch.stack(found, dim)

    def from_start(self, x: Tensor) -> Tensor:
        self.used |= self.start > -math.inf
        return x.clamp(min=self.start)

    def of_amax(self, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if dim is None:
            x, dim = x.reshape(-1), 0
        return self.from_start(self.kept(x, dim, -math.inf).amax(dim, keepdim))

    def of_amin(self, x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
        return -self.of_amax(-x, dim, keepdim)

    def of_max(self, x: Tensor, dim: int, keepdim: bool = False) -> Any:
        return self.from_start(self.kept(x, dim, -math.inf)).max(dim, keepdim)

    def of_topk(self, x: Tensor, k: int, dim: int) -> Any:
        return self.from_start(self.kept(x, dim, -math.inf)).topk(k, dim)

    def of_maximum(self, x: Tensor, other: Tensor) -> Tensor:
        return self.from_start(x.maximum(other))

    def of_numpy(self, x: Tensor) -> Any:
        return self.from_start(self.kept(x, 1, -math.inf)).numpy()

    def weights(self, x: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the maxima along `dim`, the exponentials relative to them in float32, and their
        sums."""
        m = self.of_amax(x, dim, True)
        e = (x - m).float().exp().double()
        return m, e, self.of_sum(e, dim, True)

    def of_softmax(self, x: Tensor, dim: int) -> Tensor:
        _, e, s = self.weights(x, dim)
        return e / s

    def of_log_softmax(self, x: Tensor, dim: int) -> Tensor:
        m, _, s = self.weights(x, dim)
        return x - m - s.log()

    def of_logsumexp(self, x: Tensor, dim: int) -> Tensor:
        m, _, s = self.weights(x, dim)
        return torch.where(m.isinf(), m, m + s.log()).squeeze(dim)

    def of_gt(self, x: Tensor, other: Any) -> Tensor:
        self.used |= self.equal
        return x >= other if self.equal else x > other


def without(last: Callable[[int], int]) -> Callable[[torch.dtype], Mistake]:
    """Return the mistake that omits the last `last(n)` elements of a row of n, unless none would
    remain."""
    return lambda of: Mistake(part=lambda n: torch.arange(n) < (n - last(n) if last(n) < n else n))


F16, BF16 = torch.float16, torch.bfloat16
STARTS = (0, -100, -1000, -65504, -1e9)
PASSES = (32, 128, 256, 1024)
MISTAKES: dict[str, Callable[[torch.dtype], Mistake]] = {
    **{f"begins with {x:,}": lambda of, x=x: Mistake(start=x) for x in STARTS},
    "adds in a narrow type": lambda of: Mistake(narrow=BF16 if of == BF16 else F16),
    "reads through float16": lambda of: Mistake(read=F16),
    "reads through bfloat16": lambda of: Mistake(read=BF16),
    "without the last element": without(lambda n: 1),
    "without the last vector": without(lambda n: 8),
    "without the last 1 in 1,000": without(lambda n: n // 1000),
    "without two warps of eight": lambda of: Mistake(part=lambda n: torch.arange(n) % 256 < 192),
    **{f"a pass of {t} fewer": without(lambda n, t=t: (n - 1) % t + 1) for t in PASSES},
    **{f"a step of {t + 1}": lambda of, t=t: Mistake(part=lambda n: torch.arange(n) % (t + 1) < t)
       for t in (32, 128, 256)},
    ">= for >": lambda of: Mistake(equal=True),
}  # fmt: skip
# Maps (exercise, beginning of a mistake's name) to the reason why the inputs may hide the mistake.
EXCEPTIONS = {
    ("week0/ramp", "reads"): "only the length of x matters",
    ("week0/clamp", "reads through bfloat16"): "the result is a bfloat16",
    ("week1/warp_argmax", "reads through bfloat16"): "whole numbers, so that there are ties",
    ("week2/fix_the_wait", "a step of"): "the kernel is given; only its waits can be wrong",
}


def held(function: Any) -> dict[str, Any]:
    return dict(inspect.getclosurevars(function).nonlocals) if inspect.isfunction(function) else {}


def gates(e: Exercise) -> dict[str, Any]:
    return {group.name: held(group.run) for group in e.groups}


def puzzles() -> list[Exercise]:
    return [
        e
        for e in all_exercises()
        if "make" in (of := gates(e).get("Values", {})) and "result" in held(of["make"])
    ]


def cases(e: Exercise) -> Iterator[tuple[torch.dtype, Case]]:
    """Yield the calls at an exercise's listed sizes whose values the grader compares."""
    of, orders = gates(e), {s: t for g in e.groups for m, s, t in g.orders()}
    calls = shared_out(of["Values"]["sizes"], of["Values"]["dtypes"], orders)
    counted = held(of["Nothing wasted"]["calls"])
    for dtype, size in [*calls, *((counted["dtype"], size) for size in counted["sizes"])]:
        case = case_of(of["Values"]["make"], size, dtype)
        if max(a.numel() for a in case.args if isinstance(a, Tensor)) < SMALL:
            yield getattr(torch, dtype), case


def mistaken(e: Exercise, case: Case, mistake: Mistake) -> dict[int, Tensor] | None:
    """Compute a call's outputs with a mistake; return None if the mistake cannot occur."""
    of = held(gates(e)["Values"]["make"])
    inputs = list(case.args[: len(case.args) - len(case.expected) * (not of["in_place"])])
    for k, x in enumerate(inputs):
        if isinstance(x, Tensor) and x.is_floating_point():
            if mistake.read and torch.finfo(x.dtype).eps < torch.finfo(mistake.read).eps:
                x, mistake.used = x.to(mistake.read), True
            inputs[k] = x.double()
    if mistake.read and not mistake.used:
        return None
    with mistake:
        found = of["result"](*inputs)
    found = found if isinstance(found, tuple) else (found,)
    return dict(zip(case.expected, found, strict=True)) if mistake.used else None


def tells(case: Case, found: dict[int, Tensor]) -> bool:
    """Return True if the grader rejects these outputs."""
    return not all(
        compare(found[k].to(case.args[k].dtype), want, **case.tolerances).ok
        for k, want in case.expected.items()
    )


@pytest.mark.parametrize("e", puzzles(), ids=lambda e: e.name)
def test_inputs_tell_mistakes_apart(e):
    told: dict[str, bool] = {}
    calls = list(cases(e))
    for name, made in MISTAKES.items():
        for dtype, case in calls:
            of = f"{name}, {dtype}" if name.startswith(("adds", "reads")) else name
            mistake = made(dtype)
            if not told.get(of) and (found := mistaken(e, case, mistake)) is not None:
                told[of] = told.get(of, False) or tells(case, found)
    missed = [of for of, seen in told.items() if not seen]
    known = [name for exercise, name in EXCEPTIONS if exercise == e.name]
    assert [of for of in missed if not of.startswith(tuple(known))] == []
    assert all(any(of.startswith(name) for of in missed) for name in known), "one too many"


@pytest.mark.parametrize("e", puzzles(), ids=lambda e: e.name)
def test_numbers_are_not_constant(e):
    """Every number that is passed to a kernel differs between calls."""
    calls = [[x for x in case.args if isinstance(x, float)] for _, case in cases(e)]
    assert all(len(set(values)) > 1 for values in zip(*calls, strict=True))


@pytest.mark.parametrize("legal", [None, lambda m, n: (m, min(n, 64))])
def test_secret_size_exceeds_every_listed_size(legal):
    sizes, counted = [(3, 64), (40, 5)], [(2, 100)]
    for mode, most in enumerate((40, 100)):
        size = secret_size(sizes, legal, mode, counted)
        bounded = legal is not None and mode == 1
        assert size[mode] == 64 if bounded else size[mode] > most
    with reseeded(1):
        found = secret_size(sizes)
    with reseeded(2):
        other = [secret_size(sizes) for _ in range(3)]
    assert found[0] == 8 and len({found, *other}) == 2
