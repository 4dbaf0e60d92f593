"""Exercise week0/vector_copy: 16 bytes per thread, and the elements that are left over."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    Counter,
    Evidence,
    Misconception,
    clean,
    counted,
    counters,
    economical,
    large_calls,
    looks_like,
    values,
)
from forgekit.lessons.gates.asked import FACTS
from forgekit.tensors import shifted

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile

__all__ = ["EXERCISE"]

_SIZE = 4099  # whole vectors and three elements more, in every type


def _case(n: int, dtype: torch.dtype) -> Case:
    x = fk.arange(n, dtype=torch.float32, device="virtual")
    x = (x + shifted(0) % 251) % 251 + 1  # exact in 16 bits; nearby elements differ
    if n > 1023:  # exact in this type alone
        x = {torch.float32: x + 2**-12, torch.float16: x + 2**-3}.get(dtype, x * 2**17)
    x = x.to(dtype)
    return Case((x, fk.empty(n, dtype=dtype, device="virtual")), {1: x.clone()}, _label(n, dtype))


def _label(n: int, dtype: torch.dtype) -> str:
    return f"{n} element{'s' * (n != 1)} of {str(dtype).removeprefix('torch.')}"


def _vec(x: torch.Tensor) -> int:
    return 16 // x.element_size()


def _whole_vectors(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = x.clone()
    want[len(x) // _vec(x) * _vec(x) :] = float("nan")
    return want


def _first_of_the_rest(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = _whole_vectors(x, y)
    rest = len(x) // _vec(x) * _vec(x)
    want[rest : rest + 1] = x[rest : rest + 1]
    return want


def _rest_from_the_front(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = x.clone()
    whole = len(x) // _vec(x)
    want[whole * _vec(x) :] = x[whole : whole + len(x) % _vec(x)]
    return want


def _hangs_over(e: Evidence) -> bool:
    o = e.error.overrun if e.error else None
    return (
        o is not None and o.width > 1 and bool(((o.numbers >= 0) & (o.numbers < o.elements)).all())
    )


def _of_the_rest(e: Evidence) -> bool:
    o = e.error.overrun if e.error else None
    return o is not None and o.width == 1


def _gate(kind: str, width: int, requests: int) -> Counter:
    """Return the gate for elements of `width` bytes. requests: the minimum number."""
    scalar = "each element has its own instruction. Load and store a whole vector under one "
    scalar += "predicate."
    half = "these vectors have half the width. The number of elements in 16 bytes depends on "
    half += "the type and is not always 4."
    return Counter(
        measure=f"global_{kind}_requests",
        called=f"{kind} requests",
        at_most=requests * 5 // 4,
        ideal=requests,
        misconceptions=[
            counted(lambda p: FACTS[f"{kind}_bytes"].measure(p) < 1.2 * width, scalar),
            counted(
                lambda p: (
                    p[f"global_{kind}_bytes_asked"] > 1.2 * _SIZE * width
                    and _bytes_a_lane(p, kind) < 10
                ),
                "every thread copies the remaining elements. One thread should copy each of them; "
                "let `i` select that thread.",
            ),
            counted(lambda p: FACTS[f"{kind}_bytes"].measure(p) < 10, half),
            counted(
                lambda p: p[f"global_{kind}_bytes_asked"] > 1.2 * _SIZE * width,
                "more than one thread copies the same element.",
            ),
        ],
    )


def _gates(width: int, requests: int) -> list[Counter]:
    return [_gate(kind, width, requests) for kind in ("load", "store")]


def _bytes_a_lane(p: Profile, kind: str) -> float:
    return p[f"global_{kind}_bytes_asked"] / p[f"global_{kind}_requests"] / 32


def _all_in_vectors(kind: str) -> Counter:
    """Return the gate for 125 vectors of float32 and three elements more."""
    ideal = (2000 * 16 + 12 * 4) / 2012
    says = f"some whole vectors take more than one {kind}."
    return Counter(
        FACTS[f"{kind}_bytes"].measure, f"bytes per {kind} (mean, weighted by bytes)",
        at_least=ideal - 0.01, ideal=ideal,
        misconceptions=[counted(lambda p: p[f"global_{kind}_bytes_asked"] == 2012, says)],
    )  # fmt: skip


def _once(kind: str) -> Counter:
    says = "every block copies the remaining elements, but only one block should. Which index decides that, "
    rest = 2 * (_SIZE % 8)  # bytes

    def in_every_block(p: Profile) -> bool:
        extra = p[f"global_{kind}_bytes_asked"] - 2 * _SIZE
        return bool(extra == rest * (math.prod(p.launches[0].grid) - 1))

    return Counter(
        measure=f"global_{kind}_bytes_asked",
        called=f"bytes that threads {kind}",
        at_most=2 * _SIZE,
        ideal=2 * _SIZE,
        misconceptions=[counted(in_every_block, says + "`i` or `tidx`?")],
    )


EXERCISE = Exercise(
    title="copy vectors and the remaining elements",
    task="""
