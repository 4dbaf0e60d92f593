"""Provide calls, gates and likely mistakes for the exercises in 07, 08 and 09."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import forgekit as fk
from forgekit.compiling.specs import TensorSpec
from forgekit.lessons.gates import (
    Case,
    Counter,
    Evidence,
    GateError,
    Group,
    Misconception,
    counted,
    counters,
    found,
    looks_like,
)

if TYPE_CHECKING:
    from forgekit.lessons.gates import Submission

__all__ = [
    "WORDS",
    "Places",
    "case", "conflicts", "layout_in_a_branch", "left_by", "mistakes", "predicate_mistakes",
    "race_mistakes", "read_whole", "rest_is_right",
    "sectors", "still_coalesced", "through_shared",
]  # fmt: skip

WORDS = ("float32", "float16")


def case(m: int, n: int, dtype: torch.dtype, *, multiple: int = 1) -> Case:
    """Return one transpose of an m × n matrix. multiple: the promised divisor of both sizes."""
    x = fk.randn(m, n, dtype=torch.float32, device="virtual")
    # beyond what float16 represents, so that no type passes through it unnoticed
    x = (x * {torch.int16: 5000, torch.bfloat16: 1e6}.get(dtype, 100)).to(dtype)
    if dtype == torch.int32:
        x += x << 22  # beyond what float32 represents
    y = fk.empty(n, m, dtype=dtype, device="virtual")
    # Written out, because the strides of a matrix with one row or column do not show which is
    # which.
    promised = {0: multiple, 1: multiple} if multiple > 1 else {}
    row_major = TensorSpec(dtype, (None, None), align=16, divisible=promised)
    called = str(dtype).removeprefix("torch.")
    return Case((x, y), {1: x.T.contiguous()}, f"{m}×{n} {called}", {0: row_major, 1: row_major})


_ORIGIN = (
    "each tile is transposed, but the kernel stores it in the wrong place. In mY, the origin of "
    "the columns comes first: mY[col0 + …, row0 + …]."
)
_STORE_PREDICATE = (
    "the store's predicate must test the element that the thread *stores*, not the one that it "
    "loaded. Its row in mY must be less than N, and its column less than M."
)


_STORE_BOUNDS = (
    "the store's index is correct, but threads store elements that do not exist. Check the element "
    "of mY that the thread stores: row < N and column < M."
)


# -- threads outside of a matrix ------------------------------------------------------------------
@dataclass(frozen=True)
class Places:
    """The positions of a call's threads: the origins of their tiles and their indices in blocks.

    M, N: sizes of mX; batch: the number of the matrix. The arrays have one element per thread.
    """

    M: int
    N: int
    batch: np.ndarray
    row0: np.ndarray
    col0: np.ndarray
    tx: np.ndarray
    ty: np.ndarray


def left_by(
    tensor: str,
    element: Callable[[Places], Iterator[np.ndarray]],
    says: str,
    *,
    tile: tuple[int, int] = (32, 32),
    block: tuple[int, int] = (32, 8),
) -> Misconception:
    """Recognise threads that access elements beyond `tensor`, each at the element of its index: the
    index is correct, but the predicate admits too many threads.

    element: maps the positions to the element's number, for each access of a thread. tile: rows and
    columns of mX. block: threads along x and y.
    """

    def when(e: Evidence) -> bool:
        assert e.error is not None
        o = e.error.overrun
        if o is None or o.tensor != tensor or not len(o.threads):
            return False
        m, n = e.case.args[0].shape[-2:]
        down, across = -(-m // tile[0]), -(-n // tile[1])
        at, inside = np.divmod(o.threads, block[0] * block[1])
        places = Places(
            m, n, at // across // down, at // across % down * tile[0], at % across * tile[1],
            inside % block[0], inside // block[0],
        )  # fmt: skip
        return any(np.array_equal(number, o.numbers) for number in element(places))

    return Misconception(says, when)


def _of_load(p: Places, tile: tuple[int, int]) -> Iterator[np.ndarray]:
    for k in range(0, tile[0], 8):
        for c in range(0, tile[1], 32):
            yield (p.batch * p.M + p.row0 + p.ty + k) * p.N + p.col0 + p.tx + c


def _of_store(p: Places, tile: tuple[int, int]) -> Iterator[np.ndarray]:
    for k in range(0, tile[1], 8):
        yield (p.batch * p.N + p.col0 + p.ty + k) * p.M + p.row0 + p.tx


# -- mistakes -----------------------------------------------------------------------------------
def rest_is_right(e: Evidence) -> bool:
    """Return True if all wrong elements are elements that no thread stored."""
    got, want = e.got[1], e.case.expected[1]
    written = e.never.logical_not()
    return bool(e.never.any() and written.any() and torch.equal(got[written], want[written]))


def mistakes(height: int, width: int) -> list[Misconception]:
    """Return misconceptions about wrong values; a block's tile of mX has `height` rows and `width`
    columns."""

    def in_tiles(x: torch.Tensor, turned: bool) -> torch.Tensor:
        """Return x with its tiles transposed in place (turned), or with the unchanged tiles at each
        other's positions."""
        pieces = [list(rows.split(width, 1)) for rows in x.split(height, 0)]
        inside = [[t.T if turned else t for t in row] for row in pieces]
        order = inside if turned else [list(column) for column in zip(*inside, strict=True)]
        return torch.cat([torch.cat(row, 1) for row in order], 0)

    def with_the_loads_predicate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the result if the store uses the load's predicate."""
        m, n = x.shape
        r, c = torch.arange(n)[:, None], torch.arange(m)[None]
        row = c // height * height + r % width
        column = r // width * width + c % height
        return torch.where((row < m) & (column < n), x.T, float("nan"))

    def sizes_exchanged(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the result if only rows below M and columns below N are stored."""
        m, n = x.shape
        r, c = torch.arange(n)[:, None], torch.arange(m)[None]
        return torch.where((r < m) & (c < n), x.T, float("nan"))

    def never_written(e: Evidence, rows: slice, columns: slice) -> bool:
        """Return True if no thread stores exactly these elements of the first tile."""
        missing = e.never[:width, :width]
        there = torch.zeros_like(missing)
        there[rows, columns] = True
        return width > height and torch.equal(missing, there)

    half, whole = slice(height, width), slice(None)
    return [
        looks_like(lambda x, y: x, "the result is x itself, as after two transposes or none."),
        Misconception(
            f"the kernel writes only {height} of the {width} rows that a tile has in mY.",
            lambda e: never_written(e, half, whole),
        ),
        Misconception(_ORIGIN, lambda e: never_written(e, whole, half) and not rest_is_right(e)),
        looks_like(
            sizes_exchanged,
            "the kernel stores exactly the elements in the first M rows and N columns of mY, but "
            "mY has N rows and M columns. Are M and N swapped in the store's predicate or in the grid?",
            unstored=True,
        ),
        looks_like(with_the_loads_predicate, _STORE_PREDICATE, unstored=True),
        looks_like(
            lambda x, y: in_tiles(x, turned=False),
            "the tiles have changed places, but nothing is transposed inside them. The "
            "index that selects the row in mY must select the column in sX.",
        ),
        looks_like(
            lambda x, y: in_tiles(x, turned=True),
            _ORIGIN,
        ),
        Misconception(
            f"the second loop reads outside the tile, which has {height} rows and {width} columns. "
            "Which of `tx` and `ty + k` selects a row of the tile now?",
            lambda e: "out-of-bounds" in e.kinds and " reads " in e.text and "shared-m" in e.text,
        ),
        *predicate_mistakes(height, width),
        *race_mistakes(),
        Misconception(
            "every written element is correct, but some elements are never written. Which of them do "
            "the grid, the rounds `k` of the second loop and its predicate leave out?",
            rest_is_right,
        ),
    ]


def predicate_mistakes(height: int, width: int) -> list[Misconception]:
    """Return misconceptions about out-of-bounds accesses, in a kernel of 32 × 8 threads that moves
    one element at a time."""
    tile = (height, width)
    return [
        left_by(
            "mX",
            functools.partial(_of_load, tile=tile),
            "the load's index is correct, but threads load elements that do not exist. "
            "Check the element of mX that the thread reads: row < M and column < N.",
            tile=tile,
        ),
        left_by("mY", functools.partial(_of_store, tile=tile), _STORE_BOUNDS, tile=tile),
    ]


def race_mistakes() -> list[Misconception]:
    return [
        found(
            "divergent-barrier",
            "not all threads of the block reach the barrier. Move it to where all of them pass.",
        ),
        Misconception(
            "a thread may load before others have stored. Put "
            "cute.arch.sync_threads() between the store to sX and the load from it.",
            lambda e: "shared-race" in e.kinds and " reads shared memory" in e.text,
        ),
        found(
            "uninitialised-shared",
            "a thread reads an element of the tile that no thread has stored. Compare the "
            "elements that the two loops cover, and their predicates.",
        ),
    ]


def layout_in_a_branch(gate: Group) -> Group:
    """Return the gate, which also explains a layout chosen in an `if` that is not `const_expr`."""

    def run(submission: Submission) -> str:
        try:
            return gate.run(submission)
        except GateError as failure:
            text = failure.happened
            if "does not compile" in text and "layout_s" in text and "branch" in text:
                # The general remedy is about numbers, and would be misleading here.
                parts = text.split("\n\n")
                failure.happened = "\n\n".join(p for p in parts if not p.startswith("Remedy:"))
                failure.likely = (
                    "an `if` chooses the layout at run time, but the compiler knows the width: "
                    "`if cutlass.const_expr(mX.element_type.width == 32):`"
                )
            raise

    return Group(gate.name, run)


# -- gates --------------------------------------------------------------------------------------
def sectors(kind: str, m: int, n: int, bits: int, **more: Any) -> Counter:
    """Count all sectors of `global_load` or `global_store`: at most the number in the matrix.

    The gate uses the total, not the average per request, because the total includes repeated moves
    and allows 16-byte accesses, whose requests have 16 sectors.
    """
    least = m * n * bits // 8 // 32
    verb = {"global_load": "loaded", "global_store": "stored"}[kind]
    more["misconceptions"] = [
        *more.get("misconceptions", ()),
        counted(
            lambda p: p[f"{kind}_bytes_asked"] > m * n * bits // 8,
            f"some elements are {verb} more than once.",
        ),
    ]
    return Counter(f"{kind}_sectors", f"sectors {verb}", at_most=least, ideal=least, **more)


def conflicts(
    size: tuple[int, int], dtype: str, misconceptions: list[Misconception], name: str
) -> Group:
    """Return a gate against bank conflicts on loads and on stores; misconceptions: those about the
    loads."""
    stores = [
        counted(
            lambda p: True,
            "the conflict occurs where the kernel *stores* to the tile. There, the 32 lanes of a "
            "warp also need 32 different banks.",
        )
    ]
    gates = [
        Counter(
            f"shared_{kind}_bank_conflicts", f"bank conflicts on shared {kind}s", at_most=0,
            ideal=0, misconceptions=of, look_at=f"fk.banks(*{{failed}}, kind='{kind}')",
        )
        for kind, of in (("load", misconceptions), ("store", stores))
    ]  # fmt: skip
    return counters(case, size, gates, dtype, name=name)


def through_shared(size_bytes: int) -> list[Counter]:
    """Return counters that require every element to pass through shared memory."""

    def says(kind: str) -> str:
        lacks = {"store": "uses no shared memory", "load": "reads nothing from shared memory"}[kind]
        return (
            f"there is no bank conflict because the kernel {lacks}. Transpose the tile in shared "
            "memory."
        )

    return [
        Counter(
            f"shared_{kind}_bytes_asked", f"bytes {verb} shared memory", at_least=size_bytes,
            misconceptions=[counted(lambda p, kind=kind: not p[f"shared_{kind}_requests"], says(kind))],
            look_at="Every element goes from mX to sX, and from sX to mY.",
        )
        for kind, verb in (("store", "written to"), ("load", "read from"))
    ]  # fmt: skip


def read_whole(m: int, n: int) -> list[Counter]:
    """Return counters that reject serving lanes one after another: one wavefront per 32
    elements."""
    few, size = m * n // 32, 4 * m * n
    turns = (
        "the lanes of a warp take turns, which avoids conflicts but takes just as many wavefronts. "
        "Let all 32 lanes access shared memory together."
    )

    def asked(kind: str, factor: int) -> Callable[[Any], bool]:
        return lambda p: (p[f"shared_{kind}_bytes_asked"] > size) == (factor > 1)

    return [
        Counter(
            f"shared_{kind}_wavefronts", f"wavefronts of shared {kind}s", at_most=few, ideal=few,
            misconceptions=[
                counted(asked(kind, 2), f"the kernel makes more than one {kind} of shared memory per element, but one is enough."),
                counted(asked(kind, 1), turns),
            ],
            look_at="fk.profile(*{failed})",
        )
        for kind in ("store", "load")
    ]  # fmt: skip


def still_coalesced(m: int, n: int) -> Group:
    """Return the gate that rejects a kernel without conflicts for the wrong reason: it requires
    whole sectors on both sides, and all elements to pass through the tile."""
    strided = (
        "there is no conflict because the kernel reads the tile along its rows, but now the store "
        "is strided and has 32 sectors per request. Read the columns of sX."
    )
    gates = [
        *through_shared(4 * m * n),
        *read_whole(m, n),
        sectors("global_load", m, n, 32, look_at="fk.coalescing(*{failed}, kind='load')"),
        sectors(
            "global_store", m, n, 32,
            misconceptions=[counted(lambda p: p.global_store_sectors_per_request > 31, strided)],
            look_at="fk.coalescing(*{failed}, kind='store')",
        ),
    ]  # fmt: skip
    return counters(case, (m, n), gates, name="Still coalesced, still through shared memory")
