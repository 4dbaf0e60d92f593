"""What threads do together: atomics, barriers, votes, and waits that spin."""

import cutlass
from cutlass import Float32, Int32, cute


@cute.kernel
def atomics_kernel(mX: cute.Tensor, mI: cute.Tensor, mF: cute.Tensor):
    """Every atomic operation once, by every thread; mI starts as ten integers."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    x, p = mX[i], mI.iterator
    cute.arch.atomic_add(p, x)
    cute.arch.atomic_max(p + 1, x)
    cute.arch.atomic_min(p + 2, x)
    cute.arch.atomic_and(p + 3, x)
    cute.arch.atomic_or(p + 4, x)
    cute.arch.atomic_xor(p + 5, x)
    cute.arch.atomic_exch(p + 6, x)
    cute.arch.atomic_cas(p + 7, cmp=Int32(-1), val=x)
    cute.arch.atomic_add(p + 8, Int32(1), sem="acq_rel", scope="gpu")
    cute.arch.red(p + 9, x, op="add", dtype="s32", sem="relaxed")
    f = x.to(Float32)
    cute.arch.atomic_add(mF.iterator, f * 0.1)
    cute.arch.atomic_fmax(mF.iterator + 1, f)
    cute.arch.atomic_fmin(mF.iterator + 2, f)


@cute.jit
def atomics(mX: cute.Tensor, mI: cute.Tensor, mF: cute.Tensor):
    grid = (mX.shape[0] // 64, 1, 1)
    atomics_kernel(mX, mI, mF).launch(grid=grid, block=(64, 1, 1))


@cute.kernel
def named_barriers_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Warp 0 fills a buffer, warps 1 and 2 use it: bar.arrive by one, bar.sync by the others."""
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(32), 16)
    for step in range(mX.shape[0] // 32):
        if warp == 0:
            cute.arch.barrier(barrier_id=2, number_of_threads=96)  # empty
            sX[lane] = mX[step * 32 + lane]
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=96)  # full
        else:
            cute.arch.barrier_arrive(barrier_id=2, number_of_threads=96)
            cute.arch.barrier(barrier_id=1, number_of_threads=96)
            mY[warp - 1, step * 32 + lane] = sX[31 - lane] * warp
            cute.arch.barrier(barrier_id=3, number_of_threads=64)


@cute.jit
def named_barriers(mX: cute.Tensor, mY: cute.Tensor):
    named_barriers_kernel(mX, mY).launch(grid=(1, 1, 1), block=(96, 1, 1))


@cute.kernel
def votes_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    x = mX[tidx]
    odd = x % 2 == 1
    mY[0, tidx] = cute.arch.vote_ballot_sync(odd).to(Int32)
    mY[1, tidx] = Int32(cute.arch.vote_any_sync(x > 90))
    mY[2, tidx] = Int32(cute.arch.vote_all_sync(x < 90))
    mY[3, tidx] = Int32(cute.arch.vote_uni_sync(x > 90))
    mY[4, tidx] = cute.arch.match_sync(-1, x % 4).to(Int32)
    mY[5, tidx] = cute.arch.match_sync(-1, x // 200, kind="all").to(Int32)
    mY[6, tidx] = cute.arch.warp_redux_sync(x, "add")
    mY[7, tidx] = cute.arch.warp_redux_sync(x, "max")
    mY[8, tidx] = cute.arch.warp_redux_sync(x, "min")
    mY[9, tidx] = cute.arch.warp_redux_sync(x, "xor")
    mY[10, tidx] = cute.arch.shuffle_sync_up(x, offset=3, mask_and_clamp=0)
    mY[11, tidx] = cute.arch.shuffle_sync_down(x, offset=5)
    mY[12, tidx] = cute.arch.shuffle_sync(x, offset=7)
    mY[13, tidx] = cute.arch.popc(x)
    if odd:
        mY[14, tidx] = cute.arch.activemask().to(Int32)
    with cute.arch.elect_one():
        mY[15, tidx] = 1


@cute.jit
def votes(mX: cute.Tensor, mY: cute.Tensor):
    votes_kernel(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def spin_between_blocks_kernel(
    mF: cute.Tensor, mX: cute.Tensor, mY: cute.Tensor, down: cutlass.Constexpr
):
    """A running sum over blocks: each waits for its neighbour's flag, as a decoupled scan does."""
    bidx, _, _ = cute.arch.block_idx()
    grid, _, _ = cute.arch.grid_dim()
    tidx, _, _ = cute.arch.thread_idx()
    before = bidx + 1 if cutlass.const_expr(down) else bidx - 1
    if tidx == 0:
        total = Int32(0)
        if before >= 0 and before < grid:
            flag = cute.arch.load(mF.iterator + before, Int32, sem="acquire", scope="gpu")
            while flag == 0:
                flag = cute.arch.load(mF.iterator + before, Int32, sem="acquire", scope="gpu")
            total = mY[before]
        mY[bidx] = total + mX[bidx]
        cute.arch.store(mF.iterator + bidx, Int32(1), sem="release", scope="gpu")


@cute.jit
def spin_between_blocks(mF: cute.Tensor, mX: cute.Tensor, mY: cute.Tensor, down: cutlass.Constexpr):
    spin_between_blocks_kernel(mF, mX, mY, down).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


@cute.jit
def spin_in_a_cooperative_launch(mF: cute.Tensor, mX: cute.Tensor, mY: cute.Tensor):
    spin_between_blocks_kernel(mF, mX, mY, True).launch(
        grid=(mX.shape[0], 1, 1), block=(32, 1, 1), cooperative=True
    )


@cute.kernel
def warp_index_in_a_branch_kernel(mY: cute.Tensor):
    """Wrong on purpose: warp_idx() shuffles, and only one lane of the warp calls it."""
    if cute.arch.lane_idx() == 0:
        mY[cute.arch.warp_idx()] = 1.0
    cute.arch.sync_threads()


@cute.jit
def warp_index_in_a_branch(mY: cute.Tensor):
    warp_index_in_a_branch_kernel(mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def endless_kernel(mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    y = mY[tidx]
    while y >= 0.0:
        y = y * 0.5
    mY[tidx] = y


@cute.jit
def endless(mY: cute.Tensor):
    endless_kernel(mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def in_a_cluster(mY: cute.Tensor):
    endless_kernel(mY).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))