Fix `copy_vectors` for *every* length, in `float32`, `float16` and `bfloat16`. A vector is 16 bytes,
which is 4 elements of `float32` or 8 of a 16-bit type. Let one thread copy each whole vector with one load and one store. Copy
the elements after the last whole vector, at most 7, as well. Signature: `vector_copy(x, y)`.
""",
    hints=(
        "How many *whole* vectors do `n` elements contain, and how many elements remain? Python "
        "has an operator for each of these numbers, and both operators work in a kernel.",
        "Use two predicates, one after the other. Threads whose `i` is less than the number of "
        "whole vectors copy a vector. Threads whose `i` is less than the number of remaining "
        "elements copy one element. A few threads do both.",
        "The first predicate compares `i` with a number of *vectors*, and the second compares it "
        "with a number of *elements*. The second `if` copies `mX[…]` to `mY[…]`. How many "
        "elements come before the first remaining one?",
    ),
    analysis="""
The first threads of block 0 copy the remaining elements after their vectors. Any other threads
could do so, as long as one thread copies each element. With `tidx` in place of `i`, the threads of
every block would copy them. Production kernels often use one predicate per element in the last tile
instead, which costs just as little, because an array has only one last tile.
""",
    entry="vector_copy",
    groups=(
        values(
            _case,
            sizes=[(16,), (1000,), (1005,), (1,), (3,), (1023,)],
            dtypes=("float32", "float16", "bfloat16"),
            misconceptions=[
                Misconception("the last vector extends past the end. The predicate must count whole vectors, "
                     "which have 4 elements of float32, or 8 of a 16-bit type; `zipped_divide` rounds "
                     "their number up.", _hangs_over),
                Misconception("the first remaining element has index n // vec * vec, and there are n % vec "
                     "of them.", _of_the_rest),
                looks_like(_rest_from_the_front, "the remaining elements hold those that begin at element n // vec of x. n // vec counts vectors, but the index counts elements."),
                looks_like(_whole_vectors, "no thread stores the elements after the last whole vector. In both tensors, the first of them is number n // vec * vec.", unstored=True),
                looks_like(_first_of_the_rest, "only the first of the remaining elements is stored. Does each of the others have a thread?", unstored=True),
            ],
            drawn=3,
            look_at="fk.footprint(*{failed}, by='thread', tensor='mY')  # which thread copies which element?",
        ),
        clean(_case, sizes=[(1005,)]),
        counters(_case, (_SIZE,), _gates(4, 33), name="16 bytes at once"),
        counters(_case, (503,), [_all_in_vectors("load"), _all_in_vectors("store")], name="Whole vectors"),
        *(
            counters(_case, (_SIZE,), _gates(2, 17), dtype, name=f"16 bytes at once, {dtype}")
            for dtype in ("float16", "bfloat16")
        ),
        counters(
            _case, (_SIZE,), [_once("load"), _once("store")], "float16", name="No element twice"
        ),
        economical(_case, [(16,), (100_003,)], waste={"threads": 1}),
        large_calls(_case, [(1,)]),
    ),
    praise="The kernel copies whole vectors and misses no element.",
)  # fmt: skip
