"""Compare the counting listener with a slow, simple count, warp by warp, in plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from forgekit.vgpu.counters.costs import AccessCounts, Costs, paired
from forgekit.vgpu.counters.counting import Counting
from forgekit.vgpu.counters.warps import Unlike, warps
from tests.vgpu.ptx_launch import launch

# -- the cost of an access, counted slowly and obviously --------------------------------------- A
# warp is a list of 32 addresses, None for an idle lane. Each function returns (units, ideal units);
# those for cp.async return two such pairs, for global and for shared memory.
LANES = 32


def sectors(warp, width):
    there = [a for a in warp if a is not None]
    return len({a // 32 for a in there}), -(-len(set(there)) * width // 32)


def atomic_sectors(warp, width):
    most: dict[int, int] = {}
    for a, n in Counter(a for a in warp if a is not None).items():
        most[a // 32] = max(most.get(a // 32, 0), n)
    return sum(most.values()), sectors(warp, width)[1]


def fullest(part, width, *, shared=True):
    words = [a // 4 + k for a in part if a is not None for k in range(max(width // 4, 1))]
    return max(Counter(w % 32 for w in (set(words) if shared else words)).values(), default=0)


def served(warp, width, parts, *, shared=True):
    step = LANES // parts
    cut = [warp[i : i + step] for i in range(0, LANES, step)]
    busy = [part for part in cut if any(a is not None for a in part)]
    return sum(fullest(part, width, shared=shared) for part in busy), len(busy)


def store_wavefronts(warp, width):
    return served(warp, width, max(width // 4, 1))


def load_wavefronts(warp, width):
    parts = max(width // 4, 1)
    twins = any(
        all(None in (warp[i], warp[i ^ x]) or warp[i] == warp[i ^ x] for i in range(LANES))
        for x in (1, 2)
    )
    return served(warp, width, parts // 2 if parts > 1 and twins else parts)


def atomic_wavefronts(warp, width):
    return served(warp, width, max(width // 4, 1), shared=False)


OBVIOUS = {
    "global_load": sectors, "global_store": sectors, "global_atomic": atomic_sectors,
    "global_reduction": atomic_sectors, "shared_load": load_wavefronts,
    "shared_store": store_wavefronts, "shared_atomic": atomic_wavefronts,
}  # fmt: skip


def through_l1(source, target, width):
    step = LANES // max(width // 4, 1)
    units = ideal = 0
    for i in range(0, LANES, step):
        sides = [fullest(side[i : i + step], width, shared=False) for side in (source, target)]
        units += max(sides)
        ideal += max(sides) > 0
    return sectors(source, width), (units, ideal)


def past_l1(source, target, width):
    copies = [(s, t) for s, t in zip(source, target, strict=True) if s is not None]
    pieces: dict[tuple, set] = {}
    for s, t in copies:
        pieces.setdefault((s // 32, t // 32, (s // 16 + t // 16) % 2), set()).add(s // 16 % 2)
    trips = {
        (s // 4, t // 4, t - s, shift, tuple(halves)) for (s, t, shift), halves in pieces.items()
    }
    ideal = -(-len(copies) * width // 128)
    return (len(pieces), sectors(source, width)[1]), (len(trips), ideal)


# -- random accesses with the structure that kernels have ----------------------------------------
BLOCKS, THREADS = 4, 96


def some_addresses(rng, width, dtype, reach=4096):
    """Return the addresses of an access: (B, T), (1, T), (B, 1) or (1, 1), affine or scattered."""
    shape = [(BLOCKS, THREADS), (1, THREADS), (BLOCKS, 1), (1, 1)][rng.integers(4)]
    block, thread = np.arange(shape[0])[:, None], np.arange(shape[1])
    lane, warp = thread % LANES, thread // LANES
    kind = rng.integers(6)
    if kind == 0:  # coalesced or strided
        units = thread * rng.integers(1, 9) + block * rng.integers(0, 64)
    elif kind == 1:  # tiles of 16 columns
        units = lane % 16 + lane // 16 * rng.integers(1, 70) + warp * 37 + block * 5
    elif kind == 2:  # descending, or all at the same address
        units = (THREADS - thread) * rng.integers(0, 3) + block
    elif kind == 3:  # scattered
        units = rng.integers(0, reach // width, shape)
    elif kind == 4:  # few addresses, each used often
        units = rng.integers(0, 7, shape) * rng.integers(1, 40)
    else:  # the same in all blocks except one
        units = thread * 2 + block * 32 + (block == 3) * (lane % 5)
    return ((units + rng.integers(0, 40)) * width + 4096).astype(dtype).reshape(shape)


def some_mask(rng):
    kind = rng.integers(7)
    everyone = np.ones((BLOCKS, THREADS), bool)
    if kind == 0:
        return None
    if kind == 1:
        return (np.arange(THREADS) < 70)[None]
    if kind == 2:
        return (rng.random(BLOCKS) < 0.6)[:, None]
    if kind == 3:
        return rng.random((BLOCKS, THREADS)) < rng.choice([0.1, 0.5, 0.9])
    if kind == 4:
        everyone[-1, 40:] = False
        return everyone
    if kind == 5:
        return np.array([[bool(rng.integers(2))]])
    everyone[:, : rng.integers(1, 40)] = False
    return everyone


def as_warps(address, mask):
    """Return every warp that has an active lane, as a list of addresses and None."""
    full = np.broadcast_to(address, (BLOCKS, THREADS)).reshape(-1, LANES)
    there = np.broadcast_to(True if mask is None else mask, (BLOCKS, THREADS)).reshape(-1, LANES)
    rows = [
        [int(a) if t else None for a, t in zip(row, active, strict=True)]
        for row, active in zip(full, there, strict=True)
    ]
    return [row for row in rows if any(a is not None for a in row)]


def totals(found):
    found = list(found)
    return sum(u for u, _ in found), sum(i for _, i in found)


@pytest.mark.parametrize("kind", sorted(OBVIOUS))
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_random_accesses_cost_what_the_obvious_count_says(kind, width):
    rng = np.random.default_rng([width, sorted(OBVIOUS).index(kind)])
    costs = Costs()  # one object for all accesses, to test cached patterns
    for _ in range(60):
        address = some_addresses(rng, width, rng.choice([np.uint32, np.uint64]))
        mask = some_mask(rng)
        counts = AccessCounts(kind, width)
        costs.add((counts,), kind, address, mask, (BLOCKS, THREADS), width)
        rows = as_warps(address, mask)
        each = [OBVIOUS[kind](row, width) for row in rows]
        assert (counts.units, counts.ideal) == totals(each)
        assert counts.requests == len(rows)
        assert counts.bytes_asked == width * sum(a is not None for row in rows for a in row)
        if each:
            assert (counts.low, counts.high) == (min(u for u, _ in each), max(u for u, _ in each))
        assert sum(counts.strides.values()) == counts.units - counts.ideal


@pytest.mark.parametrize(("rule", "width"), [("async", 4), ("async", 8), ("async", 16),
                                             ("async past L1", 16)])  # fmt: skip
def test_random_copies_cost_what_the_obvious_count_says(rule, width):
    obvious = past_l1 if rule == "async past L1" else through_l1
    rng, costs = np.random.default_rng(width), Costs()
    for _ in range(60):
        source = some_addresses(rng, width, np.uint64, 1 << 20)
        target = some_addresses(rng, width, np.uint32)
        mask = some_mask(rng)
        read, written = (AccessCounts(rule, width) for _ in range(2))
        both = paired(source, target)
        costs.add((read, written), rule, both, mask, (BLOCKS, THREADS), width)
        pairs = zip(as_warps(source, mask), as_warps(target, mask), strict=True)
        each = [obvious(s, t, width) for s, t in pairs]
        assert (read.units, read.ideal) == totals(e[0] for e in each)
        assert (written.units, written.ideal) == totals(e[1] for e in each)


def test_alike_warps_are_one_pattern():
    """The test includes a partial last block, and warps whose threads span two rows."""
    thread, block = np.arange(256), np.arange(50)[:, None]
    address = ((thread % 16 + thread // 16 * 100 + block * 16) * 4).astype(np.uint64)
    assert len(list(warps(address, None, (50, 256)))) == 1
    mask = (thread < 200) | (block < 49)
    assert not any(isinstance(g, Unlike) for g in warps(address, mask, (50, 256)))


# -- instructions, divergence, bytes: whole kernels ----------------------------------------
def counted(body, *arrays, **how):
    listener = Counting()
    launch(body, *arrays, listeners=(listener,), **how)
    (only,) = listener.launches
    return only


def at(counts, text):
    """Return the index of the only instruction that begins with this text."""
    found = [i for i, x in enumerate(counts.program.instructions) if x.text.startswith(text)]
    assert len(found) == 1
    return found[0]


def test_instructions_of_warps_and_threads():
    """Of 48 threads, 16 are in the second warp; only its threads above 40 take a branch."""
    x = np.zeros(64, np.uint32)
    c = counted(
        "setp.lt.u32 %p1, %r0, 40;\n@%p1 bra END;\nmov.u32 %r1, 7;\nEND: ret;", x, block=48, grid=3
    )
    assert c.warp_instructions[at(c, "setp")] == 6
    assert c.thread_instructions[at(c, "setp")] == 144
    assert c.warp_instructions[at(c, "mov.u32 %r1")] == 3
    assert c.thread_instructions[at(c, "mov.u32 %r1")] == 24
    assert c.divergent[at(c, "@%p1 bra")] == 3  # in one warp of each block
    assert sum(c.divergent) == 3


def test_warps_that_part_as_a_whole_do_not_diverge():
    x = np.zeros(64, np.uint32)
    c = counted("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra END;\nmov.u32 %r1, 7;\nEND: ret;", x, block=64)
    assert sum(c.divergent) == 0
    assert c.warp_instructions[at(c, "mov.u32 %r1")] == 1


def test_a_barrier_counts_once():
    x = np.zeros(64, np.uint32)
    c = counted("bar.sync 0;\nret;", x, block=64, grid=2)
    assert c.warp_instructions[at(c, "bar")] == 4


COPY = """
mul.wide.u32 %rd5, %r0, {step};
add.s64 %rd6, %rd0, %rd5; add.s64 %rd7, %rd1, %rd5;
{guard} ld.global.u32 %r1, [%rd6];
{guard} st.global.u32 [%rd7], %r1;
ret;
"""


def test_bytes_touched_once():
    x, y = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    c = counted(COPY.format(step=8, guard=""), x, y, grid=4)  # four blocks do the same work
    assert [(t.name, t.size_bytes, t.read_bytes, t.written_bytes) for t in c.tensors] == [
        ("x", 256, 128, 0), ("y", 256, 0, 128),
    ]  # fmt: skip
    assert (c.read_bytes, c.written_bytes) == (128, 128)
    load = c.accesses[at(c, "ld.global"), "global_load"]
    assert (load.requests, load.units, load.ideal, load.bytes_asked) == (4, 32, 16, 512)
    assert load.strides == {8: 16}


def test_accesses_of_several_widths_are_joined():
    x = np.zeros(64, np.uint32)
    body = """
    mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd0, %rd5;
    ld.global.u8 %rs1, [%rd6]; ld.global.u16 %rs2, [%rd0+2];
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+128];
    ret;
    """
    c = counted(body, x)
    # one byte in each of 32 words, 2 bytes at offset 2, and 16 bytes at offset 128
    assert c.read_bytes == 32 + 2 + 16


def test_a_tensor_that_begins_between_two_vectors():
    """An 8-byte vector reads words 1 and 2; word 2 is read again, so there are 8 distinct bytes."""
    x = np.zeros(64, np.uint32)[1:]
    c = counted("ld.global.v2.u32 {%r1, %r2}, [%rd0+4]; ld.global.u32 %r3, [%rd0+8]; ret;", x)
    assert c.read_bytes == 8


def test_a_vector_that_overhangs_the_end():
    """The last 4 of the vector's 16 bytes are outside the tensor and unused."""
    x, y = np.zeros(15, np.uint32), np.zeros(4, np.uint32)
    body = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+48]; st.global.u32 [%rd1], %r3; ret;"
    c = counted(body, x, y)
    assert [t.read_bytes for t in c.tensors] == [12, 0]


