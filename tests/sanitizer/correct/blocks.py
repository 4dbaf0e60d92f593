"""Define correct kernels whose threads and blocks share memory in ways that a checker may
misinterpret."""

import cutlass
import torch
from cutlass import Float32, Int32, cute

import forgekit as fk
from tests.sanitizer.bank import family
from tests.sanitizer.kernel_parts import by_parts, by_rows, indices, pair, smem

THREADS = 64


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


@family(block=(16, 4, 1), args=pair(16, 16), want=lambda x, y: x.T)
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


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x.view(2, 32).flip(1).view(-1))
@cute.kernel
def barriers_of_one_warp(mX, mY):
    """Every warp passes the same barrier, which counts 32 threads."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS)
    sX[tidx] = mX[tidx]
    cute.arch.barrier(barrier_id=1, number_of_threads=32)
    mY[tidx] = sX[tidx ^ 31]


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: torch.full_like(y, 2 * x.sum()))
@cute.kernel
def loads_across_gaps(mX, mY):
    """A thread adds every second word. The compiler loads the words between them as well, which
    other threads may be writing."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((2, 2), stride=(2, 1))
    total = Float32(0.0)
    for k in cutlass.range_constexpr(2):
        part = cute.arch.warp_reduction_sum(mX[tidx])
        if tidx % 32 == 0:
            sX[tidx // 32, k] = part
        cute.arch.sync_threads()
        total += sX[0, k] + sX[1, k]
    mY[tidx] = total


@family(block=THREADS, args=lambda: (fk.randn(THREADS), fk.empty(THREADS, dtype=torch.int32)),
        want=lambda x, y: torch.ones_like(y))  # fmt: skip
@cute.kernel
def any_negative(mX, mY):
    """All threads with a negative value store 1 to the same flag."""
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
    """Neighbouring threads write different bytes of the same word, in shared and global memory."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS, mX.element_type)
    sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    mY[tidx] = sX[THREADS - 1 - tidx]


SMALL_ELEMENTS = tuple(
    family(block=THREADS, name=name, want=lambda x, y: x.flip(0), args=lambda dtype=dtype: (
        fk.randint(-9, 9, THREADS, dtype=dtype), fk.empty(THREADS, dtype=dtype)))(small_elements)
    for name, dtype in (("half_elements", torch.float16), ("byte_elements", torch.int8))
)  # fmt: skip


@family(block=THREADS, grid=by_rows, args=rows_of_integers(THREADS), want=by_block)
@cute.kernel
def uniform_branch(mX, mY):
    """Threads of a block take the same path to barriers in a branch and a loop; blocks differ."""
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


@family(block=THREADS, args=pair(THREADS), want=by_half)
@cute.kernel
def halves_exchange(mX, mY):
    """The halves of each warp reverse their values separately, with separate sync_warp masks."""
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


@family(block=THREADS, grid=by_rows, args=rows_of_integers(3),
        want=lambda x, y: torch.stack([x.amax(1), x.amin(1), torch.full_like(x[:, 0], THREADS)], 1)
)  # fmt: skip
@cute.kernel
def shared_atomics(mX, mY):
    """Find the maximum, the minimum and the number of values with atomics in shared memory, after
    shuffles."""
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
    """Warps run one after another, from the last to the first, controlled by a flag in shared
    memory."""
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    sF = smem(1, Int32)
    if warp == 0 and lane == 0:
        sF[0] = 1
    cute.arch.sync_threads()
    turn = cute.arch.load(sF.iterator, Int32, sem="acquire", scope="cta", ss="cta")
    while turn != warp:
        turn = cute.arch.load(sF.iterator, Int32, sem="acquire", scope="cta", ss="cta")
    cute.arch.sync_warp()  # every lane has seen the flag before lane 0 sets it for the next warp
    if lane == 0:
        mY[0] = mY[0] * 10 + warp + 1
        cute.arch.store(sF.iterator, turn - 1, sem="release", scope="cta", ss="cta")


@family(block=THREADS, args=pair(160), want=lambda x, y: 2 * x.view(5, 32).flip(1).reshape(-1))
@cute.kernel
def copying_warp(mX, mY):
    """Warp 0 copies tiles by cp.async into 2 buffers; warp 1 doubles them. 4 barriers suffice."""
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
    """All blocks wait for each other through a counter before they read each other's results."""
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
    """One thread per warp adds to a plain counter, under a lock taken by compare-and-swap."""
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
    """Positive values go to distinct slots, drawn from a counter in any order."""
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
    """Copy from x to y and back; in each launch, other threads read the elements that the previous
    launch wrote."""
    grid = (cute.ceil_div(mX.shape[0], 32), 1, 1)
    increment_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))
    increment_kernel(mY, mX).launch(grid=grid, block=(32, 1, 1))
    increment_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))


@cute.kernel
def vector_copy_kernel(gX: cute.Tensor, gY: cute.Tensor, vectors: Int32):
    """Copy 128 bits per thread through shared memory and back to the same thread."""
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


@family(block=128, grid=by_parts(4), args=pair(5, 77), want=lambda x, y: torch.softmax(x, 1))
@cute.kernel
def leaving_early(mX, mY):
    """Warps without a row exit; warps with a row use shuffles."""
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
    """Block 0 writes data, then a flag; block 1 waits for the flag, then reads the data."""
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
