"""sync_warp with a mask: it orders the lanes of its mask, and no others."""

import cutlass
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import smem

THREADS = 64
LOWER, UPPER = 0x0000FFFF, 0xFFFF0000


def pair():
    return fk.randn(THREADS), fk.empty(THREADS)


def mirrored(x, y):
    return [(y, x.view(2, 32).flip(1).view(-1))]


def relayed(x, y):
    rows = y.view(2, 2, 16)
    return [(rows[:, 1], x.view(2, 2, 16)[:, 0])]


def turned(x, s, y):
    x = x.view(8, 8)
    for k in range(3):
        x = x.roll(-1 - k, 1) + 1.0
    return [(y, (x + fk.arange(8)).view(-1))]


RACE = ("shared-race",)


@family(block=THREADS, args=pair, want=mirrored, bugs=(
    Bug("lower_half", RACE, "Only the lower half syncs."),
    Bug("each_half", RACE, "Each half syncs for itself, and reads the other."),
    Bug("each_byte", RACE, "Groups of 8 lanes sync, each with its own mask."),
    Bug("all_but_one", RACE, "The mask leaves out lane 31."),
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
    Bug("other_way_round", RACE, "The halves sync in the wrong order."),
    Bug("without_the_link", RACE, "No lane is in both masks."),
))  # fmt: skip
@cute.kernel
def lane_relay(mX, mY, bug):
    """Lanes 0 to 15 meet, then 15 to 31: the upper half knows what the lower half wrote."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 32
    sX = smem(THREADS)
    if lane < 16:
        sX[tidx] = mX[tidx]  # BUG other_way_round, without_the_link
        if const_expr(bug != "other_way_round"):
            cute.arch.sync_warp(LOWER)
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
    Bug("without_second_sync", ("global-race",), "Overwritten while others may read.", loose=True),
))  # fmt: skip
@cute.kernel
def turning_quarters(mX, mS, mY, bug):
    """Groups of 8 lanes turn their values round through global memory, three times."""
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
        if const_expr(bug != "without_second_sync"):
            cute.arch.sync_warp(group)
    mY[tidx] = x + lane


@family(block=THREADS, args=lambda: (fk.randn(THREADS), fk.zeros(4)),
        want=lambda x, y: x.view(4, 16).sum(1), bugs=(
    Bug("of_the_whole_warp", RACE, "A lane adds up its warp after half of it has synced."),
))  # fmt: skip
@cute.kernel
def half_leaders(mX, mY, bug):
    """The first lane of each half of a warp adds up what its half has stored."""
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