def test_guarded_lanes_ask_for_nothing():
    x, y = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    c = counted("setp.lt.u32 %p1, %r0, 3;" + COPY.format(step=4, guard="@%p1"), x, y, block=64)
    load = c.accesses[at(c, "@%p1 ld"), "global_load"]
    assert (load.requests, load.bytes_asked, load.units) == (1, 12, 1)
    assert c.thread_instructions[at(c, "@%p1 ld")] == 64  # all threads execute it


def test_tensors_that_overlap():
    x = np.zeros(64, np.uint32)
    c = counted(COPY.format(step=4, guard=""), x[:32], x[16:48])
    by_name = {t.name: (t.read_bytes, t.written_bytes) for t in c.tensors}
    assert by_name == {"x": (128, 64), "y": (64, 128)}
    assert (c.read_bytes, c.written_bytes) == (128, 128)


def test_generic_addresses_count_for_the_memory_they_mean():
    x = np.zeros(64, np.uint32)
    body = """
    .shared .align 4 .b8 s[256];
    mov.u64 %rd3, s; cvta.shared.u64 %rd4, %rd3;
    mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd4, %rd5; add.s64 %rd7, %rd0, %rd5;
    st.u32 [%rd6], %r0; ld.u32 %r1, [%rd6]; st.u32 [%rd7], %r1;
    ret;
    """
    c = counted(body, x)
    kinds = Counter(kind for _, kind in c.accesses)
    assert kinds == {"shared_store": 1, "shared_load": 1, "global_store": 1}
    assert all(a.requests == 1 for a in c.accesses.values())
    assert c.written_bytes == 128


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("atom.global.add.u32 %r1, [%rd0], %r0;\nst.global.u32 [%rd0+4], %r1;", "global_atomic"),
        ("atom.global.add.u32 %r1, [%rd0], %r0;", "global_reduction"),  # the old value is not used
        ("atom.global.add.u32 _, [%rd0], %r0;", "global_reduction"),
        ("red.global.add.u32 [%rd0], %r0;", "global_reduction"),
    ],
)
def test_atomics_without_use_of_the_old_value_are_reductions(text, kind):
    c = counted(f"{text}\nret;", np.zeros(8, np.uint32))
    found = [a for (_, k), a in c.accesses.items() if k == kind]
    assert len(found) == 1
    assert (found[0].requests, found[0].units) == (1, 32)  # all lanes use the same address
    assert c.read_bytes == 4


