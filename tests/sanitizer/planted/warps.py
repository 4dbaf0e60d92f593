"""Shuffles, votes and reductions of a warp: absent lanes, wrong masks; sync_warp with a mask."""

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import smem, sync_if

LOWER, UPPER = 0x0000FFFF, 0xFFFF0000


def integers():
    return fk.randint(0, 99, 32), fk.empty(32, dtype=torch.int32)


def paired(x, y):
    groups = x.view(2, 16)
    return [(y, (groups + groups.roll(8, 1)).view(-1))]


def half_by_half(x, y):
    return [(y[:16], x[:16].sum().int().expand(16)), (y[16:], x[16:].max().expand(16))]


def moved_together(x, y):
    kept = x[x > 0]
    return [(y[: len(kept)], kept), (y[len(kept) :], fk.zeros(32 - len(kept), dtype=x.dtype))]


ABSENT, MASK = ("shuffle-inactive",), ("member-mask",)


@family(block=32, args=integers, want=paired, bugs=(
    Bug("shuffled_in_a_branch", ABSENT,
        "All lanes are named in a shuffle that 12 lanes reach.", also=MASK),
    Bug("with_half_the_mask", MASK, "All lanes shuffle, but the mask names only the lower half.",
        also=ABSENT),
    Bug("with_masks_of_two_kinds", MASK, "The two halves use different masks."),
))  # fmt: skip
@cute.kernel
def pairs(mX, mY, bug):
    """Compute y[i] = x[i] + x[i + 8] in groups of 16 lanes."""
    lane, _, _ = cute.arch.thread_idx()
    x = mX[lane]
    if const_expr(bug == "shuffled_in_a_branch"):
        if lane < 12:
            x += cute.arch.shuffle_sync_down(x, offset=8)  # BUG shuffled_in_a_branch
    elif const_expr(bug == "with_half_the_mask"):
        x += cute.arch.shuffle_sync_bfly(x, offset=8, mask=LOWER)  # BUG with_half_the_mask
    elif const_expr(bug == "with_masks_of_two_kinds"):
        mask = Int32(LOWER) if lane < 16 else Int32(-1)
        x += cute.arch.shuffle_sync_bfly(x, offset=8, mask=mask)  # BUG with_masks_of_two_kinds
    else:
        x += cute.arch.shuffle_sync_bfly(x, offset=8)
    mY[lane] = x


@family(block=32, args=integers, want=half_by_half, bugs=(
    Bug("with_the_others_mask", (*MASK, *ABSENT), "The mask is the other half's.",
        also=ABSENT, loose=True),
    Bug("across_the_middle", ABSENT, "The lower half shuffles with lanes of the upper half."),
    Bug("sent_by_the_last_lane", ABSENT, "The broadcast comes from a lane of the other half."),
    Bug("synced_with_the_others", MASK, "sync_warp uses the other half's mask."),
    Bug("reduced_with_the_others", MASK, "A reduction uses the other half's mask."),
))  # fmt: skip
@cute.kernel
def halves(mX, mY, bug):
    """The lower half of the warp sums its values; the upper half finds its maximum."""
    lane, _, _ = cute.arch.thread_idx()
    x = mX[lane]
    mask = UPPER if const_expr(bug == "with_the_others_mask") else LOWER
    offset = 16 if const_expr(bug == "across_the_middle") else 8
    source = 31 if const_expr(bug == "sent_by_the_last_lane") else 15
    if lane < 16:
        if const_expr(bug == "synced_with_the_others"):
            cute.arch.sync_warp(UPPER)  # BUG synced_with_the_others
        if const_expr(bug == "reduced_with_the_others"):
            # BUG reduced_with_the_others
            x = cute.arch.warp_redux_sync(x, "add", mask_and_clamp=UPPER)
        else:
            # BUG with_the_others_mask, across_the_middle
            x += cute.arch.shuffle_sync_bfly(x, offset=offset, mask=mask)
            x += cute.arch.shuffle_sync_bfly(x, offset=4, mask=LOWER)
            x += cute.arch.shuffle_sync_bfly(x, offset=2, mask=LOWER)
            x += cute.arch.shuffle_sync_bfly(x, offset=1, mask=LOWER)
        x = cute.arch.shuffle_sync(x, offset=source, mask=LOWER)  # BUG sent_by_the_last_lane
    else:
        x = cute.arch.warp_redux_sync(x, "max", mask_and_clamp=UPPER)
    mY[lane] = x


