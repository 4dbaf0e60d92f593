"""Correct kernels whose threads share memory within a block in ways a checker may misread."""

import cutlass
import torch
from cutlass import Float16, Float32, Int8, Int32, cute

import forgekit as fk
from tests.sanitizer.bank import Family
from tests.sanitizer.kernel_parts import launched, smem

THREADS = 64


@launched(block=(16, 4, 1))
@cute.kernel
def swizzled_transpose(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    plain = cute.make_layout((16, 16), stride=(16, 1))
    sT = smem(cute.make_composed_layout(cute.make_swizzle(4, 0, 4), 0, plain))
    for k in cutlass.range_constexpr(4):
        sT[ty + 4 * k, tx] = mX[ty + 4 * k, tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(4):
        mY[ty + 4 * k, tx] = sT[tx, ty + 4 * k]


@launched(block=THREADS)
@cute.kernel
def any_negative(mX: cute.Tensor, mY: cute.Tensor):
    """Threads that find a negative value all store the same 1 to the same flag."""
    tidx, _, _ = cute.arch.thread_idx()
    sF = smem(1, Int32)
    if tidx == 0:
        sF[0] = 0
    cute.arch.sync_threads()
    if mX[tidx] < 0.0:
        sF[0] = 1
    cute.arch.sync_threads()
    mY[tidx] = sF[0]


@cute.kernel
def small_elements_kernel(mX: cute.Tensor, mY: cute.Tensor, dtype: cutlass.Constexpr):
    """Neighbours write different bytes of one word, in shared and in global memory."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS, dtype)
    sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    mY[tidx] = sX[THREADS - 1 - tidx]


@cute.jit
def half_elements(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    small_elements_kernel(mX, mY, Float16).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def byte_elements(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    small_elements_kernel(mX, mY, Int8).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@launched(block=THREADS, grid=lambda mX, mY: mX.shape[0])
@cute.kernel
def uniform_branch(mX: cute.Tensor, mY: cute.Tensor):
    """Barriers in a branch and a loop that the whole block takes, each block its own way."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    sX = smem(THREADS, Int32)
    x = mX[bidx, tidx]
    if bidx % 2 == 1:
        sX[tidx] = x
        cute.arch.sync_threads()
        x = sX[THREADS - 1 - tidx]
        cute.arch.sync_threads()
    for _ in cutlass.range(bidx, unroll=1):
        sX[tidx] = x
        cute.arch.sync_threads()
        x += sX[(tidx + 1) % THREADS]
        cute.arch.sync_threads()
    mY[bidx, tidx] = x


@launched(block=THREADS)
@cute.kernel
def halves_exchange(mX: cute.Tensor, mY: cute.Tensor):
    """The halves of each warp turn their values around apart, with sync_warp masks of their own."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = tidx % 32
    sX = smem(THREADS)
    if lane < 16:
        sX[tidx] = 2.0 * mX[tidx]
        cute.arch.sync_warp(0x0000FFFF)
        mY[tidx] = sX[tidx - lane + 15 - lane]
    else:
        sX[tidx] = 3.0 * mX[tidx]
        cute.arch.sync_warp(0xFFFF0000)
        mY[tidx] = sX[tidx - lane + 47 - lane]


@launched(block=THREADS, grid=lambda mX, mY: mX.shape[0])
@cute.kernel
def shared_atomics(mX: cute.Tensor, mY: cute.Tensor):
    """Largest, smallest and number of values: atomics in shared memory, of shuffled results."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    sR = smem(3, Int32)
    if tidx < 3:
        sR[tidx] = mX[bidx, 0] if tidx < 2 else Int32(0)
    cute.arch.sync_threads()
    x = mX[bidx, tidx]
    largest = cute.arch.warp_redux_sync(x, "max")
    smallest = cute.arch.warp_redux_sync(x, "min")
    if lane == 0:
        cute.arch.atomic_max(sR.iterator, largest)
        cute.arch.atomic_min(sR.iterator + 1, smallest)
    cute.arch.atomic_add(sR.iterator + 2, Int32(1))
    cute.arch.sync_threads()
    if tidx < 3:
        mY[bidx, tidx] = sR[tidx]


@launched(block=THREADS)
@cute.kernel
def token(mY: cute.Tensor):
    """Warps take turns, the last one first; the turn is a flag in shared memory."""
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    sF = smem(1, Int32)
    if warp == 0 and lane == 0:
        sF[0] = 1
    cute.arch.sync_threads()
    turn = cute.arch.load(sF.iterator, Int32, sem="acquire", scope="cta", ss="cta")
    while turn != warp:
        turn = cute.arch.load(sF.iterator, Int32, sem="acquire", scope="cta", ss="cta")
    cute.arch.sync_warp()  # every lane has seen its turn before lane 0 passes it on
    if lane == 0:
        mY[0] = mY[0] * 10 + warp + 1
        cute.arch.store(sF.iterator, turn - 1, sem="release", scope="cta", ss="cta")


@launched(block=THREADS)
@cute.kernel
def copying_warp(mX: cute.Tensor, mY: cute.Tensor):
    """Warp 0 copies tiles by cp.async into two buffers, warp 1 doubles them: four barriers."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sX = smem((32, 2))
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    gX, sV = cute.zipped_divide(mX, (1,)), cute.zipped_divide(sX, (1, 1))
    for t in cutlass.range(mX.shape[0] // 32, unroll=1):
        buffer = t % 2
        if warp == 0:
            if t >= 2:
                cute.arch.barrier(barrier_id=3 + buffer, number_of_threads=64)  # empty
            cute.copy(atom, gX[None, t * 32 + lane], sV[None, (lane, buffer)])
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(0)
            cute.arch.barrier_arrive(barrier_id=1 + buffer, number_of_threads=64)  # full
        else:
            cute.arch.barrier(barrier_id=1 + buffer, number_of_threads=64)
            mY[t * 32 + lane] = 2.0 * sX[31 - lane, buffer]
            if t + 2 < mX.shape[0] // 32:
                cute.arch.barrier_arrive(barrier_id=3 + buffer, number_of_threads=64)


def pair(make=fk.randn, **options):
    return lambda: (make(THREADS, **options), fk.empty(THREADS, **options))


def rows_of_integers(columns):
    dtype = torch.int32
    return lambda: (fk.randint(-99, 99, 3, THREADS), fk.empty(3, columns, dtype=dtype))


def by_block(x, y):
    rows = []
    for b, row in enumerate(x):
        row = row.flip(0) if b % 2 else row
        for _ in range(b):
            row = row + row.roll(-1)
        rows.append(row)
    return [(y, torch.stack(rows))]


def by_half(x, y):
    factors = torch.tensor([2.0, 3.0], device=x.device)[None, :, None]
    return [(y, (x.view(2, 2, 16).flip(2) * factors).view(-1))]


def extremes(x, y):
    return [(y, torch.stack([x.amax(1), x.amin(1), torch.full_like(x[:, 0], THREADS)], 1))]


def flipped(x, y):
    return [(y, x.flip(0))]


FAMILIES = (
    Family(swizzled_transpose, lambda: (fk.randn(16, 16), fk.empty(16, 16)),
           lambda x, y: [(y, x.T)]),
    Family(any_negative, lambda: (fk.randn(THREADS), fk.empty(THREADS, dtype=torch.int32)),
           lambda x, y: [(y, torch.ones_like(y))]),
    Family(half_elements, pair(dtype=torch.float16), flipped),
    Family(byte_elements, lambda: (fk.randint(-9, 9, THREADS, dtype=torch.int8),
           fk.empty(THREADS, dtype=torch.int8)), flipped),
    Family(uniform_branch, rows_of_integers(THREADS), by_block),
    Family(halves_exchange, pair(), by_half),
    Family(shared_atomics, rows_of_integers(3), extremes),
    Family(token, lambda: (fk.zeros(1, dtype=torch.int32),),
           lambda y: [(y, torch.full_like(y, 21))]),
    Family(copying_warp, lambda: (fk.randn(160), fk.empty(160)),
           lambda x, y: [(y, 2 * x.view(5, 32).flip(1).reshape(-1))]),
)  # fmt: skip