@pytest.mark.parametrize(("kind", "width"), [("f16", 2), ("bf16", 2), ("f16x2", 4), ("bf16x2", 4)])
@pytest.mark.parametrize("apart", [1, 8])
def test_atomics_in_half_precision_count_at_their_width(kind, width, apart):
    """Neighbouring lanes access addresses that are `apart` values apart."""
    value = f"%b{1 if width == 2 else 2}"
    text = f"""
    .reg .b16 %b1; .reg .b32 %b2; .shared .align 4 .b8 s[{32 * 8 * width}];
    mov.b16 %b1, 0; mov.b32 %b2, 0; mov.u64 %rd4, s;
    mul.wide.u32 %rd5, %r0, {apart * width}; add.s64 %rd6, %rd0, %rd5; add.s64 %rd7, %rd4, %rd5;
    red.global.add.noftz.{kind} [%rd6], {value};
    atom.global.add.noftz.{kind} {value}, [%rd6], {value};
    atom.shared.add.noftz.{kind} {value}, [%rd7], {value};
    st.global.b{8 * width} [%rd6], {value}; ret;
    """
    c = counted(text, np.zeros(32 * 8, np.uint32))
    lanes = [4096 + i * apart * width for i in range(LANES)]
    found = {kind: a for (_, kind), a in c.accesses.items() if kind in OBVIOUS}
    for name in ("global_reduction", "global_atomic", "shared_atomic"):
        a = found[name]
        assert (a.width, a.requests, a.bytes_asked) == (width, 1, LANES * width)
        assert (a.units, a.ideal) == OBVIOUS[name](lanes, width)
    assert c.read_bytes == c.written_bytes == LANES * width


