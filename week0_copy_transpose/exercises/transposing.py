"""What the exercises of 05_transpose share: calls, gates, and mistakes one can make in all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

import forgekit as fk
from forgekit.compiling.specs import TensorSpec
from forgekit.lessons.gates import (
    Case,
    Counter,
    GateError,
    Group,
    Slip,
    counted,
    counters,
    found,
    hinted,
    looks_like,
)
from forgekit.lessons.gates.failure import Evidence

if TYPE_CHECKING:
    from forgekit.lessons.gates import Submission

__all__ = [
    "WORDS",
    "case",
    "layout_in_a_branch",
    "mistakes",
    "paste",
    "read_whole",
    "sectors",
    "still_coalesced",
    "through_shared",
]

WORDS = ("float32", "float16")


def paste(entry: str, m: int, n: int, picture: str) -> str:
    """Two lines for a student's cell: a call of `entry` and a picture of it, such as
    "footprint(…, tensor='mY')"; the dots become the call."""
    call = f"fk.compile({entry}, x, y), x, y"
    tensors = f"x, y = fk.randn({m}, {n}), fk.empty({n}, {m});"
    return f"Paste this:\n{tensors}\nfk.{picture.replace('…', call)}"


def case(m: int, n: int, dtype: torch.dtype, *, multiple: int = 1) -> Case:
    """One transpose of an m × n matrix. multiple: what both sizes are promised to be multiples
    of."""
    x = fk.randn(m, n, dtype=torch.float32, device="virtual")
    x = (100 * x).to(dtype)  # of an integer type, too
    y = fk.empty(n, m, dtype=dtype, device="virtual")
    # Written out: of a matrix with one row or column the strides would not tell which is which.
    promised = {0: multiple, 1: multiple} if multiple > 1 else {}
    row_major = TensorSpec(dtype, (None, None), align=16, divisible=promised)
    called = str(dtype).removeprefix("torch.")
    return Case((x, y), {1: x.T.contiguous()}, f"{m}×{n} {called}", {0: row_major, 1: row_major})


_ORIGIN = (
    "each tile is turned, but it does not go where it belongs: in mY the columns' origin comes "
    "first, mY[col0 + …, row0 + …]."
)
_STORE_PREDICATE = (
    "the store needs a predicate of its own: the thread writes another element than the one it "
    "loaded, so ask about *that* row (below N) and *that* column (below M) of mY."
)


# -- mistakes -----------------------------------------------------------------------------------
def mistakes(height: int, width: int) -> list[Slip]:
    """Slips of wrong values; a block's tile of mX has `height` rows and `width` columns."""

    def in_tiles(x: torch.Tensor, turned: bool) -> torch.Tensor:
        """The tiles of x in their places (turned) or in each other's, inside as they were."""
        pieces = [list(rows.split(width, 1)) for rows in x.split(height, 0)]
        inside = [[t.T if turned else t for t in row] for row in pieces]
        order = inside if turned else [list(column) for column in zip(*inside, strict=True)]
        return torch.cat([torch.cat(row, 1) for row in order], 0)

    def with_the_loads_predicate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Stored only where the load's predicate, asked of the store's rounds, is true."""
        m, n = x.shape
        r, c = torch.arange(n)[:, None], torch.arange(m)[None]
        row = c // height * height + r % width
        column = r // width * width + c % height
        return torch.where((row < m) & (column < n), x.T, float("nan"))

    def sizes_exchanged(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Stored only where the row is below M and the column below N."""
        m, n = x.shape
        r, c = torch.arange(n)[:, None], torch.arange(m)[None]
        return torch.where((r < m) & (c < n), x.T, float("nan"))

    def never_written(e: Evidence, rows: slice, columns: slice) -> bool:
        """Of the first tile, in a type that has NaN: these are missing, and no others."""
        assert e.got is not None
        missing = e.got[1][:width, :width].isnan()
        there = torch.zeros_like(missing)
        there[rows, columns] = True
        return width > height and torch.equal(missing, there)

    half, whole = slice(height, width), slice(None)
    return [
        looks_like(lambda x, y: x, "turned twice, or not at all: the result is x itself."),
        Slip(
            f"only {height} of the {width} rows that a tile has in mY are ever written.",
            lambda e: never_written(e, half, whole),
        ),
        Slip(_ORIGIN, lambda e: never_written(e, whole, half)),
        looks_like(
            sizes_exchanged,
            "M and N are exchanged in the store's predicate: mY has N rows and M columns.",
        ),
        looks_like(with_the_loads_predicate, _STORE_PREDICATE),
        looks_like(
            lambda x, y: in_tiles(x, turned=False),
            "the tiles have changed places, but inside each tile nothing is turned: the store has "
            "to read column numbers of sX where it writes row numbers of mY.",
        ),
        looks_like(
            lambda x, y: in_tiles(x, turned=True),
            _ORIGIN,
        ),
        Slip(
            "the second loop reads outside of the tile: `tx` is the row of sX now, "
            "`sX[tx, ty + k]`.",
            lambda e: "out-of-bounds" in e.kinds and " reads " in e.text and "shared-m" in e.text,
        ),
        found(
            "out-of-bounds",
            "a thread loads what does not exist: the load of mX needs its own predicate, row < M "
            "and column < N of the element that it reads.",
            text="mX[",
        ),
        found(
            "out-of-bounds",
            _STORE_PREDICATE,
            text="mY[",
        ),
        hinted(
            "every wrong element is NaN",
            "what is written is right, and some elements are never written: which rows do the "
            "rounds `k` of the second loop reach, and what does its predicate leave out?",
        ),
    ]


