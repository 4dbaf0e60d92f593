"""Test the tables of tiles: every rule is used, and its choice fits a row and a GPU."""

from __future__ import annotations

import pytest

from forgekit.ops.row_launch import row_vectors
from forgekit.ops.tile_choice import RULES, Op, RowChoice, Rule, choose_rows, whole_loads
from forgekit.vgpu.host.limits import max_shared_bytes
from tests.ops.row_limits import RowProblem, why_not

CLUSTERS = (1, 16)
OPS: tuple[Op, ...] = ("sum", "softmax", "softmax_backward")
SIZES = sorted({
    n + d for n in (*(2**k for k in range(21)), 96, 1000, 3000, 5000, 12288, 50000, 300000)
    for d in (-1, 0, 1, 8) if n + d > 0
})  # fmt: skip


def layouts(op: Op, size: int, itemsize: int) -> list[tuple[int, bool]]:
    """Return the possible values of vector and unaligned for rows of a size, in the form of
    `row_vectors`."""
    V = 16 // itemsize
    whole = size % V == 0
    unaligned = size >= 4 * V and (op == "sum" or not whole)
    narrow = [(v, False) for v in (1, 2, 4) if v < V and size % v == 0]
    return narrow + [(V, True)] * unaligned + [(V, False)] * whole


def chosen(op: Op, itemsize: int, clusters: int) -> list[tuple[int, int, RowChoice]]:
    """Yield (rows, size, choice) for all kinds of rows."""
    return [
        (rows, size, choose_rows(op, rows, size, itemsize, vector, unaligned, clusters))
        for size in SIZES
        for vector, unaligned in layouts(op, size, itemsize)
        for rows in (1, 8, 40, 200, 10000)
    ]