ASYNC = """
.shared .align 16 .b8 s[1024];
mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 16, %r1;
mul.wide.u32 %rd5, %r0, 16; add.s64 %rd6, %rd0, %rd5;
setp.ge.u32 %p1, %r0, {lanes};
cp.async.cg.shared.global [%r2], [%rd6], 16, %p1;
cp.async.wait_all; ret;
"""


@pytest.mark.parametrize(("lanes", "read"), [(32, (1, 16)), (16, (1, 8)), (0, None)])
def test_copies_that_fill_with_zeros_read_nothing_there(lanes, read):
    """Lane number `lanes` and all later lanes write zeros."""
    c = counted(ASYNC.format(lanes=lanes), np.zeros(128, np.uint32))
    found = {kind: (a.requests, a.units) for (_, kind), a in c.accesses.items()}
    assert found == {"shared_async": (1, 4)} | ({"global_async": read} if read else {})
    assert c.read_bytes == 16 * lanes


def test_batches_of_a_launch_are_added_up():
    x, y = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    whole = counted(COPY.format(step=4, guard=""), x, y, grid=7, block=64)
    parts = counted(COPY.format(step=4, guard=""), x, y, grid=7, block=64, batch_threads=128)
    assert parts.warp_instructions == whole.warp_instructions
    assert parts.accesses == whole.accesses
    assert parts.tensors == whole.tensors


LANE = np.arange(LANES)


@pytest.mark.parametrize(
    ("units", "stride"),
    [(LANE, 4), (LANE * 2, 8), (31 - LANE, -4), (np.where(LANE < 2, LANE, 3 * LANE), None)],
)
def test_the_distance_of_neighbouring_lanes(units, stride):
    counts = AccessCounts("global_load", 4)
    address = (units * 4 + 4096).astype(np.uint64)[None]
    Costs().add((counts,), "global_load", address, None, (1, LANES), 4)
    assert list(counts.strides) == [stride]


def test_the_distance_of_neighbouring_lanes_in_each_of_many_warps():
    """Warp k loads every k-th word; a single lane of warp 0 is active, and two lanes of warp 1."""
    warp = np.arange(64)[:, None]
    active = np.ones((64, LANES), bool)
    active[0] = LANE == 5
    active[1] = (LANE == 5) | (LANE == 8)
    counts = AccessCounts("shared_load", 4)
    address = (warp * LANE * 4).astype(np.uint64).reshape(1, -1)
    Costs().add((counts,), "shared_load", address, active.reshape(1, -1), address.shape, 4)
    assert set(counts.strides) == {4, 12, *range(8, 256, 4)}
