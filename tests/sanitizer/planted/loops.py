"""Loops that do not end: a condition that stays true, a wait for what nobody does."""

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family


def chained():
    return fk.randint(0, 9, 4), fk.zeros(4, dtype=torch.int32), fk.empty(4, dtype=torch.int32)


ENDLESS = ("endless",)


@family(block=32, args=lambda: (fk.randn(32), fk.empty(1)), want=lambda x, y: x.sum()[None], bugs=(
    Bug("down_to_zero", ENDLESS, "The loop runs while half >= 0, and half stays at 0.", loose=True),
    Bug("never_halved", ENDLESS, "The width is not halved.", loose=True),
))  # fmt: skip
@cute.kernel
def dynamic_tree(mX, mY, bug):
    """A tree whose width is halved in a loop; 32 threads."""
    tidx, _, _ = cute.arch.thread_idx()
    sP = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(32), 16)
    sP[tidx] = mX[tidx]
    cute.arch.sync_threads()
    half = Int32(16)
    last = Int32(0 if bug == "down_to_zero" else 1)
    while half >= last:  # BUG down_to_zero, never_halved
        if tidx < half:  # BUG down_to_zero, never_halved
            sP[tidx] = sP[tidx] + sP[tidx + half]  # BUG down_to_zero, never_halved
        cute.arch.sync_threads()  # BUG down_to_zero, never_halved
        if const_expr(bug != "never_halved"):
            half = half // 2  # BUG down_to_zero
    if tidx == 0:
        mY[0] = sP[0]


@family(block=32, grid=lambda mX, mF, mY: mX.shape[0], args=chained,
        want=lambda x, f, y: x.cumsum(0).int(), bugs=(
    Bug("waiting_for_itself", ENDLESS, "Each block waits for its own flag.", loose=True),
    Bug("flag_never_set", ENDLESS, "Nobody sets the flags.", loose=True),
    Bug("flag_too_early", ("global-race",), "The flag is set before the sum is stored.",
        also=("uninitialised-global",)),
    Bug("without_waiting", ("global-race",), "No block waits for the one before.",
        also=("uninitialised-global",)),
))  # fmt: skip
@cute.kernel
def chain(mX, mF, mY, bug):
    """Running sums over blocks: each waits for the flag of the one before."""
    bidx, _, _ = cute.arch.block_idx()
    tidx, _, _ = cute.arch.thread_idx()
    if tidx == 0:
        total = mX[bidx]
        if bidx > 0:
            flag = Int32(0)
            if const_expr(bug != "without_waiting"):
                while flag == 0:  # BUG waiting_for_itself, flag_never_set
                    place = bidx if bug == "waiting_for_itself" else bidx - 1
                    # BUG waiting_for_itself, flag_never_set
                    flag = cute.arch.load(mF.iterator + place, Int32, sem="acquire", scope="gpu")
            total += mY[bidx - 1]  # BUG flag_too_early, without_waiting
        if const_expr(bug == "flag_too_early"):
            cute.arch.store(mF.iterator + bidx, Int32(1), sem="release", scope="gpu")
        mY[bidx] = total  # BUG flag_too_early, without_waiting
        if const_expr(bug not in ("flag_never_set", "flag_too_early")):
            cute.arch.store(mF.iterator + bidx, Int32(1), sem="release", scope="gpu")
