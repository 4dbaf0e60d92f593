"""Memory and masks of one warp: private tiles, quarters, ballots, leaders, branches."""

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import empty, integers, pair, smem, sync_if, zeros

THREADS = 64
LOWER, UPPER = 0x0000FFFF, 0xFFFF0000


def listed(x, n, y):
    kept = x[x > 0].sort().values
    return [(y[: len(kept)].sort().values, kept)]


def uneven(x, y):
    totals = torch.stack([row[: i % 5 + 1].sum() for i, row in enumerate(x)])
    return [(y, (totals.view(16, 2).flip(1).reshape(-1) + totals.sum()).int())]


def by_parity(x, y):
    return [(y[::2], x[::2].sum().int().expand(16)), (y[1::2], x[1::2].max().int().expand(16))]


RACE, MASK, ABSENT = ("shared-race",), ("member-mask",), ("shuffle-inactive",)


@family(block=THREADS, args=pair(192),
        want=lambda x, y: x.view(6, 8, 4).transpose(1, 2).reshape(-1), bugs=(
    Bug("read_early", RACE, "There is no sync_warp between the writes and the reads."),
    Bug("written_early", RACE, "There is no sync_warp before the tile is overwritten."),
    Bug("in_one_tile", RACE, "Both warps use the same tile.", loose=True),
    Bug("half_synced", RACE, "The halves of the warp synchronise separately, but exchange values.",
        loose=True),
))  # fmt: skip
@cute.kernel
def warp_tiles(mX, mY, bug):
    """Each warp repeatedly transposes 8 x 4 tiles through its own memory, with two sync_warp
    calls."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sX = smem((32, 2))
    mine = 0 if const_expr(bug == "in_one_tile") else warp
    for t in cutlass.range(mX.shape[0] // THREADS, unroll=1):
        base = t * THREADS + warp * 32
        sX[lane, mine] = mX[base + lane]  # BUG read_early, written_early, in_one_tile, half_synced
        if const_expr(bug == "half_synced"):
            if lane < 16:
                cute.arch.sync_warp(LOWER)
            else:
                cute.arch.sync_warp(UPPER)
        elif const_expr(bug != "read_early"):
            cute.arch.sync_warp()
        # BUG read_early, written_early, in_one_tile, half_synced
        y = sX[lane % 8 * 4 + lane // 8, mine]
        mY[base + lane] = y
        sync_if(bug != "written_early", cute.arch.sync_warp)


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x.view(-1, 8).flip(1).reshape(-1),
        bugs=(
    Bug("mask_of_the_next", MASK,
        "The mask names the next group instead of the lane's own.", also=RACE),
    Bug("across_groups", RACE, "The value comes from another group."),
    Bug("mask_of_four", RACE, "The masks are those of half a group."),
))  # fmt: skip
@cute.kernel
def quarters(mX, mY, bug):
    """Groups of 8 lanes reverse their values, each with its own mask."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 32
    group = lane // 8
    sX = smem(THREADS)
    mask = Int32(0xFF) << (8 * group)
    if const_expr(bug == "mask_of_the_next"):
        mask = Int32(0xFF) << (8 * (group ^ 1))
    if const_expr(bug == "mask_of_four"):
        mask = Int32(0x0F) << (8 * group + lane % 8 // 4 * 4)
    sX[tidx] = mX[tidx]  # BUG across_groups, mask_of_four
    cute.arch.sync_warp(mask)  # BUG mask_of_the_next
    other = tidx ^ (15 if const_expr(bug == "across_groups") else 7)
    mY[tidx] = sX[other]  # BUG across_groups, mask_of_four


@family(block=THREADS, args=lambda: (fk.randint(-9, 9, THREADS), zeros(1), zeros(THREADS)),
        want=listed, bugs=(
    Bug("from_lane_0", ABSENT, "The slot comes from lane 0, which may be absent.",
        also=("global-race", *MASK)),
    Bug("one_place", ("global-race",), "All lanes store in the first slot."),
))  # fmt: skip
@cute.kernel
def leaders(mX, mN, mY, bug):
    """Append positive values to a list; one lane per warp draws the slots for all such lanes."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 32
    x = mX[tidx]
    voters = cute.arch.vote_ballot_sync(x > 0)
    below = cute.arch.popc(voters & ((Int32(1) << lane) - 1))
    if x > 0:
        first = cute.arch.popc((voters & -voters) - 1)
        if const_expr(bug == "from_lane_0"):
            first = Int32(0)
        start = Int32(0)
        if lane == first:
            start = cute.arch.atomic_add(mN.iterator, cute.arch.popc(voters))
        start = cute.arch.shuffle_sync(start, offset=first, mask=voters)  # BUG from_lane_0
        place = start if const_expr(bug == "one_place") else start + below
        mY[place] = x  # BUG one_place


@family(block=32, args=lambda: (integers(32, 5), empty(32)), want=uneven, bugs=(
    Bug("meets_inside", ("deadlock",),
        "sync_warp is in the loop, which lanes leave at different times."),
    Bug("reduces_inside", ("deadlock",), "A shuffle is in the loop.", also=MASK),
    Bug("does_not_meet", RACE, "The neighbour's total is read without sync_warp."),
))  # fmt: skip
@cute.kernel
def uneven_loops(mX, mY, bug):
    """Lanes sum rows of different lengths, then synchronise and reduce together."""
    lane, _, _ = cute.arch.thread_idx()
    sX = smem(32, Int32)
    total = Int32(0)
    for k in cutlass.range(lane % 5 + 1, unroll=1):
        total += mX[lane, k]
        if const_expr(bug == "meets_inside"):
            cute.arch.sync_warp()  # BUG meets_inside
        if const_expr(bug == "reduces_inside"):
            total += cute.arch.shuffle_sync_bfly(total, offset=1)  # BUG reduces_inside
    sX[lane] = total  # BUG does_not_meet
    if const_expr(bug != "does_not_meet"):
        cute.arch.sync_warp()  # BUG meets_inside, reduces_inside
    both = cute.arch.warp_redux_sync(total, "add")
    mY[lane] = sX[lane ^ 1] + both  # BUG does_not_meet


@family(block=32, args=lambda: (integers(32), empty(32)), want=by_parity, bugs=(
    Bug("of_odd_lanes", ABSENT, "The last step reads lanes of the other branch."),
    Bug("mask_of_the_even", (*MASK, *ABSENT), "The mask is that of the other branch.", also=ABSENT),
))  # fmt: skip
@cute.kernel
def shuffle_in_branches(mX, mY, bug):
    """Even lanes compute a sum, odd lanes a maximum; masks name the participating lanes."""
    tidx, _, _ = cute.arch.thread_idx()
    x = mX[tidx]
    even = 0x55555555
    odd = 0xAAAAAAAA
    if tidx % 2 == 0:
        for step in cutlass.range_constexpr(4):
            offset = 1 if const_expr(bug == "of_odd_lanes" and step == 3) else 16 >> step
            x += cute.arch.shuffle_sync_bfly(x, offset=offset, mask=even)  # BUG of_odd_lanes
    else:
        mask = even if const_expr(bug == "mask_of_the_even") else odd
        for step in cutlass.range_constexpr(4):
            y = cute.arch.shuffle_sync_bfly(x, offset=16 >> step, mask=mask)  # BUG mask_of_the_even
            x = cutlass.max(x, y)
    mY[tidx] = x


@family(block=THREADS, args=lambda: (fk.randn(2, 2), fk.empty(THREADS)),
        want=lambda x, y: (x.sum(0)[:, None] * torch.arange(1.0, 33.0)).view(-1), bugs=(
    Bug("read_at_once", RACE, "Lanes read without sync_warp.", also=("uninitialised-shared",)),
    Bug("replaced_early", RACE, "Lane 0 writes again before all lanes have read."),
    Bug("of_the_other_warp", RACE, "The value is the other warp's.", loose=True,
        also=("uninitialised-shared",)),
))  # fmt: skip
@cute.kernel
def handed_by_lane_0(mX, mY, bug):
    """Twice, lane 0 of each warp writes a value for its warp to the same element."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sV = smem(2)
    total = Float32(0.0)
    for k in cutlass.range(2, unroll=1):
        if lane == 0:
            sV[warp] = mX[k, warp]  # BUG read_at_once, replaced_early, of_the_other_warp
        sync_if(bug != "read_at_once", cute.arch.sync_warp)
        w = 1 - warp if const_expr(bug == "of_the_other_warp") else warp
        total += sV[w] * (lane + 1)  # BUG read_at_once, replaced_early, of_the_other_warp
        sync_if(bug != "replaced_early", cute.arch.sync_warp)
    mY[tidx] = total
