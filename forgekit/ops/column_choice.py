"""Which configuration serves which columns, and why: the one place where it is decided.

Chosen on one H200 on 2026-11-21; `book/measured/tiles_h200.json` holds the last runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forgekit.kernels import WARP
from forgekit.ops.tile_choice import SMS, Op, power_below


@dataclass(frozen=True)
class ColumnChoice:
    """The fields of a `ColumnTile`, and how many blocks share a column: those of a cluster, and
    parts that a second kernel adds up."""

    lanes: int
    rows: int
    loads: int
    vector: int
    once: bool = False
    cluster: int = 1
    split: int = 1


@dataclass(frozen=True)
class Columns:
    """What a rule for columns goes by: matrices (size, columns), reduced over their rows.

    wide: blocks side by side over all of them, of 32 vectors; tiles: of 64 columns, or of a warp
    where vectors are single elements.
    """

    sums: bool
    size: int
    wide: int
    tiles: int


@dataclass(frozen=True)
class ColumnRule:
    """when: whether it serves such columns; the first rule that does is taken. columns: of a block,
    at most; lanes: instead, threads side by side. threads: of a block, at most; those below each
    other follow; 0 for one. shared: other blocks help with the same columns, if it is a sum. why:
    what was seen, of sums above all."""

    when: Callable[[Columns], bool]
    threads: int
    why: str
    columns: int = 0
    lanes: int = 0
    shared: bool = False


# fmt: off
COLUMNS = (
    ColumnRule(lambda c: c.size <= 8, 0, "a thread has its columns to itself", lanes=128),
    ColumnRule(lambda c: c.sums and c.wide >= 6 * SMS, 256,
               "blocks for all SMs side by side: nobody else has to help", lanes=32),
    ColumnRule(lambda c: c.sums and c.wide >= 3 * SMS, 512,
               "half as many blocks, so twice the threads of each", lanes=32),
    ColumnRule(lambda c: c.sums and (c.size <= 128 or (c.size <= 1024 and c.tiles < 2 * SMS)), 512,
               "little to do: all threads that there are, and one step", columns=16),
    ColumnRule(lambda c: c.tiles * 8 >= 2 * SMS, 256,
               "the blocks of clusters fill all SMs", columns=64, shared=True),
    ColumnRule(lambda c: True, 512,
               "too few even so: more threads a block", columns=64, shared=True),
)
# fmt: on


def choose_columns(
    op: Op, outer: int, size: int, inner: int, vector: int, clusters: int
) -> ColumnChoice:
    """The configuration for `outer` matrices of `size` rows and `inner` columns, reduced over rows.

    vector, clusters: as in `choose_rows`. A softmax needs all rows of a column in one block.
    """
    side_by_side = -(-inner // vector)
    most = 1 << (side_by_side - 1).bit_length()
    tile = min(_lanes(64, vector), most)
    wide, tiles = (outer * -(-side_by_side // lanes) for lanes in (32, tile))
    about = Columns(op == "sum", size, wide, tiles)
    rule = next(rule for rule in COLUMNS if rule.when(about))
    if not rule.threads:
        return ColumnChoice(min(rule.lanes, max(WARP, most)), 1, _below(size, 8), vector, once=True)
    lanes = rule.lanes or min(_lanes(rule.columns, vector), most)
    rows = _below(-(-size // 4), rule.threads // lanes)
    if op != "sum":
        loads = 8 if rows * 4 < size <= rows * 8 and op == "softmax" else 4
        return ColumnChoice(lanes, rows, loads, vector, once=size <= rows * loads)
    cluster, split = _helpers(about, rows, clusters) if rule.shared else (1, 1)
    return ColumnChoice(lanes, rows, 4, vector, cluster=cluster, split=split)


def _lanes(columns: int, vector: int) -> int:
    """Threads side by side for so many columns: 4 at least, a warp at most."""
    return max(4, columns // vector) if vector > 1 else min(WARP, columns)


def _helpers(about: Columns, rows: int, clusters: int) -> tuple[int, int]:
    """Blocks that share columns, until there are 4 for each SM: those of a cluster; or, where 8 of
    them are too few by far, parts for a second kernel to add up."""
    wanted = power_below(min(4 * SMS // about.tiles, about.size // (rows * 4)), 256)
    if wanted <= min(clusters, 8):
        return wanted, 1
    if clusters > 1 and about.tiles * 8 >= 2 * SMS:
        return 8, 1
    return 1, wanted


def _below(size: int, most: int) -> int:
    """Threads below each other: a power of two, not many more than there are rows."""
    return min(most, 1 << max(size - 1, 1).bit_length())