@pytest.mark.parametrize("clusters", CLUSTERS)
@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("op", OPS)
def test_rows_fit(op: Op, itemsize: int, clusters: int) -> None:
    shared = max_shared_bytes({1: "sm_86", 16: "sm_90a"}[clusters])
    for rows, size, c in chosen(op, itemsize, clusters):
        problem = RowProblem(op, rows, size, c.vector, c.unaligned)
        assert why_not(c, problem, clusters, shared) is None, f"{problem}: {c}"
        # Loads are whole if possible, which saves a predicate; and every load has elements.
        assert c.whole == whole_loads(c, size), f"{problem}: {c}"
        if c.kernel in ("registers", "shared"):
            assert c.whole >= c.loads - 1, f"{problem}: {c}"
        # Each part of a row has work, except possibly the last.
        assert c.split <= max(1, size // c.vector // c.threads), f"{problem}: {c}"


def of_many_rows(op: Op, itemsize: int) -> list[Rule]:
    """Return the rules for any number of rows, which follow the rules for few rows."""
    return [r for r in RULES[op, itemsize] if r.kernel != "split" and r.few >= 2**31]


def test_rules_are_in_order() -> None:
    for key, rules in RULES.items():
        limits = [rule.vectors for rule in of_many_rows(*key)]
        assert limits == sorted(limits) and limits[-1] >= 2**30
        aligned = [r.vectors for r in of_many_rows(*key) if r.kernel == "short"]
        others = [r.vectors for r in of_many_rows(*key) if r.kernel != "short"]
        assert len(set(aligned)) == len(aligned) and len(set(others)) == len(others)
        assert all(rule.why for rule in rules)


# -- which kernel serves which rows ---------------------------------------------------------------
# Vectors per row -> kernel, threads per row x rows per block, loads per thread, for 2,000 aligned
# rows on a GPU with clusters of 16. The rows have the lengths at which rules end or clusters grow.
SUMS = {
    8: "short 4x64, 2 loads",
    64: "short 32x8, 2 loads, 2 turns",
    512: "short 128x2, 4 loads",
    1024: "short 256x1, 4 loads",
    1025: "short 224x1, 5 loads",
    5120: "short 1024x1, 5 loads",
    5121: "sum 512x1, 4 loads",
    600000: "sum 512x1, 4 loads",
}
SERVED: dict[tuple[Op, int], dict[int, str]] = {
    ("sum", 2): SUMS
    | {
        5121: "sum 256x1, 5 loads",
        16384: "sum 256x1, 5 loads",
        16385: "sum 512x1, 2 loads",
        600000: "sum 512x1, 2 loads",
    },
    ("sum", 4): SUMS,
    ("softmax", 2): {
        8: "registers 8x16, 1 loads",
        9: "registers 8x16, 2 loads",
        64: "registers 32x4, 2 loads",
        96: "registers 32x4, 3 loads",
        128: "registers 64x1, 2 loads",
        256: "registers 64x1, 4 loads",
        512: "registers 192x1, 3 loads",
        1024: "shared 128x1, 8 loads",
        6144: "shared 1024x1, 6 loads",
        6145: "shared 128x1, 7 loads, cluster 8",
        16384: "shared 128x1, 8 loads, cluster 16",
        16385: "shared 96x1, 11 loads, cluster 16",
        131072: "shared 512x1, 16 loads, cluster 16",
        131073: "split 128x1, 4 loads, 150 parts",
        262145: "split 256x1, 4 loads, 176 parts",
    },
    ("softmax", 4): {
        8: "registers 8x16, 1 loads",
        9: "registers 8x16, 2 loads",
        64: "registers 32x4, 2 loads",
        128: "registers 32x4, 4 loads",
        256: "registers 32x4, 8 loads",
        512: "registers 128x1, 4 loads",
        1024: "shared 128x1, 8 loads",
        2048: "registers 1024x1, 2 loads",
        2049: "registers 544x1, 4 loads",
        4096: "registers 1024x1, 4 loads",
        8192: "shared 1024x1, 8 loads",
        8193: "shared 96x1, 6 loads, cluster 16",
        16384: "shared 128x1, 8 loads, cluster 16",
        16385: "shared 96x1, 11 loads, cluster 16",
        196608: "split 256x1, 4 loads, 52 parts",
        196609: "split 256x1, 4 loads, 52 parts",
        131072: "shared 512x1, 16 loads, cluster 16",
        131073: "split 256x1, 4 loads, 37 parts",
    },
    ("softmax_backward", 2): {
        16: "registers 16x8, 1 loads",
        64: "registers 32x4, 2 loads",
        128: "registers 128x1, 1 loads",
        256: "registers 128x1, 2 loads",
        2048: "registers 512x1, 4 loads",
        2049: "registers 96x1, 6 loads, cluster 4",
        4096: "registers 128x1, 8 loads, cluster 4",
        4097: "registers 96x1, 6 loads, cluster 8",
        8192: "registers 128x1, 8 loads, cluster 8",
        8193: "registers 96x1, 6 loads, cluster 16",
        65536: "registers 512x1, 8 loads, cluster 16",
        65537: "split 128x1, 4 loads, 70 parts",
        262144: "split 128x1, 4 loads, 264 parts",
        32767: "registers 256x1, 8 loads, cluster 16",
    },
    ("softmax_backward", 4): {
        16: "registers 16x8, 1 loads",
        64: "registers 32x4, 2 loads",
        128: "registers 32x4, 4 loads",
        256: "registers 32x8, 8 loads",
        2048: "registers 512x1, 4 loads",
        2049: "registers 352x1, 6 loads",
        4224: "registers 352x1, 6 loads, cluster 2",
        4225: "registers 192x1, 6 loads, cluster 4",
        8192: "registers 352x1, 6 loads, cluster 4",
        8193: "registers 160x1, 4 loads, cluster 16",
        16384: "registers 256x1, 4 loads, cluster 16",
        16385: "registers 160x1, 7 loads, cluster 16",
        131072: "registers 1024x1, 8 loads, cluster 16",
        131073: "split 256x1, 4 loads, 75 parts",
    },
}
# As above, for this many rows: (operator, bytes, rows, vectors).
SHARED: dict[tuple[Op, int, int, int], str] = {
    ("softmax", 2, 1, 32767): "shared 128x1, 16 loads, cluster 16",
    ("softmax", 2, 1, 32768): "split 128x1, 2 loads, 128 parts",
    ("softmax", 2, 1, 524288): "split 256x1, 4 loads, 264 parts",
    ("softmax", 2, 16, 65536): "shared 256x1, 16 loads, cluster 16",
    ("softmax", 2, 16, 65537): "split 128x1, 4 loads, 70 parts",
    ("softmax", 2, 17, 65537): "shared 288x1, 15 loads, cluster 16",
    ("softmax", 2, 33, 512): "registers 192x1, 3 loads",
    ("softmax", 2, 33, 513): "registers 96x1, 2 loads, cluster 4",
    ("softmax", 2, 33, 8192): "registers 256x1, 2 loads, cluster 16",
    ("softmax", 2, 34, 8192): "registers 256x1, 4 loads, cluster 8",
    ("softmax", 2, 528, 3000): "registers 192x1, 4 loads, cluster 4",
    ("softmax", 2, 529, 3000): "shared 512x1, 6 loads",
    ("softmax", 4, 4, 8192): "registers 128x1, 4 loads, cluster 16",
    ("softmax", 4, 528, 1500): "registers 192x1, 4 loads, cluster 2",
    ("softmax_backward", 2, 132, 1500): "registers 192x1, 2 loads, cluster 4",
    ("softmax_backward", 2, 133, 1500): "registers 384x1, 4 loads",
    ("softmax_backward", 4, 132, 1024): "registers 256x1, 4 loads",
    ("softmax_backward", 4, 132, 1025): "registers 160x1, 2 loads, cluster 4",
    ("softmax", 4, 16, 262144): "split 256x1, 4 loads, 66 parts",
    ("softmax_backward", 2, 1, 32768): "split 128x1, 2 loads, 128 parts",
    ("softmax_backward", 2, 16, 131072): "split 128x1, 4 loads, 132 parts",
    ("softmax_backward", 4, 1, 65536): "split 256x1, 2 loads, 128 parts",
    ("softmax_backward", 4, 2, 65536): "split 256x1, 4 loads, 64 parts",
    ("sum", 2, 16, 131072): "sum 1024x1, 4 loads, cluster 8",
    ("sum", 2, 33, 131072): "sum 512x1, 4 loads, cluster 8",
    ("sum", 2, 132, 131072): "sum 1024x1, 4 loads, cluster 2",
    ("sum", 2, 132, 9000): "sum 256x1, 5 loads, cluster 8",
    ("sum", 2, 132, 12288): "sum 1024x1, 3 loads, cluster 2",
    ("sum", 2, 264, 131072): "sum 1024x1, 2 loads",
    ("sum", 2, 300, 131072): "sum 512x1, 2 loads",
}
# As above, for rows that are read element by element: (operator, bytes, elements).
ELEMENTS: dict[tuple[Op, int, int], str] = {
    ("sum", 4, 4): "short 1x256, 4 loads",
    ("sum", 4, 8): "short 1x256, 8 loads",
    ("sum", 4, 9): "short 1x256, 9 loads",
    ("sum", 4, 64): "short 8x32, 8 loads",
    ("sum", 4, 65): "short 8x32, 9 loads",
    ("sum", 4, 256): "short 32x8, 8 loads",
    ("sum", 4, 257): "short 32x8, 9 loads",
    ("sum", 4, 1024): "short 128x2, 8 loads",
    ("sum", 4, 1025): "short 128x2, 9 loads",
    ("softmax", 4, 1): "registers 1x256, 1 loads",
    ("softmax", 4, 8): "registers 2x128, 4 loads",
    ("softmax", 4, 9): "registers 4x64, 3 loads",
    ("softmax", 4, 17): "registers 4x64, 5 loads",
    ("softmax", 4, 32): "registers 8x32, 4 loads",
    ("softmax", 4, 33): "registers 8x32, 5 loads",
    ("softmax", 4, 1024): "registers 256x1, 4 loads",
    ("softmax", 4, 1025): "registers 64x2, 17 loads",
    ("softmax_backward", 4, 8): "registers 4x64, 2 loads",
    ("softmax_backward", 4, 9): "registers 4x64, 3 loads",
    ("softmax_backward", 4, 32): "registers 8x16, 4 loads",
    ("softmax_backward", 4, 33): "registers 16x8, 3 loads",
    ("softmax_backward", 4, 1024): "registers 256x1, 4 loads",
    ("softmax_backward", 4, 1025): "registers 96x1, 11 loads",
}
# As above, for narrow vectors: (operator, bytes, elements, elements per access).
NARROW: dict[tuple[Op, int, int, int], str] = {
    ("sum", 2, 52, 4): "short 4x64, 4 loads",
    ("sum", 2, 1024, 4): "short 64x4, 4 loads",
    ("sum", 2, 1764, 4): "short 128x2, 4 loads",
    ("sum", 2, 12166, 2): "short 512x1, 12 loads",
    ("sum", 2, 30002, 2): "short 1024x1, 15 loads",
    ("softmax", 2, 28, 4): "registers 4x64, 2 loads",
    ("softmax", 2, 39, 1): "registers 8x32, 5 loads",
    ("softmax_backward", 2, 26, 2): "registers 4x64, 4 loads",
    ("softmax_backward", 2, 39, 1): "registers 16x16, 3 loads",
}


def told(c: RowChoice) -> str:
    shared = f", cluster {c.cluster}" if c.cluster > 1 else ""
    turns = f", {c.turns} turns" if c.turns > 1 else ""
    parts = f", {c.split} parts" if c.split > 1 else ""
    return f"{c.kernel} {c.threads}x{c.rows}, {c.loads} loads{shared}{turns}{parts}"


@pytest.mark.parametrize(("op", "itemsize"), RULES, ids=str)
def test_what_serves_which_rows(op: Op, itemsize: int, monkeypatch: pytest.MonkeyPatch) -> None:
    V = 16 // itemsize
    rules = of_many_rows(op, itemsize)

    def serving(vectors: int) -> str:
        return told(choose_rows(op, 2000, vectors * V, itemsize, V, False, 16))

    assert {rule.vectors for rule in rules[:-1]} <= SERVED[op, itemsize].keys()
    for vectors, words in SERVED[op, itemsize].items():
        assert serving(vectors) == words, vectors
    for k, rule in enumerate(rules[:-1]):
        behind = serving(rule.vectors + 1)
        with monkeypatch.context() as patch:  # without the rule, which does not apply here
            others = tuple(r for r in RULES[op, itemsize] if r not in rules[: k + 1])
            patch.setitem(RULES, (op, itemsize), others)
            assert serving(rule.vectors + 1) == behind, rule


@pytest.mark.parametrize(("op", "itemsize", "rows", "vectors"), SHARED, ids=str)
def test_what_serves_few_rows(op: Op, itemsize: int, rows: int, vectors: int) -> None:
    V = 16 // itemsize
    words = told(choose_rows(op, rows, vectors * V, itemsize, V, False, 16))
    assert words == SHARED[op, itemsize, rows, vectors]


def test_few_rows_have_a_block_each_where_there_are_no_clusters() -> None:
    for vectors in (600, 3000, 8192):
        few, many = (
            choose_rows("softmax", rows, vectors * 8, 2, 8, False, 1) for rows in (4, 5000)
        )
        assert few == many and few.cluster == 1


@pytest.mark.parametrize(("op", "itemsize", "size"), ELEMENTS, ids=str)
def test_what_serves_rows_of_elements(op: Op, itemsize: int, size: int) -> None:
    choice = choose_rows(op, 2000, size, itemsize, 1, False, 16)
    assert told(choice) == ELEMENTS[op, itemsize, size]
    assert (choice.whole == choice.loads) == (size % (choice.threads * choice.loads) == 0)


@pytest.mark.parametrize("case", NARROW, ids=str)
def test_what_serves_narrow_vectors(case: tuple[Op, int, int, int]) -> None:
    op, itemsize, size, vector = case
    assert told(choose_rows(op, 2000, size, itemsize, vector, False, 16)) == NARROW[case]


# Unaligned rows of bfloat16: (rows, elements) -> as above.
UNALIGNED = {
    (2000, 513): "sum 32x8, 2 loads",
    (2000, 8803): "sum 256x1, 5 loads",
    (2000, 12291): "sum 256x1, 6 loads",
    (16, 16801): "sum 96x1, 3 loads, cluster 8",
    (132, 72001): "sum 1024x1, 2 loads, cluster 2",
    (200, 320003): "sum 1024x1, 2 loads",
    (2000, 80003): "sum 256x1, 5 loads",
}


@pytest.mark.parametrize("case", UNALIGNED, ids=str)
def test_what_serves_unaligned_rows(case: tuple[int, int]) -> None:
    rows, size = case
    assert told(choose_rows("sum", rows, size, 2, 8, True, 16)) == UNALIGNED[case]


# (operator, elements, elements from row to row, address, bytes) -> elements per access, and
# True for whole vectors with elements before and after them.
ACCESSES: dict[tuple[Op, int, tuple[int, ...], int, int], tuple[int, bool]] = {
    ("sum", 64, (64,), 0, 2): (8, False),
    ("sum", 52, (52,), 0, 2): (4, False),
    ("sum", 64, (64,), 4, 2): (2, False),
    ("sum", 21, (21,), 0, 2): (1, False),
    ("sum", 193, (193,), 0, 2): (8, True),
    ("sum", 30002, (30002,), 0, 2): (2, False),
    ("sum", 32770, (32770,), 0, 2): (8, True),  # longer than a block keeps in registers
    ("sum", 5005, (5005,), 0, 4): (1, False),
    ("softmax", 52, (52, 52), 0, 2): (4, False),
    ("softmax", 132, (132, 132), 0, 2): (4, False),
    ("softmax", 130, (130, 130), 0, 2): (2, False),
    ("softmax", 220, (220, 220), 0, 2): (8, True),
    ("softmax", 220, (228, 220), 0, 2): (8, True),
    ("softmax", 2048, (2048, 2052), 0, 2): (4, False),  # operands at different offsets
    ("softmax", 2048, (2048, 2049), 0, 2): (1, False),
    ("softmax_backward", 31, (31, 31, 31), 0, 4): (4, True),
}


@pytest.mark.parametrize("case", ACCESSES, ids=str)
def test_elements_per_access(case: tuple[Op, int, tuple[int, ...], int, int]) -> None:
    op, size, apart, address, itemsize = case
    assert row_vectors(op, size, apart, (address,), itemsize, 1) == ACCESSES[case]
    assert row_vectors(op, size, apart, (address,), itemsize, 3) == (1, False)


@pytest.mark.parametrize(("op", "itemsize"), [r for r in RULES if r[0] != "sum"], ids=str)
def test_without_clusters(op: Op, itemsize: int) -> None:
    """Rows up to 96 KB use shared memory, longer rows are read twice."""
    V = 16 // itemsize
    kernels = [choose_rows(op, 2000, n * V, itemsize, V, False, 1).kernel for n in
               (64, 2048, 5000, 8200, 16384)]  # fmt: skip
    assert kernels[2] == ("shared" if op == "softmax" else "registers")
    assert kernels[0] == "registers" and kernels[3:] == ["streaming", "streaming"]


def test_rows_without_whole_vectors_never_wait_in_shared_memory() -> None:
    for size in (20000, 100000):
        unaligned = choose_rows("softmax", 2000, size + 1, 4, 4, True, 16)
        elements = choose_rows("softmax", 2000, size, 4, 1, False, 16)
        assert unaligned.kernel == elements.kernel == "registers"
        assert unaligned.unaligned and unaligned.vector == 4 and elements.vector == 1
        assert choose_rows("softmax", 2000, size, 4, 4, False, 16).kernel == "shared"


def test_short_rows_take_turns_where_there_are_64_blocks_of_them() -> None:
    def words(rows: int, size: int, unaligned: bool = False) -> str:
        return told(choose_rows("sum", rows, size, 2, 8, unaligned, 16))

    assert words(1048576, 64) == words(8192, 64) == "short 8x32, 1 loads, 4 turns"
    assert words(8191, 64) == "short 4x64, 2 loads"
    assert words(932068, 72) == words(4096, 72) == "short 8x32, 2 loads, 2 turns"
    assert words(4095, 72) == "short 8x32, 2 loads"
    assert words(1000, 1000) == words(10**6, 1000) == "short 32x8, 4 loads"
    # Unaligned rows use the kernel that supports them.
    assert words(1048576, 63, unaligned=True) == "sum 16x16, 2 loads"
    assert words(1000, 1001, unaligned=True) == "sum 32x8, 4 loads"


def test_few_rows_are_shared_by_blocks() -> None:
    def blocks(rows: int, size: int, clusters: int = 16) -> tuple[int, int]:
        choice = choose_rows("sum", rows, size, 4, 4, False, clusters)
        return choice.cluster, choice.split > 1

    assert blocks(2000, 131072) == (1, False)  # enough rows
    assert [blocks(2, n) for n in (4096, 20480, 20484, 40000)] == [
        (1, False), (1, False), (8, False), (8, False),
    ]  # fmt: skip
    assert blocks(2, 131072) == blocks(2, 20484, clusters=1) == (1, True)
    assert blocks(132, 20484) == (2, False) and blocks(133, 20484) == (1, False)
    assert [blocks(rows, 131072) for rows in (3, 4, 66, 67, 132, 133)] == [
        (1, True), (8, False), (8, False), (2, False), (2, False), (1, False),
    ]  # fmt: skip
    assert blocks(131, 20484, clusters=1) == (1, True)
    assert blocks(132, 20484, clusters=1) == (1, False)


def test_unaligned_rows_need_a_thread_for_each_element_outside_vectors() -> None:
    problem = RowProblem("sum", 100, 101, 8, True)
    reasons = [
        why_not(RowChoice("sum", threads, 8, 2, 8, unaligned=True), problem, 1, 2**16)
        for threads in (8, 16)
    ]
    assert reasons == ["too few threads for unaligned rows", None]
