"""Determine which configurations for rows can run and compute correct results for all values."""

from __future__ import annotations

from dataclasses import dataclass

from forgekit.kernels import MOST_THREADS, VECTOR_BYTES, WARP
from forgekit.ops.tile_choice import KERNELS, Op, RowChoice, whole_loads

MOST_ELEMENTS = 64  # per thread in registers, for one operand
MOST_LOADS = 16  # per thread into shared memory
MOST_PARTS = 1024  # per row, added up by a second step


@dataclass(frozen=True)
class RowProblem:
    """Rows for which a configuration is chosen. vector: elements per access. unaligned: True if
    rows do not begin or end at vector boundaries."""

    op: Op
    rows: int
    size: int
    vector: int
    unaligned: bool


def capacity(choice: RowChoice) -> int:
    """Return the number of elements of a row that the row's threads read at a time."""
    return choice.threads * choice.loads * choice.vector * choice.cluster * choice.split


def why_not(choice: RowChoice, problem: RowProblem, clusters: int, shared: int) -> str | None:
    """Return the reason why the configuration cannot serve the rows, or None if it can.

    clusters: the maximum number of blocks per cluster. shared: bytes of shared memory per block.
    """
    c, p = choice, problem
    block = c.threads * c.rows
    several = c.cluster * c.split > 1
    short = c.kernel == "short"
    outside = c.vector - 1 if c.unaligned else 0  # elements of a row outside its vectors
    elements = c.loads * c.vector * c.turns
    rules = {
        "kernel of another operator": c.kernel in KERNELS[p.op],
        "other accesses": (c.vector, c.unaligned) == (p.vector, p.unaligned),
        "threads neither whole warps nor a power of two": 0 in (c.threads % WARP, WARP % c.threads),
        "a block without whole warps": block % WARP == 0 or c.rows == 1,
        "too many threads": block <= MOST_THREADS,
        "too few threads for unaligned rows": not c.unaligned or c.threads >= 2 * c.vector,
        "too many blocks in a cluster": c.cluster <= clusters,
        "cluster size not a power of two": c.cluster & (c.cluster - 1) == 0,
        "several blocks per row, and several rows per block": not several or c.rows == 1,
        "several blocks per row, and no whole warps": not several or c.threads % WARP == 0,
        "several turns, and no short rows of a warp": c.turns == 1 or (short and c.threads <= WARP),
        "short rows of several blocks, or unaligned": not (short and (several or c.unaligned)),
        "parts for a kernel without a second step": c.split == 1 or c.kernel in ("sum", "split"),
        "too many parts": c.split <= MOST_PARTS,
        "parts and a cluster": c.split == 1 or c.cluster == 1,
        "rows too long": c.kernel in ("sum", "streaming", "split")
        or capacity(c) >= p.size - outside,
        "more whole loads than loads": c.whole <= whole_loads(c, p.size),
        "too many elements per thread": c.kernel == "shared" or elements <= MOST_ELEMENTS,
        "too many loads": c.kernel != "shared" or c.loads <= MOST_LOADS,
        "shared memory needs whole vectors": c.kernel != "shared"
        or (c.vector > 1 and not c.unaligned),
        "too much shared memory": shared_bytes(c) <= shared,
    }
    return next((why for why, kept in rules.items() if not kept), None)


def shared_bytes(choice: RowChoice) -> int:
    """Return the bytes of shared memory per block: the block's part of the rows, and the values
    that its warps exchange."""
    c = choice
    exchanged = 8 * c.rows * -(-c.threads // WARP) * c.cluster + 16
    staged = c.threads * c.rows * c.loads * VECTOR_BYTES if c.kernel == "shared" else 0
    return staged + exchanged
