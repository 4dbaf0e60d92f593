"""Correct kernels whose blocks work together through global memory, and other harmless patterns."""

import cutlass
import torch
from cutlass import Float32, Int32, cute

import forgekit as fk
from tests.sanitizer.bank import family
from tests.sanitizer.kernel_parts import indices, pair


def zero():
    return fk.zeros(1, dtype=torch.int32)


def queued(x, n, y):
    kept = x[x > 0].sort().values
    return [(y[: len(kept)].sort().values, kept), (n, torch.full_like(n, len(kept)))]


@family(block=32, grid=lambda mX, mC, mY, mZ: mX.shape[0] // 32, cooperative=True,
        args=lambda: (fk.randn(96), zero(), fk.empty(96), fk.empty(96)),
        want=lambda x, c, y, z: 2 * x.roll(-32))  # fmt: skip
@cute.kernel
def grid_barrier(mX, mC, mY, mZ):
    """All blocks wait for each other, by a counter, before they read each other's results."""
    tidx, bidx = indices()
    blocks, _, _ = cute.arch.grid_dim()
    i = bidx * 32 + tidx
    mY[i] = 2.0 * mX[i]
    cute.arch.fence_acq_rel_gpu()
    cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.atomic_add(mC.iterator, Int32(1), sem="acq_rel", scope="gpu")
        seen = Int32(0)
        while seen < blocks:
            seen = cute.arch.load(mC.iterator, Int32, sem="acquire", scope="gpu")
    cute.arch.sync_threads()
    mZ[i] = mY[(i + 32) % mX.shape[0]]


@family(block=64, grid=3, args=lambda: (zero(), zero()), want=lambda l, y: torch.full_like(y, 6))  # noqa: E741
@cute.kernel
def lock(mL, mY):
    """One thread a warp adds to a plain counter, under a lock taken by compare-and-swap."""
    with cute.arch.elect_one():
        free = Int32(1)
        while free != 0:
            free = cute.arch.atomic_cas(
                mL.iterator, cmp=Int32(0), val=Int32(1), sem="acquire", scope="gpu"
            )
        mY[0] = mY[0] + 1
        cute.arch.atomic_exch(mL.iterator, Int32(0), sem="release", scope="gpu")


@family(block=32, grid=lambda mX, mN, mY: mX.shape[0] // 32,
        args=lambda: (fk.randint(-9, 9, 96), zero(), fk.zeros(96, dtype=torch.int32)),
        want=queued)  # fmt: skip
@cute.kernel
def queue(mX, mN, mY):
    """Positive values go to places drawn from a counter: all different, in any order."""
    tidx, bidx = indices()
    x = mX[bidx * 32 + tidx]
    if x > 0:
        place = cute.arch.atomic_add(mN.iterator, Int32(1))
        mY[place] = x


@cute.kernel
def increment_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, bidx = indices()
    i = bidx * 32 + tidx
    if i < mX.shape[0]:
        mY[i] = mX[i] + 1.0


@family(args=lambda: (fk.zeros(70),), want=lambda x: torch.full_like(x, 3.0))
@cute.jit
def in_place(mX: cute.Tensor, bug: cutlass.Constexpr = None):
    """Each thread reads and writes its own element, in three launches."""
    grid = (cute.ceil_div(mX.shape[0], 32), 1, 1)
    for _ in cutlass.range_constexpr(3):
        increment_kernel(mX, mX).launch(grid=grid, block=(32, 1, 1))


@family(args=lambda: (fk.zeros(70), fk.empty(70)),
        want=lambda x, y: [(y, torch.full_like(y, 3.0)), (x, torch.full_like(x, 2.0))])  # fmt: skip
@cute.jit
def back_and_forth(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    """From x to y and back: what one launch wrote, the next one reads elsewhere."""
    grid = (cute.ceil_div(mX.shape[0], 32), 1, 1)
    increment_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))
    increment_kernel(mY, mX).launch(grid=grid, block=(32, 1, 1))
    increment_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))


@cute.kernel
def vector_copy_kernel(gX: cute.Tensor, gY: cute.Tensor, vectors: Int32):
    """128 bits a thread, through shared memory and back to the thread that brought them."""
    tidx, bidx = indices()
    i = bidx * 32 + tidx
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout((4, 32)), 16)
    if i < vectors:
        cute.autovec_copy(gX[None, i], sX[None, tidx])
    cute.arch.sync_threads()
    if i < vectors:
        cute.autovec_copy(sX[None, tidx], gY[None, i])


@family(args=pair(400), want=lambda x, y: x, static=(0, 1))
@cute.jit
def vector_copy(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    gX, gY = cute.zipped_divide(mX, (4,)), cute.zipped_divide(mY, (4,))
    vectors = mX.shape[0] // 4
    grid = (cute.ceil_div(vectors, 32), 1, 1)
    vector_copy_kernel(gX, gY, vectors).launch(grid=grid, block=(32, 1, 1))


@family(block=128, grid=lambda mX, mY: cute.ceil_div(mX.shape[0], 4),
        args=lambda: (fk.randn(5, 77), fk.empty(5, 77)),
        want=lambda x, y: torch.softmax(x, 1))  # fmt: skip
@cute.kernel
def leaving_early(mX, mY):
    """Warps without a row do nothing at all; those with one use shuffles."""
    bidx, _, _ = cute.arch.block_idx()
    row = bidx * 4 + cute.arch.warp_idx()
    lane = cute.arch.lane_idx()
    M, N = mX.shape
    if row < M:
        top, total = Float32(-float("inf")), Float32(0.0)
        for c in cutlass.range(lane, N, 32, unroll=1):
            x = mX[row, c]
            higher = cute.arch.fmax(top, x)
            total = total * cute.math.exp(top - higher, fastmath=True)
            total += cute.math.exp(x - higher, fastmath=True)
            top = higher
        both = cute.arch.warp_reduction_max(top)
        total = cute.arch.warp_reduction_sum(total * cute.math.exp(top - both, fastmath=True))
        for c in cutlass.range(lane, N, 32, unroll=1):
            mY[row, c] = cute.math.exp(mX[row, c] - both, fastmath=True) / total


@family(block=64, grid=2, args=lambda: (fk.randn(64), zero(), fk.empty(64), fk.empty(64)),
        want=lambda x, f, d, y: 3 * x.flip(0))  # fmt: skip
@cute.kernel
def publish(mX, mF, mD, mY):
    """Block 0 writes data, then a flag; the other waits for the flag, then reads the data."""
    tidx, bidx = indices()
    if bidx == 0:
        mD[tidx] = 3.0 * mX[tidx]
        cute.arch.sync_threads()
        if tidx == 0:
            cute.arch.fence_acq_rel_gpu()
            cute.arch.store(mF.iterator, Int32(1), sem="relaxed", scope="gpu")
    else:
        if tidx == 0:
            flag = Int32(0)
            while flag == 0:
                flag = cute.arch.load(mF.iterator, Int32, sem="relaxed", scope="gpu")
            cute.arch.fence_acq_rel_gpu()
        cute.arch.sync_threads()
        mY[tidx] = mD[63 - tidx]
