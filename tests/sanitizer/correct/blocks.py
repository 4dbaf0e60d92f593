"""Correct kernels whose threads share memory within a block in ways a checker may misread."""

import cutlass
import torch
from cutlass import Float32, Int32, cute

import forgekit as fk
from tests.sanitizer.bank import family
from tests.sanitizer.kernel_parts import indices, smem

THREADS = 64


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


@family(block=(16, 4, 1), args=lambda: (fk.randn(16, 16), fk.empty(16, 16)), want=lambda x, y: x.T)
@cute.kernel
def swizzled_transpose(mX, mY):
    tx, ty, _ = cute.arch.thread_idx()
    plain = cute.make_layout((16, 16), stride=(16, 1))
    sT = smem(cute.make_composed_layout(cute.make_swizzle(4, 0, 4), 0, plain))
    for k in cutlass.range_constexpr(4):
        sT[ty + 4 * k, tx] = mX[ty + 4 * k, tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(4):
        mY[ty + 4 * k, tx] = sT[tx, ty + 4 * k]


@family(block=THREADS, args=lambda: (fk.randn(THREADS), fk.empty(THREADS, dtype=torch.int32)),
        want=lambda x, y: torch.ones_like(y))  # fmt: skip
@cute.kernel
def any_negative(mX, mY):
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
def small_elements(mX, mY):
    """Neighbours write different bytes of one word, in shared and in global memory."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS, mX.element_type)
    sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    mY[tidx] = sX[THREADS - 1 - tidx]


SMALL_ELEMENTS = tuple(
    family(block=THREADS, name=name, want=flipped, args=lambda dtype=dtype: (
        fk.randint(-9, 9, THREADS, dtype=dtype), fk.empty(THREADS, dtype=dtype)))(small_elements)
    for name, dtype in (("half_elements", torch.float16), ("byte_elements", torch.int8))
)  # fmt: skip


@family(block=THREADS, grid=lambda mX, mY: mX.shape[0], args=rows_of_integers(THREADS),
        want=by_block)  # fmt: skip
@cute.kernel
def uniform_branch(mX, mY):
    """Barriers in a branch and a loop that the whole block takes, each block its own way."""
    tidx, bidx = indices()
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


@family(block=THREADS, args=pair(), want=by_half)
@cute.kernel
def halves_exchange(mX, mY):
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


@family(block=THREADS, grid=lambda mX, mY: mX.shape[0], args=rows_of_integers(3), want=extremes)
@cute.kernel
def shared_atomics(mX, mY):
    """Largest, smallest and number of values: atomics in shared memory, of shuffled results."""
    tidx, bidx = indices()
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


@family(block=THREADS, args=lambda: (fk.zeros(1, dtype=torch.int32),),
        want=lambda y: torch.full_like(y, 21))  # fmt: skip
@cute.kernel
def token(mY):
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


@family(block=THREADS, args=lambda: (fk.randn(160), fk.empty(160)),
        want=lambda x, y: 2 * x.view(5, 32).flip(1).reshape(-1))  # fmt: skip
@cute.kernel
def copying_warp(mX, mY):
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