@family(block=32, args=lambda: (fk.randn(20), fk.empty(1)), want=lambda x, y: x.sum()[None], bugs=(
    Bug("of_lanes_with_a_value", ABSENT, "The shuffles are inside `if tidx < n`.", also=MASK),
    Bug("after_some_have_left", ABSENT, "warp_reduction_sum is inside `if tidx < n`.", also=MASK),
))  # fmt: skip
@cute.kernel
def tail_sum(mX, mY, bug):
    """Sum fewer values than there are threads; threads without a value contribute 0."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    total = Float32(0.0)
    if tidx < n:
        total = mX[tidx]
        if const_expr(bug == "of_lanes_with_a_value"):
            for step in cutlass.range_constexpr(5):
                # BUG of_lanes_with_a_value
                total += cute.arch.shuffle_sync_down(total, offset=16 >> step)
    if const_expr(bug == "after_some_have_left"):
        if tidx < n:
            total = cute.arch.warp_reduction_sum(total)  # BUG after_some_have_left
    elif const_expr(bug is None):
        total = cute.arch.warp_reduction_sum(total)
    if tidx == 0:
        mY[0] = total


@family(block=48, args=lambda: (fk.randn(48), fk.empty(3)), want=lambda x, y: x.view(3, 16).sum(1),
        bugs=(
    Bug("from_lanes_not_there", ABSENT, "The second warp has 16 lanes, but sums 32.", also=MASK),
))  # fmt: skip
@cute.kernel
def short_block(mX, mY, bug):
    """With 48 threads, the second warp has 16 lanes, and reduces with a mask for these lanes."""
    tidx, _, _ = cute.arch.thread_idx()
    x = mX[tidx]
    if const_expr(bug == "from_lanes_not_there"):
        for step in cutlass.range_constexpr(5):
            x += cute.arch.shuffle_sync_down(x, offset=16 >> step)  # BUG from_lanes_not_there
    else:
        for step in cutlass.range_constexpr(1, 5):
            x += cute.arch.shuffle_sync_bfly(x, offset=16 >> step)
    if tidx % 16 == 0:
        mY[tidx // 16] = x


@family(block=32, args=lambda: (fk.randn(32), fk.zeros(32)), want=moved_together, bugs=(
    Bug("voting_for_half", MASK, "All lanes vote, but the mask names only the lower half.",
        also=("global-race",)),
))  # fmt: skip
@cute.kernel
def compact(mX, mY, bug):
    """Pack a warp's positive values; the bits of a vote determine each value's slot."""
    lane, _, _ = cute.arch.thread_idx()
    x = mX[lane]
    mask = LOWER if const_expr(bug == "voting_for_half") else -1
    votes = cute.arch.vote_ballot_sync(x > 0, mask=mask)  # BUG voting_for_half
    place = cute.arch.popc(votes & ((Int32(1) << lane) - 1))
    if x > 0:
        mY[place] = x


THREADS = 64


def pair():
    return fk.randn(THREADS), fk.empty(THREADS)


def relayed(x, y):
    rows = y.view(2, 2, 16)
    return [(rows[:, 1], x.view(2, 2, 16)[:, 0])]


def turned(x, s, y):
    x = x.view(8, 8)
    for k in range(3):
        x = x.roll(-1 - k, 1) + 1.0
    return [(y, (x + fk.arange(8)).view(-1))]


RACE = ("shared-race",)


@family(block=THREADS, args=pair, want=lambda x, y: x.view(2, 32).flip(1).view(-1), bugs=(
    Bug("lower_half", RACE, "Only the lower half synchronises."),
    Bug("each_half", RACE, "Each half synchronises separately, but reads the other half."),
    Bug("each_byte", RACE, "Groups of 8 lanes synchronise, each with its own mask."),
    Bug("all_but_one", RACE, "The mask omits lane 31."),
))  # fmt: skip
@cute.kernel
def mirrored_warps(mX, mY, bug):
    """Each warp mirrors its 32 values."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 32
    sX = smem(THREADS)
    sX[tidx] = mX[tidx]  # BUG lower_half, each_half, each_byte, all_but_one
    if const_expr(bug == "lower_half"):
        if lane < 16:
            cute.arch.sync_warp(LOWER)
    elif const_expr(bug == "each_half"):
        if lane < 16:
            cute.arch.sync_warp(LOWER)
        else:
            cute.arch.sync_warp(UPPER)
    elif const_expr(bug == "each_byte"):
        cute.arch.sync_warp(Int32(0xFF) << (lane // 8 * 8))
    elif const_expr(bug == "all_but_one"):
        if lane < 31:
            cute.arch.sync_warp(0x7FFFFFFF)
    else:
        cute.arch.sync_warp()
    mY[tidx] = sX[tidx - lane + 31 - lane]  # BUG lower_half, each_half, each_byte, all_but_one


@family(block=THREADS, args=pair, want=relayed, bugs=(
    Bug("other_way_round", RACE, "The halves synchronise in the wrong order."),
    Bug("without_the_link", RACE, "No lane is in both masks."),
))  # fmt: skip
@cute.kernel
def lane_relay(mX, mY, bug):
    """Lanes 0 to 15 meet, then lanes 15 to 31, so the upper half sees the lower half's writes."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 32
    sX = smem(THREADS)
    if lane < 16:
        sX[tidx] = mX[tidx]  # BUG other_way_round, without_the_link
        sync_if(bug != "other_way_round", cute.arch.sync_warp, LOWER)
    if const_expr(bug == "without_the_link"):
        if lane > 15:
            cute.arch.sync_warp(UPPER)
    elif lane > 14:
        cute.arch.sync_warp(0xFFFF8000)
    if const_expr(bug == "other_way_round"):
        if lane < 16:
            cute.arch.sync_warp(LOWER)
    if lane > 15:
        mY[tidx] = sX[tidx - 16]  # BUG other_way_round, without_the_link


@family(block=THREADS, args=lambda: (*pair(), fk.empty(THREADS)), want=turned, bugs=(
    Bug("of_two_groups", ("global-race",), "Values come from another group.", loose=True),
    Bug("without_second_sync", ("global-race",),
        "Values are overwritten while others may read them.", loose=True),
))  # fmt: skip
@cute.kernel
def turning_quarters(mX, mS, mY, bug):
    """In each of three rounds, groups of 8 lanes reverse their values through global memory."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 8
    group = Int32(0xFF) << (tidx % 32 // 8 * 8)
    width = 16 if const_expr(bug == "of_two_groups") else 8
    x = mX[tidx]
    for k in cutlass.range(3, unroll=1):
        mS[tidx] = x  # BUG of_two_groups, without_second_sync
        cute.arch.sync_warp(group)
        # BUG of_two_groups, without_second_sync
        x = mS[tidx - tidx % width + (tidx + 1 + k) % width] + 1.0
        sync_if(bug != "without_second_sync", cute.arch.sync_warp, group)
    mY[tidx] = x + lane


@family(block=THREADS, args=lambda: (fk.randn(THREADS), fk.zeros(4)),
        want=lambda x, y: x.view(4, 16).sum(1), bugs=(
    Bug("of_the_whole_warp", RACE,
        "A lane adds up its whole warp after only half of it has synchronised."),
))  # fmt: skip
@cute.kernel
def half_leaders(mX, mY, bug):
    """The first lane of each half of a warp adds up the values that its half stored."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 32
    half = tidx % 32 // 16
    sX = smem(THREADS)
    sX[tidx] = mX[tidx]  # BUG of_the_whole_warp
    mask = Int32(LOWER) << (16 * half)
    cute.arch.sync_warp(mask)
    count = 32 if const_expr(bug == "of_the_whole_warp") else 16
    if lane % count == 0:
        total = Float32(0.0)
        for k in cutlass.range_constexpr(count):
            total += sX[tidx + k]  # BUG of_the_whole_warp
        mY[tidx // 16] = total
