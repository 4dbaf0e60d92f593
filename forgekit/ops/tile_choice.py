"""The only place that decides which configuration serves which rows, and why.

Rows are counted in vectors of 16 bytes, since a thread reads one at a time. Each table is searched
for the first rule that a row is short enough for, and long enough where rows have to be few; the
last serves all that are longer. Reasons with
a number were measured on one H200 on 2026-11-21; `book/measured/tiles_h200.json` holds the last
runs, of the sizes that matter most, `short_rows_h200.json` those of short sums and
`softmax_rows_h200.json` those of softmax and its gradient, of 2026-11-22; `few_rows_h200.json`
those of few long rows, of 2026-11-23, and `middle_rows_h200.json` those of up to 528 rows of 6 to
128 kB, of 2026-11-24. Unaligned rows, and those read by elements, take the rule of rows of as many
accesses.

Tried for softmax and its gradient, and rejected: loads past L1, 4 to 11 % slower for many rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from forgekit.kernels import MOST_THREADS, VECTOR_BYTES, WARP

Op = Literal["sum", "softmax", "softmax_backward"]
Kernel = Literal["sum", "short", "registers", "shared", "streaming", "split"]
# The kernels for rows; `row_kernels` of `row_launch.py` maps them to classes.
KERNELS: dict[Op, tuple[Kernel, ...]] = {
    "sum": ("sum", "short"),
    "softmax": ("registers", "shared", "streaming", "split"),
    "softmax_backward": ("registers", "streaming", "split"),
}

SMS = 132  # of an H200; block numbers are multiples of it
SHARED_BYTES = 96 * 1024  # per block on any GPU since sm_80; twice that for clusters of 16


@dataclass(frozen=True)
class Rule:
    """vectors: the longest row it serves. kernel: "sum" loops over a row, "short" holds it at once;
    "registers" and "shared" say where a row is kept between its two uses; "streaming" reads it
    twice, and so does "split", in two launches of many blocks. few: the most rows that it serves,
    and beyond: only rows of more vectors. clusters: only where a cluster may have several blocks.
    loads: vectors of a thread; threads follow. threads: of a block, at most; more blocks of a
    cluster follow. rows: of a block, at most; as many as fill 128 threads if left out. turns: of
    "short" rows, those of the same threads, where rows are many. why: what was seen."""

    vectors: int
    kernel: Kernel
    loads: int
    why: str
    threads: int = 1024
    rows: int = 0
    turns: int = 1
    few: int = 2**31
    beyond: int = 0
    clusters: bool = False


ANY = 2**31
L2_BYTES = 32 * 2**20  # rows that stay in L2 for their second read


def middle(few: int, loads: int, threads: int, beyond: int, why: str) -> Rule:
    """A few rows, up to 128 kB each, each shared by the blocks of a cluster."""
    return Rule(8192, "registers", loads, why, threads, few=few, beyond=beyond, clusters=True)


# fmt: off
SUM = (
    Rule(8, "short", 1, "4 rows in flight, 128 bytes a load: 2 % before a row of 2 loads", turns=4),
    Rule(64, "short", 2, "2 rows in flight: 1 % before one; 1 to 8 % where lanes idle", turns=2),
    Rule(768, "short", 4, "no loop: 7 (40,000 rows of 2,592 floats) to 16 % less time, never more"),
    Rule(1024, "sum", 2, "two rounds of 2 loads: 1 % before one of 4", threads=256),
    Rule(2048, "sum", 4, "more warps a row gain nothing, fewer cost 1 to 3 %", threads=256),
    Rule(ANY, "sum", 4, "256 rows or fewer need all threads of an SM"),
)
RULES: dict[tuple[Op, int], tuple[Rule, ...]] = {
    ("sum", 2): (
        *SUM[:-1],
        Rule(ANY, "sum", 2, "300 rows of 70,000: 25 % faster than 1024 x 4", threads=512),
    ),
    ("sum", 4): SUM,
    ("softmax", 2): (
        Rule(ANY, "split", 4, "1.1 to 5 times as fast as a cluster", 256, few=1, beyond=32767),
        Rule(ANY, "split", 4, "1.05 (8 rows of 600,000) to 3 times", 256, few=16, beyond=65536),
        middle(33, 2, 128, 512, "1.02 (33 rows of 64,000) to 2.6 times a block (1 of 48,000)"),
        middle(4 * SMS, 4, 256, 512, "0.96 (264 rows of 48,000) to 1.18 times (66 of 48,000)"),
        Rule(8, "registers", 1, "a load per thread: up to 1 % before two"),
        Rule(64, "registers", 2, "rows of 72: 1.25 times 1 load where 400,000; of 128 as fast"),
        Rule(96, "registers", 3, "a warp a row needs no barrier"),
        Rule(128, "registers", 2, "64 threads x 1: 2 % before a warp, many rows or few", rows=1),
        Rule(256, "registers", 4, "as before: 1 to 4 % before a warp, 2 % before x 2 rows", rows=1),
        Rule(512, "registers", 3, "192 x 1: 5 % before 96 x 2 where rows are few, as fast else"),
        Rule(1024, "shared", 8, "128 threads: 5 % before 192 where rows are few, as fast else"),
        Rule(6144, "shared", 6, "exponentials in registers leave room for one block an SM"),
        Rule(ANY, "shared", 8, "small blocks of a large cluster wait least", threads=128),
    ),
    ("softmax", 4): (
        Rule(ANY, "split", 4, "1.2 to 5 times as fast as a cluster", 256, few=1, beyond=32767),
        Rule(ANY, "split", 4, "1.1 (16 rows of 300,001) to 1.7 times", 256, few=16, beyond=65536),
        middle(33, 4, 128, 512, "1.0 (4 rows of 3,072) to 2.6 times a block (1 of 32,000)"),
        middle(4 * SMS, 4, 256, 512, "0.98 (132 rows of 6,000) to 1.22 times (264 of 32,000)"),
        Rule(8, "registers", 1, "as for 2 bytes"),
        Rule(64, "registers", 2, "rows of 36: 1.15 times 1 load where 400,000; of 64 as fast"),
        Rule(128, "registers", 4, "a warp a row: as fast as half of one, fewer registers"),
        Rule(256, "registers", 8, "a warp a row: 64 threads gain 1 %, lose 2 where rows are few"),
        Rule(512, "registers", 4, "few rows like many threads, many rows do not mind"),
        Rule(1024, "shared", 8, "128 threads: 7 % before 256 in registers where rows are few"),
        Rule(2048, "registers", 2, "1024 threads: 1 % before 512 x 4"),
        Rule(4096, "registers", 4, "as long as a block has registers for it"),
        Rule(8192, "shared", 8, "as fast as registers; several blocks per SM for shorter rows"),
        Rule(ANY, "shared", 16, "small blocks of a large cluster wait least", threads=128),
    ),
    ("softmax_backward", 2): (
        Rule(ANY, "split", 4, "4 to 33 rows of 2**22: 1.1 to 1.6 times", 512, beyond=262143),
        Rule(ANY, "split", 2, "one row: 1.1 to 4 times", threads=256, few=1, beyond=32767),
        Rule(ANY, "split", 2, "1.4 to 2.3 times", threads=256, few=16, beyond=65536),
        middle(SMS, 2, 256, 512, "0.99 (132 rows of 6,144) to 1.29 times (1 of 12,000)"),
        Rule(16, "registers", 1, "as forward"),
        Rule(64, "registers", 2, "short rows: lanes before loads"),
        Rule(128, "registers", 1, "128 threads: 8 % over 16 for 1,000 rows, 3 % below for 2,048"),
        Rule(256, "registers", 2, "128 threads: 2 % faster than a warp for few rows"),
        Rule(2048, "registers", 4, "3 % faster than 1 load for few rows; threads matter little"),
        Rule(2**16, "registers", 8, "clusters of 128 threads: 10 % over a block", threads=128),
        Rule(ANY, "streaming", 4, "twice as fast as registers, which spill (24 rows of 2**20)"),
    ),
    ("softmax_backward", 4): (
        Rule(ANY, "split", 4, "4 to 64 rows of 2**20: 1.1 to 1.8 times", 512, beyond=131072),
        Rule(ANY, "split", 2, "one row: 1.2 to 1.3 times", threads=256, few=1, beyond=65535),
        middle(SMS, 2, 256, 1024, "0.98 (16 rows of 32,000) to 1.23 times (4 of 6,000)"),
        Rule(16, "registers", 1, "as forward"),
        Rule(64, "registers", 2, "short rows: lanes before loads"),
        Rule(128, "registers", 4, "as forward"),
        Rule(256, "registers", 8, "one warp: 3 % over two; 8 rows 1 % over 4 if few", rows=8),
        Rule(2048, "registers", 4, "as for 2 bytes"),
        Rule(8192, "registers", 6, "clusters of 2 or 4: better than a block of 1024", threads=352),
        Rule(ANY, "registers", 8, "16 blocks per cluster: 3 to 10 % faster than 8", threads=256),
    ),
}
# fmt: on


@dataclass(frozen=True)
class RowChoice:
    """A kernel over rows and the fields of its `RowTile`; turns: those of `ShortRowSum`."""

    kernel: Kernel
    threads: int
    rows: int
    loads: int
    vector: int
    cluster: int = 1
    split: int = 1
    whole: int = 0
    unaligned: bool = False
    turns: int = 1


def choose_rows(
    op: Op, rows: int, size: int, itemsize: int, vector: int, unaligned: bool, clusters: int
) -> RowChoice:
    """Return the configuration for `rows` rows of `size` elements.

    itemsize: bytes per element. vector: elements per access; 1 if they are not contiguous, in
    unaligned rows of less than 4 vectors, and if operands have different offsets within a vector.
    unaligned: rows do not begin and end at vectors. clusters: maximum blocks per cluster, 1 on GPUs
    without clusters.
    """
    choice = _choose(op, rows, size, itemsize, vector, unaligned, clusters)
    return replace(choice, whole=whole_loads(choice, size))


def whole_loads(choice: RowChoice, size: int) -> int:
    """Return the loads that all threads have in rows of `size` elements, for any address of the
    rows."""
    c = choice
    together = c.threads * c.cluster * c.split  # vectors per load
    if c.kernel in ("sum", "streaming", "split"):  # in rounds
        return 0 if c.unaligned or size % (c.vector * together * c.loads) else c.loads
    outside = c.vector - 1 if c.unaligned else 0  # elements before the first whole vector
    return min(c.loads, max(0, size - outside) // c.vector // together)


def _choose(
    op: Op, rows: int, size: int, itemsize: int, vector: int, unaligned: bool, clusters: int
) -> RowChoice:
    vectors = max(1, size // vector if unaligned else -(-size // vector))
    rule = next(
        r for r in RULES[op, itemsize]
        if r.beyond < vectors <= r.vectors and rows <= r.few and (clusters > 1 or not r.clusters)
    )  # fmt: skip
    kernel, loads, most = rule.kernel, rule.loads, rule.threads
    if kernel == "split" and vector > 1:
        return _split(rule, rows, vectors, 1 if op == "softmax" else 2, vector, unaligned)
    if kernel in ("split", "streaming"):
        return _streaming(vector, unaligned, clusters)
    if kernel == "shared" and vector == 1:  # asynchronous copies need whole vectors
        kernel, most = "registers", 1024
    if (
        op == "softmax" and unaligned and vectors > 512
    ):  # likewise; a cluster: 5 to 20 % faster than a block
        kernel, loads, most = "registers", 4 if clusters > 1 else 8, 256
    if kernel == "short" and (unaligned or vector == 1):
        kernel, loads = "sum", max(loads, 2)
    if vector == 1 and size <= 8:  # one thread per row: a fifth of a warp's instructions for size 5
        return RowChoice(kernel if op == "sum" else "registers", 1, 128, size, 1)
    if vector == 1:  # short rows: lanes before loads; long ones: as many as registers allow
        loads = 1 if size <= WARP else 4 if size <= 1024 else 16 if op == "softmax_backward" else 32
    threads = block_threads(-(-vectors // loads), 2 * vector if unaligned else 1)
    if kernel == "short":
        return _short(rows, size, loads, rule.turns, vector)
    if op == "sum":
        return _sum(rows, size, threads, most, loads, vector, unaligned, clusters)
    cluster = 1
    while threads > most and cluster < clusters:
        cluster *= 2
        threads = block_threads(-(-vectors // (loads * cluster)), WARP)
    loads = -(-vectors // (threads * cluster))
    shared = threads * loads * VECTOR_BYTES if kernel == "shared" else 0
    if threads > MOST_THREADS or shared > (SHARED_BYTES if clusters < 16 else 2 * SHARED_BYTES):
        return _streaming(vector, unaligned, clusters)
    beside = max(1, 128 // threads) if cluster == 1 else 1
    if rule.rows and vector > 1:  # at least as many blocks as SMs
        beside = power_below(rows // SMS, rule.rows)
    return RowChoice(kernel, threads, beside, loads, vector, cluster, unaligned=unaligned)


def block_threads(lanes: int, least: int) -> int:
    """Return the threads for so many lanes: a power of two up to a warp, then whole warps."""
    lanes = max(lanes, least)
    return 1 << (lanes - 1).bit_length() if lanes <= WARP else -(-lanes // WARP) * WARP


def _streaming(vector: int, unaligned: bool, clusters: int) -> RowChoice:
    """Configure rows too long to keep: 1024 threads, and a few blocks per row if possible."""
    cluster = min(clusters, 8)
    return RowChoice(
        "streaming", 1024, 1, 4 if vector > 1 else 8, vector, cluster, unaligned=unaligned
    )


def _split(
    rule: Rule, rows: int, vectors: int, operands: int, vector: int, unaligned: bool
) -> RowChoice:
    """Configure many blocks per row, with at least one round of loads each: 132 of 512 threads, or
    as many threads."""
    together = min(rows, max(1, L2_BYTES // (vectors * VECTOR_BYTES * operands)))
    wanted = -(-SMS * 512 // (rule.threads * together))
    split = max(2, min(wanted, -(-vectors // (rule.threads * rule.loads))))
    return RowChoice("split", rule.threads, 1, rule.loads, vector, split=split, unaligned=unaligned)


def _short(rows: int, size: int, loads: int, turns: int, vector: int) -> RowChoice:
    """Configure blocks of about 256 threads; several rows in turn if there are many blocks."""
    vectors = -(-size // vector)
    threads = block_threads(-(-vectors // loads), 1)
    beside = max(1, 256 // threads)
    if turns > 1 and rows < 64 * beside * turns:
        return _short(rows, size, 2, 1, vector)
    return RowChoice("short", threads, beside, loads, vector, turns=turns)


def _sum(
    rows: int, size: int, threads: int, most: int, loads: int, vector: int, unaligned: bool,
    clusters: int,
) -> RowChoice:  # fmt: skip
    """Configure sums, which keep no row: blocks of at least 256 threads, and more blocks per row
    for few rows: those of a cluster, or, for at most 8 rows, as many as the GPU has room for, in
    two steps."""
    threads, cluster, parts = min(threads, most), 1, 1
    room = size // vector // 1024  # blocks with work to do
    wanted = min(-(-SMS // rows), room)
    if wanted > 16 or (wanted > 1 and clusters == 1):
        threads, parts = 1024, min(max(2, 2 * SMS // rows), room)
    elif wanted > 1 or (most == 512 and rows <= 2 * SMS and clusters > 1):
        threads = 512 if most == 512 and wanted < 8 else 1024
        cluster = power_below(wanted * 1024 // threads, 8)
    beside = max(1, 256 // threads) if cluster * parts == 1 else 1
    return RowChoice("sum", threads, beside, loads, vector, cluster, parts, unaligned=unaligned)


def power_below(size: int, most: int) -> int:
    """Return the largest power of two up to size, at most `most`."""
    return min(most, 1 << max(size, 1).bit_length() - 1)
