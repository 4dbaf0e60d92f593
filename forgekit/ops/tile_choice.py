"""Choose the kernel and its configuration for rows; every rule states its reason.

A row's length is counted in vectors of 16 bytes, because a thread reads one vector at a time. In
each table, the first rule that fits the length (and the number of rows, if the rule limits it) is
used; the last rule serves all longer rows. Rows that are not aligned to 16 bytes are read by
narrower accesses if they are short enough (`narrow_threads`), else by vectors and the single
elements before and after them.

Reasons with a number were measured on an H200 on 2026-11-21. These files in `book/measured` contain
the latest runs: `tiles_h200.json` for the sizes that matter most, `short_rows_h200.json` for short
sums and `softmax_rows_h200.json` for softmax and its gradient (2026-11-22), `few_rows_h200.json`
for a few long rows, `middle_rows_h200.json` for up to 528 rows of 6 to 128 kB, and
`shared_rows_h200.json` for up to 132 rows of 2^16 to 2^22 elements (2026-11-24). The rules for sums
and `narrow_threads` were chosen on 2026-11-24 from up to 36 configurations for each of 400 shapes.

Softmax and its gradient do not bypass L1, because such loads are 4 to 11 % slower for many rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from forgekit.kernels import MOST_THREADS, VECTOR_BYTES, WARP

Op = Literal["sum", "softmax", "softmax_backward"]
Kernel = Literal["sum", "short", "registers", "shared", "streaming", "split"]
# The kernels for rows; `row_kernels` in `row_launch.py` maps these names to classes.
KERNELS: dict[Op, tuple[Kernel, ...]] = {
    "sum": ("sum", "short", "split"),
    "softmax": ("registers", "shared", "streaming", "split"),
    "softmax_backward": ("registers", "streaming", "split"),
}

SMS = 132  # SMs of an H200
SHARED_BYTES = 96 * 1024  # per block since sm_80; clusters of 16 blocks get twice as much


@dataclass(frozen=True)
class Rule:
    """A rule for rows.

    vectors: the maximum length of a row, in vectors. beyond: a row must have more vectors than
    this. few: the maximum number of rows. kernel: "sum" loops over a row; "short" loads a whole row
    before adding; "registers" and "shared" keep a row in registers or in shared memory between its
    two uses; "streaming" reads a row twice; "split" also reads it twice, in two launches of many
    blocks. loads: vectors per thread, which determine the number of threads. threads: the maximum
    threads per block, which determine the blocks per cluster. clusters: if more than 1, the rule
    requires a GPU with clusters, and this is a sum's maximum number of blocks per cluster. aligned:
    True if rows must consist of whole vectors, which "short" rows always must. rows:
    the maximum rows per block; by default, as many as fill 128 threads. turns: the number of
    "short" rows that each group of threads reads one after another if there are many rows. why: the
    measured effect; "64 of 2**22" abbreviates 64 rows of 2**22 elements, "8 of 256" clusters of 8
    blocks of 256 threads, and "512 x 5" 512 threads with 5 loads each."""

    vectors: int
    kernel: Kernel
    loads: int
    why: str
    threads: int = 1024
    rows: int = 0
    turns: int = 1
    few: int = 2**31
    beyond: int = 0
    clusters: int = 1
    aligned: bool = False


ANY = 2**31
# Sums of at least this size mark their lines as first to evict, which is 0 to 2 % faster. Smaller
# tensors would leave L2 too soon: sums of 334 rows of 160 floats become 15 % slower.
ONCE_BYTES = 8 * 2**20
L2_BYTES = 16 * 2**20  # bytes of each operand that stay in L2 for their second read


def middle(few: int, loads: int, threads: int, beyond: int, why: str) -> Rule:
    """Return a rule for a few rows of up to 128 kB, each shared by the blocks of a cluster."""
    return Rule(8192, "registers", loads, why, threads, few=few, beyond=beyond, clusters=16)


def split(threads: int, beyond: int, why: str, few: int = 2**31) -> Rule:
    """Return a rule for long rows, each shared by many blocks."""
    return Rule(ANY, "split", 4, why, threads, few=few, beyond=beyond)


def few(
    rows: int, loads: int, threads: int, clusters: int, beyond: int, why: str,
    vectors: int = ANY, aligned: bool = False,
) -> Rule:  # fmt: skip
    """Return a rule for sums of a few long rows, each shared by the blocks of a cluster."""
    return Rule(vectors, "sum", loads, why, threads, few=rows, beyond=beyond, clusters=clusters,
                aligned=aligned)  # fmt: skip


# fmt: off
SHORT_SUMS = (
    Rule(8, "short", 1, "4 rows in flight, 128-byte loads: 2 % faster than 1 row x 2", turns=4),
    Rule(64, "short", 2, "2 rows in flight: 1 % faster than 1; 1 to 8 % if lanes idle", turns=2),
    Rule(64, "sum", 2, "unaligned rows"),
    Rule(1024, "short", 4, "no loop: 7 % (40,000 rows of 2,592 floats) to 16 % faster"),
    Rule(1024, "sum", 4, "unaligned rows"),
    Rule(5120, "short", 5, "no loop: 1 % (4,000 of 16,384) to 47 % faster (66 of 8,400 floats)"),
    split(512, 16384, "speedup 0.95 (2 rows of 2**17 floats) to 2.5", few=3),
)
LONG_SUMS = (
    few(16, 4, 1024, 8, 131071, "16 of 2**22: 17 % faster than 512 threads"),
    few(SMS, 5, 256, 8, 8192, "132 of 72,000: 1.4 times as fast as 2 of 1024", 10000, True),
    few(100, 5, 256, 8, 5120, "8 of 65,536: 17 % faster than 4 loads", 8192, True),
    few(8, 4, 1024, 8, 8192, "8 of 2**18 floats: 6 % faster than 512 threads"),
    few(33, 4, 512, 8, 8192, "33 of 2**20: 17 % faster than 256 threads"),
    few(100, 3, 256, 8, 2047, "16 of 16,801: 1.3 times as fast as 2 of 512", 5120),
    few(66, 4, 1024, 2, 131072, "64 of 2**22 floats: 4 % faster than 8 of 256", aligned=True),
    few(66, 4, 256, 8, 5120, "56 of 2,056,378: 2 of 1024 are 12 % slower than torch"),
    few(SMS, 4, 1024, 2, 5120, "132 rows: up to 4 % faster than other clusters"),
    split(512, 2047, "several blocks per row fill the SMs without clusters", few=SMS - 1),
)
RULES: dict[tuple[Op, int], tuple[Rule, ...]] = {
    ("sum", 2): (
        *SHORT_SUMS,
        split(512, 65535, "speedup 1.10 (8 of 2**20) to 1.25", few=8),
        *LONG_SUMS,
        Rule(5120, "sum", 6, "1,000 of 12,291: 12 % faster than 320 threads", 256),
        Rule(ANY, "sum", 2, "156 of 320,003: 1.3 times as fast as 512 x 5", few=2 * SMS),
        Rule(16384, "sum", 5, "1,000 of 56,000: 12 % faster than 4 loads", 256),
        Rule(ANY, "sum", 2, "761 of 1,239,552: 8 % faster than 256 x 5", 512),
    ),
    ("sum", 4): (
        *SHORT_SUMS,
        split(512, 65535, "speedup 0.95 (4 of 2**18) to 1.13", few=4),
        *LONG_SUMS,
        Rule(ANY, "sum", 4, "within 2 % of the best of 36 configurations", 512),
    ),
    ("softmax", 2): (
        split(256, 262144, "2**22: 1 % (2 rows) to 5 % (4 rows) faster than 128 threads"),
        split(128, 32767, "speedup 1.08 (2 rows of 2**18) to 2.8 (1 of 1,000,003)", few=2),
        split(128, 65536, "speedup 1.02 (16 rows of 2**20) to 2.1", few=16),
        split(128, 131072, "speedup 0.99 (64 rows of 2**22) to 1.07 (33 of 2**22)"),
        middle(16, 4, 128, 4096, "rows of 65,536: 1.05 times as fast as 2 loads"),
        middle(33, 2, 128, 512, "speedup 1.02 (33 rows of 64,000) to 2.6 (1 of 48,000)"),
        middle(4 * SMS, 4, 256, 512, "speedup 0.96 (264 rows of 48,000) to 1.18 (66 of 48,000)"),
        Rule(8, "registers", 1, "1 load per thread: up to 1 % faster than 2"),
        Rule(64, "registers", 2, "400,000 rows of 72: 1.25 times as fast as 1 load; 128: same"),
        Rule(96, "registers", 3, "one warp per row needs no barrier"),
        Rule(128, "registers", 2, "64 threads x 1: 2 % faster than a warp", rows=1),
        Rule(256, "registers", 4, "1 to 4 % faster than a warp, 2 % faster than 2 rows", rows=1),
        Rule(512, "registers", 3, "192 x 1: 5 % faster than 96 x 2 for few rows, otherwise equal"),
        Rule(1024, "shared", 8, "128 threads: 5 % faster than 192 for few rows, otherwise equal"),
        Rule(6144, "shared", 6, "exponentials in registers leave room for one block per SM"),
        Rule(16384, "shared", 8, "a large cluster of small blocks waits least", threads=128),
        Rule(ANY, "shared", 16, "64 rows of 2**20: 12 % faster than 8 loads", threads=128),
    ),
    ("softmax", 4): (
        split(256, 32767, "speedup 0.98 (2 rows of 2**17) to 1.8 (1 of 300,001)", few=2),
        split(256, 65536, "speedup 1.12 (4 rows of 300,001) to 1.4", few=16),
        split(256, 131072, "speedup 1.06 (132 rows of 1,000,003) to 1.16"),
        middle(33, 4, 128, 512, "speedup 1.0 (4 rows of 3,072) to 2.6 (1 of 32,000)"),
        middle(4 * SMS, 4, 256, 512, "speedup 0.98 (132 rows of 6,000) to 1.22 (264 of 32,000)"),
        Rule(8, "registers", 1, "as for 2 bytes"),
        Rule(64, "registers", 2, "400,000 rows of 36: 1.15 times as fast as 1 load; 64: same"),
        Rule(128, "registers", 4, "one warp per row: as fast as half a warp, fewer registers"),
        Rule(256, "registers", 8, "one warp per row: 64 threads gain 1 %, lose 2 % for few rows"),
        Rule(512, "registers", 4, "few rows need many threads; many rows are as fast with them"),
        Rule(1024, "shared", 8, "128 threads: 7 % faster than 256 in registers for few rows"),
        Rule(2048, "registers", 2, "1024 threads: 1 % faster than 512 x 4"),
        Rule(4096, "registers", 4, "the longest rows for which a block has registers"),
        Rule(8192, "shared", 8, "as fast as in registers; an SM fits several short rows"),
        Rule(16384, "shared", 8, "64 rows of 65,536: 1.3 times as fast as 16 loads", threads=128),
        Rule(ANY, "shared", 16, "a large cluster of small blocks waits least", threads=128),
    ),
    ("softmax_backward", 2): (
        split(256, 262144, "2**22: 1 % (2 rows) to 3 % (1 row) faster than 128 threads"),
        split(128, 32767, "speedup 0.99 (4 rows of 2**18) to 4", few=16),
        split(128, 65536, "speedup 1.08 (132 rows of 1,000,003) to 1.16"),
        middle(SMS, 2, 256, 512, "speedup 0.99 (132 rows of 6,144) to 1.29 (1 of 12,000)"),
        Rule(16, "registers", 1, "as forward"),
        Rule(64, "registers", 2, "short rows gain more from lanes than from loads"),
        Rule(128, "registers", 1, "128 threads: 8 % faster than 16 (1,000 rows) to 3 % slower"),
        Rule(256, "registers", 2, "128 threads: 2 % faster than a warp for few rows"),
        Rule(2048, "registers", 4, "few rows: 3 % faster than 1 load, with any number of threads"),
        Rule(32767, "registers", 8, "clusters of 128 threads: 10 % faster", threads=128),
        Rule(2**16, "registers", 8, "132 rows of 2**18: 16 % faster than 128 threads", threads=512),
        Rule(ANY, "streaming", 4, "twice as fast as registers, which spill (24 rows of 2**20)"),
    ),
    ("softmax_backward", 4): (
        split(256, 32767, "speedup 1.03 (2 rows of 2**17) to 1.7 (1 of 300,001)", few=2),
        split(256, 65535, "speedup 1.06 (8 rows of 300,001) to 1.14", few=8),
        split(256, 131072, "speedup 1.12 (64 rows of 2**20) to 1.3"),
        middle(SMS, 2, 256, 1024, "speedup 0.98 (16 rows of 32,000) to 1.23 (4 of 6,000)"),
        Rule(16, "registers", 1, "as forward"),
        Rule(64, "registers", 2, "short rows gain more from lanes than from loads"),
        Rule(128, "registers", 4, "as forward"),
        Rule(256, "registers", 8, "1 warp: 3 % faster than 2; 8 rows: 1 % faster than 4", rows=8),
        Rule(2048, "registers", 4, "as for 2 bytes"),
        Rule(8192, "registers", 6, "clusters of 2 or 4: faster than a block of 1024", threads=352),
        Rule(16384, "registers", 4, "33 rows of 65,536: 1.2 times as fast as 8 loads", threads=256),
        Rule(ANY, "registers", 8, "16 blocks per cluster: 3 to 10 % faster than 8", threads=256),
    ),
}
# fmt: on

# Rows that are read by accesses of 2, 4 or 8 bytes: maximum accesses per row -> threads per row. An
# access of 8 bytes counts as 1.5. Using fewer threads that each load more elements saves
# instructions. For example, the time of a softmax of 476,190 rows of 21 bfloat16 elements falls
# from 37.5 to 17.9 us with 8 threads per row instead of 16 (H200, 2026-11-24).
NARROW: dict[Op, tuple[tuple[int, int], ...]] = {
    "softmax": ((5, 1), (8, 2), (19, 4), (40, 8), (80, 16)),
    "softmax_backward": ((4, 1), (6, 2), (16, 4), (32, 8), (48, 16)),
}


@dataclass(frozen=True)
class RowChoice:
    """A kernel for rows and the fields of its `RowTile`; turns: the argument of `ShortRowSum`."""

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
    once: bool = False


def choose_rows(
    op: Op, rows: int, size: int, itemsize: int, vector: int, unaligned: bool, clusters: int
) -> RowChoice:
    """Return the configuration for `rows` rows of `size` elements.

    itemsize: bytes per element. vector: elements per access, from `row_vectors`. unaligned: True if
    rows do not begin and end at vector boundaries. clusters: maximum blocks per cluster, 1 on GPUs
    without clusters.
    """
    choice = _choose(op, rows, size, itemsize, vector, unaligned, clusters)
    once = op == "sum" and rows * size * itemsize >= ONCE_BYTES
    return replace(choice, whole=whole_loads(choice, size), once=once)


def narrow_threads(op: Op, size: int, itemsize: int, whole: int) -> int | None:
    """Return the threads per row for accesses of `whole` elements, which are less than 16 bytes;
    None if rows are too long.

    Such accesses leave no single elements before and after whole vectors. Single elements cost
    instructions, which dominate the time of short rows, and in sums also a second memory access
    after the first. Sums are faster with narrow accesses if a block can keep the row in registers,
    unless an access is a single element of 2 bytes: 1.11 times as fast for 1,666 rows of 30,002
    bfloat16, 1.23 times for 200 rows of 5,005 float32 (H200, 2026-11-24).
    """
    accesses, wide = -(-size // whole), whole * itemsize == 8
    if op == "sum":
        if accesses > (192 if whole * itemsize == 2 else 16 * MOST_THREADS):
            return None
        most = 512 if accesses <= 12 * 512 else MOST_THREADS
        return power_below(accesses // (3 if wide else 5), most)
    if op == "softmax_backward" and (itemsize, whole) == (4, 1) and accesses > 22:
        return None  # 1 to 15 % slower
    counted = accesses * 3 // 2 if wide else accesses
    return next((threads for longest, threads in NARROW[op] if counted <= longest), None)


def whole_loads(choice: RowChoice, size: int) -> int:
    """Return the number of loads that every thread performs in rows of `size` elements, regardless
    of their address."""
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
    narrow = vector * itemsize < VECTOR_BYTES
    if narrow and (threads := narrow_threads(op, size, itemsize, vector)):
        kernel: Kernel = "short" if op == "sum" else "registers"
        return RowChoice(kernel, threads, max(1, 256 // threads), -(-vectors // threads), vector)
    rule = next(
        r for r in RULES[op, itemsize]
        if r.beyond < vectors <= r.vectors and rows <= r.few and (clusters > 1 or r.clusters == 1)
        and not ((r.aligned or r.kernel == "short") and (unaligned or narrow))
    )  # fmt: skip
    kernel, loads, most = rule.kernel, rule.loads, rule.threads
    if kernel == "split" and vector > 1:
        return _split(op, rule, rows, vectors, vector, unaligned)
    if kernel in ("split", "streaming") and op != "sum":
        return _streaming(vector, unaligned, clusters)
    if kernel == "shared" and narrow:  # asynchronous copies need whole vectors
        kernel, most = "registers", 1024
    if op == "softmax" and unaligned and itemsize == 2 and vectors > 32767:
        return _split(op, RULES[op, itemsize][1], rows, vectors, vector, unaligned)
    if (
        op == "softmax" and unaligned and vectors > 512
    ):  # a cluster is 5 to 20 % faster than asynchronous copies by one block
        kernel, loads, most = "registers", 4 if clusters > 1 else 8, 256
    if vector == 1:  # long rows prefer as many loads as registers allow
        loads = 4 if size <= 1024 else 16 if op == "softmax_backward" else 32
    threads = block_threads(-(-vectors // loads), 2 * vector if unaligned else 1)
    if kernel == "short":
        return _short(rows, size, loads, rule.turns, vector)
    if op == "sum":
        return _sum(rule, size, threads, loads, vector, unaligned, clusters)
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
    """Return the threads for this many lanes: a power of two up to 32, then a multiple of 32."""
    lanes = max(lanes, least)
    return 1 << (lanes - 1).bit_length() if lanes <= WARP else -(-lanes // WARP) * WARP


def _streaming(vector: int, unaligned: bool, clusters: int) -> RowChoice:
    """Return a choice for rows too long to keep: 1024 threads, and a few blocks per row if
    possible."""
    cluster = min(clusters, 8)
    return RowChoice(
        "streaming", 1024, 1, 4 if vector > 1 else 8, vector, cluster, unaligned=unaligned
    )


def _split(op: Op, rule: Rule, rows: int, vectors: int, vector: int, unaligned: bool) -> RowChoice:
    """Return a choice with many blocks per row, enough to read it in one round if the GPU has room.

    There is room for 132 blocks of 512 threads, or for the same number of threads in smaller
    blocks; they share the rows that fit in L2. Sums, and rows that do not all fit in L2, get twice
    as many blocks, because two launches then overlap. Softmax of very long float32 rows does not,
    because it would be up to 26 % slower. If 4 loads per thread leave SMs without a block, each
    thread performs 2 loads."""
    held = max(1, L2_BYTES // (vectors * VECTOR_BYTES))
    together = rows if op == "sum" else min(rows, held)
    threads, loads = rule.threads, rule.loads
    if -(-vectors // (threads * loads)) * together < 0.9 * SMS:
        loads = 2
    one = (op, vector) == ("softmax", 4) and vectors > 131072
    fill = 2 if op == "sum" or (rows > held and not one) else 1
    room = fill * SMS * 512 // (threads * together)
    once = -(-vectors // (threads * loads))
    split = max(2, once if once < 1.25 * room else room)
    return RowChoice("split", threads, 1, loads, vector, split=split, unaligned=unaligned)


def _short(rows: int, size: int, loads: int, turns: int, vector: int) -> RowChoice:
    """Return a choice with blocks of about 256 threads. If there are many rows, each group of
    threads reads `turns` rows."""
    vectors = -(-size // vector)
    threads = block_threads(-(-vectors // loads), 1)
    beside = max(1, 256 // threads)
    if turns > 1 and rows < 64 * beside * turns:
        return _short(rows, size, 2, 1, vector)
    return RowChoice("short", threads, beside, loads, vector, turns=turns)


def _sum(
    rule: Rule, size: int, threads: int, loads: int, vector: int, unaligned: bool, clusters: int
) -> RowChoice:
    """Return a choice for sums in rounds: blocks of at least 256 threads, or a cluster per row.

    Rules with more than 4 loads state the exact number of threads. For a rule with 6 loads, and for
    clusters that need only a few rounds, the loads are reduced, to 3 at the least, so that as few
    threads as possible are idle in the last round: sums of 132 rows of 98,304 bfloat16
    elements are 1.3 times as fast with 3 loads as with 4 (H200, 2026-11-24)."""
    cluster = power_below(threads // WARP, min(rule.clusters, clusters))
    threads = min(rule.threads, block_threads(-(-threads // cluster), 1))
    if rule.loads > 4 and vector > 1:
        threads = rule.threads
    together, vectors = threads * cluster, size // vector
    few_rounds = rule.loads == 6 or (cluster > 1 and loads == 4 and vectors <= 16 * together)
    if unaligned and threads >= 512:  # 64 to 128 registers per thread
        loads = min(loads, 16 // vector)
    elif few_rounds and vector > 1:
        loads = min(range(max(5, rule.loads), 2, -1), key=lambda n: -vectors % (together * n))
    beside = max(1, 256 // threads) if cluster == 1 else 1
    return RowChoice("sum", threads, beside, loads, vector, cluster, unaligned=unaligned)


def power_below(size: int, most: int) -> int:
    """Return the largest power of two that exceeds neither `size` nor `most`."""
    return min(most, 1 << max(size, 1).bit_length() - 1)