def race_mistakes() -> list[Slip]:
    return [
        found(
            "shared-race",
            "nothing makes a thread wait until the others have stored: between the store to sX "
            "and the load from it belongs cute.arch.sync_threads().",
        ),
        found(
            "divergent-barrier",
            "the barrier stands where not all threads of the block come by; take it out of the if.",
        ),
        found(
            "uninitialised-shared",
            "an element of the tile is read that no thread has stored: compare what the two loops "
            "cover, and their predicates.",
        ),
        found(
            "out-of-bounds",
            "the kernel reaches outside the tensor or the tile; look at sizes that are no multiple "
            "of the tile.",
        ),
    ]


def layout_in_a_branch(gate: Group) -> Group:
    """The gate, which also knows the layout chosen in an `if` that is not `const_expr`."""

    def run(handed_in: Submission) -> str:
        try:
            return gate.run(handed_in)
        except GateError as failure:
            text = failure.happened
            if "does not compile" in text and "layout_s" in text and "branch" in text:
                # The general remedy is for numbers, and would lead away from what is meant here.
                parts = text.split("\n\n")
                failure.happened = "\n\n".join(p for p in parts if not p.startswith("Remedy:"))
                failure.likely = (
                    "the layout is chosen in an `if` of run time. But the width is known at "
                    "compile time: `if cutlass.const_expr(mX.element_type.width == 32):`"
                )
            raise

    return Group(gate.name, run)


# -- gates --------------------------------------------------------------------------------------
def size_bytes(profile: Any) -> int:
    """Bytes of the matrix that a profiled call transposes."""
    x = profile.call[1][0]
    return int(x.numel() * x.element_size())


def sectors(kind: str, m: int, n: int, bits: int, **more: Any) -> Counter:
    """All sectors of `global_load` or `global_store`, which may not be more than the matrix has.

    The total, not the average of a request: it counts what is moved twice, and lets 16-byte
    accesses pass, whose requests have 16 sectors.
    """
    least = m * n * bits // 8 // 32
    verb = {"global_load": "loaded", "global_store": "stored"}[kind]
    return Counter(f"{kind}_sectors", f"sectors {verb}", at_most=least, ideal=least, **more)


def _least_asked(kind: str, says: str, look_at: str) -> Counter:
    """Every element goes through shared memory: the bytes asked, as a share of the matrix."""

    def share(profile: Any) -> float:
        return float(100 * profile[f"{kind}_bytes_asked"] / size_bytes(profile))

    verb = {"shared_load": "read from", "shared_store": "written to"}[kind]
    called = f"percent of the matrix {verb} shared memory"
    slips = [counted(lambda p: not p[f"{kind}_requests"], says)]
    return Counter(share, called, at_least=100, slips=slips, look_at=look_at)


def through_shared() -> list[Counter]:
    """Every element is stored to shared memory and loaded from it."""
    says = (
        "no bank conflict, because no shared memory: the conflicts are gone with what they were "
        "conflicts of. Here the tile is to be turned in shared memory."
    )
    look_at = "Every element goes from mX to sX, and from sX to mY."
    return [_least_asked(kind, says, look_at) for kind in ("shared_store", "shared_load")]


def read_whole(m: int, n: int) -> list[Counter]:
    """No warp takes its lanes one by one: as few wavefronts as one element a lane needs."""
    says = (
        "the lanes of a warp take turns: no conflict, and as many wavefronts as with one. All 32 "
        "lanes are to access shared memory together."
    )
    few = m * n // 32
    return [
        Counter(f"shared_{kind}_wavefronts", f"wavefronts of shared {kind}s", at_most=few,
                ideal=few, slips=[counted(lambda p: True, says)])
        for kind in ("store", "load")
    ]  # fmt: skip


def still_coalesced(entry: str, m: int, n: int) -> Group:
    """No conflict for the wrong reason: whole sectors on both sides, and all through the tile."""
    strided = (
        "no conflict, because the tile is read along its rows; in exchange the store is strided, "
        "32 sectors a request. It is the columns of sX that have to be read."
    )
    gates = [
        *through_shared(),
        *read_whole(m, n),
        sectors("global_load", m, n, 32, look_at="The load is the skeleton's: keep it."),
        sectors(
            "global_store", m, n, 32,
            slips=[counted(lambda p: p.global_store_sectors_per_request > 31, strided)],
            look_at=paste(entry, m, n, "coalescing(…, kind='store')"),
        ),
    ]  # fmt: skip
    return counters(case, (m, n), gates, name="Still coalesced, still through shared memory")


def of_both(name: str) -> Callable[[Any], float]:
    """A metric of shared loads and stores together, such as `bank_conflicts`."""
    return functools.partial(_of_both, name)


def _of_both(name: str, profile: Any) -> float:
    return float(profile[f"shared_load_{name}"] + profile[f"shared_store_{name}"])
