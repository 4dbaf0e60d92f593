"""Calibration kernels that move data: copies, strides, gathers, transposes, and small grids."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, const_expr
from cutlass.cute.nvgpu import cpasync

from forgekit.profiling.predicting.calibration.case import Case, pair, permuted, spread, square


# -- copies ----
@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr,
                vector: cutlass.Constexpr, loads: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gX, gY = cute.zipped_divide(mX, (vector,)), cute.zipped_divide(mY, (vector,))
    first = bidx * threads * loads + tidx
    rX = cute.make_rmem_tensor((vector, loads), mX.element_type)
    if first + (loads - 1) * threads < cute.size(gX, mode=[1]):
        for k in cutlass.range_constexpr(loads):
            cute.autovec_copy(gX[None, first + k * threads], rX[None, k])
        for k in cutlass.range_constexpr(loads):
            cute.autovec_copy(rX[None, k], gY[None, first + k * threads])


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr,
         vector: cutlass.Constexpr, loads: cutlass.Constexpr):  # fmt: skip
    """Copy mX to mY; each thread loads several vectors before it stores the first."""
    blocks = cute.ceil_div(cute.size(mX), threads * vector * loads)
    copy_kernel(mX, mY, threads, vector, loads).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


@cute.kernel
def walk_kernel(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr,
                vector: cutlass.Constexpr, blocks: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gX, gY = cute.zipped_divide(mX, (vector,)), cute.zipped_divide(mY, (vector,))
    for i in range(bidx * threads + tidx, cute.size(gX, mode=[1]), threads * blocks):
        cute.autovec_copy(gX[None, i], gY[None, i])


@cute.jit
def walk(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr,
         vector: cutlass.Constexpr, blocks: cutlass.Constexpr):  # fmt: skip
    """Copy mX to mY with a fixed number of blocks in a grid-stride loop."""
    walk_kernel(mX, mY, threads, vector, blocks).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


@cute.kernel
def read_kernel(mX: cute.Tensor, mY: cute.Tensor, vector: cutlass.Constexpr,
                loads: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gX = cute.zipped_divide(mX, (vector,))
    rX = cute.make_rmem_tensor((vector, loads), mX.element_type)
    first = bidx * 256 * loads + tidx
    if first + (loads - 1) * 256 < cute.size(gX, mode=[1]):
        for k in cutlass.range_constexpr(loads):
            cute.autovec_copy(gX[None, first + k * 256], rX[None, k])
        total = rX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
        if total < 0.0:
            mY[tidx] = total


@cute.jit
def read(mX: cute.Tensor, mY: cute.Tensor, vector: cutlass.Constexpr, loads: cutlass.Constexpr):
    """Read mX without writing: the condition of the store is never true."""
    read_kernel(mX, mY, vector, loads).launch(
        grid=(cute.ceil_div(cute.size(mX), 256 * vector * loads), 1, 1), block=(256, 1, 1)
    )


@cute.kernel
def fill_kernel(mX: cute.Tensor, mY: cute.Tensor, vector: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gY = cute.zipped_divide(mY, (vector,))
    rY = cute.make_rmem_tensor((vector,), mY.element_type)
    rY.fill(1.0)
    i = bidx * 256 + tidx
    if i < cute.size(gY, mode=[1]):
        cute.autovec_copy(rY, gY[None, i])


@cute.jit
def fill(mX: cute.Tensor, mY: cute.Tensor, vector: cutlass.Constexpr):
    """Set mY to 1."""
    fill_kernel(mX, mY, vector).launch(
        grid=(cute.ceil_div(cute.size(mY), 256 * vector), 1, 1), block=(256, 1, 1)
    )


@cute.kernel
def add_kernel(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor, vector: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gX, gY, gZ = (cute.zipped_divide(m, (vector,)) for m in (mX, mY, mZ))
    i = bidx * 256 + tidx
    if i < cute.size(gX, mode=[1]):
        rX, rY = (cute.make_rmem_tensor((vector,), mX.element_type) for _ in range(2))
        cute.autovec_copy(gX[None, i], rX)
        cute.autovec_copy(gY[None, i], rY)
        rX.store(rX.load() + rY.load())
        cute.autovec_copy(rX, gZ[None, i])


@cute.jit
def add(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor, vector: cutlass.Constexpr):
    """Compute mZ = mX + mY."""
    add_kernel(mX, mY, mZ, vector).launch(
        grid=(cute.ceil_div(cute.size(mX), 256 * vector), 1, 1), block=(256, 1, 1)
    )


# -- distant addresses ----
@cute.kernel
def strided_kernel(mX: cute.Tensor, mY: cute.Tensor, stride: cutlass.Constexpr,
                   reads: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 256 + tidx
    if const_expr(reads):
        if i < cute.size(mY):
            mY[i] = mX[i * stride]
    else:
        if i < cute.size(mX):
            mY[i * stride] = mX[i]


@cute.jit
def strided(mX: cute.Tensor, mY: cute.Tensor, stride: cutlass.Constexpr,
            reads: cutlass.Constexpr):  # fmt: skip
    """Copy every `stride`-th element of mX, or to every `stride`-th element of mY."""
    n = cute.size(mY) if const_expr(reads) else cute.size(mX)
    strided_kernel(mX, mY, stride, reads).launch(
        grid=(cute.ceil_div(n, 256), 1, 1), block=(256, 1, 1)
    )


@cute.kernel
def gather_kernel(mX: cute.Tensor, mI: cute.Tensor, mY: cute.Tensor, scatters: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 256 + tidx
    if i < cute.size(mI):
        if const_expr(scatters):
            mY[mI[i]] = mX[i]
        else:
            mY[i] = mX[mI[i]]


@cute.jit
def gather(mX: cute.Tensor, mI: cute.Tensor, mY: cute.Tensor, scatters: cutlass.Constexpr):
    """Compute mY[i] = mX[mI[i]], or mY[mI[i]] = mX[i]."""
    gather_kernel(mX, mI, mY, scatters).launch(
        grid=(cute.ceil_div(cute.size(mI), 256), 1, 1), block=(256, 1, 1)
    )


def scattered(window: int):
    """Return a function of n that makes x, i and y, each with n elements; i permutes the elements
    within each window of `window` elements (0: a single window).
    """

    def make(n: int) -> tuple[torch.Tensor, ...]:
        size = min(window or n, n)
        index = (torch.arange(0, n, size, dtype=torch.int64)[:, None] + permuted(size)).view(-1)
        return torch.ones(n), index.to(torch.int32), torch.empty(n)

    return make


@cute.kernel
def chase_kernel(mI: cute.Tensor, mY: cute.Tensor, steps: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    at = Int32(i)
    if i < cute.size(mY):
        for _ in range(steps):
            at = mI[at]
        mY[i] = at


@cute.jit
def chase(mI: cute.Tensor, mY: cute.Tensor, steps: cutlass.Constexpr):
    """Follow the indices in mI for `steps` steps; each load waits for the previous one."""
    chase_kernel(mI, mY, steps).launch(
        grid=(cute.ceil_div(cute.size(mY), 128), 1, 1), block=(128, 1, 1)
    )


def chain(share: int):
    """Return a function of n that makes a permutation of n elements, and y with n / `share`
    elements."""

    def make(n: int) -> tuple[torch.Tensor, ...]:
        return permuted(n).to(torch.int32), torch.empty(max(n // share, 128), dtype=torch.int32)

    return make


# -- transposes ----
@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor, reads_rows: cutlass.Constexpr):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    i, j = by * 8 + ty, bx * 32 + tx
    if i < mX.shape[0] and j < mX.shape[1]:
        if const_expr(reads_rows):
            mY[j, i] = mX[i, j]
        else:
            mY[i, j] = mX[j, i]


@cute.jit
def transpose(mX: cute.Tensor, mY: cute.Tensor, reads_rows: cutlass.Constexpr):
    """Transpose mX to mY; neighbouring threads either read or write neighbouring elements."""
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 8), 1)
    transpose_kernel(mX, mY, reads_rows).launch(grid=grid, block=(32, 8, 1))


@cute.kernel
def tiled_kernel(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(pitch, 1)), 128)
    for k in cutlass.range_constexpr(0, 32, 8):
        sX[ty + k, tx] = mX[by * 32 + ty + k, bx * 32 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        mY[bx * 32 + ty + k, by * 32 + tx] = sX[tx, ty + k]


@cute.jit
def tiled(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr):
    """Transpose mX to mY through tiles in shared memory whose rows are `pitch` words apart."""
    tiled_kernel(mX, mY, pitch).launch(
        grid=(mX.shape[1] // 32, mX.shape[0] // 32, 1), block=(32, 8, 1)
    )


# -- asynchronous copies, stencils ----
@cute.kernel
def staged_kernel(mX: cute.Tensor, mY: cute.Tensor, stages: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout((4, 128, stages)), 128)
    gX, gY = cute.zipped_divide(mX, (4,)), cute.zipped_divide(mY, (4,))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    first = bidx * 128 * 16 + tidx
    for k in cutlass.range_constexpr(stages - 1):
        cute.copy(atom, gX[None, first + k * 128], sX[None, tidx, k])
        cute.arch.cp_async_commit_group()
    for k in cutlass.range_constexpr(16):
        if const_expr(k + stages - 1 < 16):
            ahead = k + stages - 1
            cute.copy(atom, gX[None, first + ahead * 128], sX[None, tidx, ahead % stages])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(stages - 1)
        cute.autovec_copy(sX[None, tidx, k % stages], gY[None, first + k * 128])


@cute.jit
def staged(mX: cute.Tensor, mY: cute.Tensor, stages: cutlass.Constexpr):
    """Copy mX to mY with cp.async through several stages of shared memory."""
    staged_kernel(mX, mY, stages).launch(
        grid=(cute.size(mX) // (128 * 4 * 16), 1, 1), block=(128, 1, 1)
    )


@cute.kernel
def window_kernel(mX: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 256 + tidx
    if i + width <= cute.size(mX):
        total = Float32(0.0)
        for k in cutlass.range_constexpr(width):
            total += mX[i + k]
        mY[i] = total


@cute.jit
def window(mX: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr):
    """Compute mY[i] = sum of mX[i : i + width]; each element is read `width` times from global
    memory."""
    window_kernel(mX, mY, width).launch(
        grid=(cute.ceil_div(cute.size(mX), 256), 1, 1), block=(256, 1, 1)
    )


def _three(n: int) -> tuple[torch.Tensor, ...]:
    return torch.ones(n), torch.ones(n), torch.empty(n)


HALF, BYTE = torch.bfloat16, torch.int8
CASES = [
    *(
        Case(f"copy {t}x{v}x{k}", "copy", copy, pair(), (t, v, k))
        for t, v, k in (
            (32, 1, 1),
            (64, 1, 1),
            (128, 1, 1),
            (256, 1, 1),
            (512, 1, 1),
            (1024, 1, 1),
            (128, 2, 1),
            (512, 2, 1),
            (64, 4, 1),
            (256, 4, 1),
            (1024, 4, 1),
            (128, 1, 4),
            (128, 1, 8),
            (256, 4, 2),
            (256, 4, 4),
            (128, 4, 8),
        )
    ),
    *(
        Case(f"copy bf16 {t}x{v}", "copy", copy, pair(HALF), (t, v, 1))
        for t, v in ((128, 1), (128, 2), (256, 8))
    ),
    *(
        Case(f"copy int8 {t}x{v}", "copy", copy, pair(BYTE), (t, v, 1))
        for t, v in ((256, 1), (256, 16))
    ),
    Case("walk 1 blocks 256x4", "few blocks", walk, pair(), (256, 4, 1), (2**14, 2**17, 2**20)),
    Case("walk 16 blocks 256x1", "few blocks", walk, pair(), (256, 1, 16), (2**16, 2**19, 2**22)),
    *(
        Case(f"walk {b} blocks {t}x{v}", "few blocks", walk, pair(), (t, v, b))
        for b, t, v in (
            (64, 1024, 4),
            (132, 128, 1),
            (132, 128, 4),
            (132, 1024, 4),
            (264, 256, 4),
            (528, 256, 1),
            (1056, 256, 4),
        )
    ),
    *(
        Case(f"read {v}x{k}", "read", read, pair(), (v, k))
        for v, k in ((1, 1), (4, 1), (4, 4), (1, 8))
    ),
    *(Case(f"fill {v}", "fill", fill, pair(), (v,)) for v in (1, 4)),
    *(Case(f"add {v}", "copy", add, _three, (v,)) for v in (1, 4)),
    *(
        Case(f"strided read {s}", "stride", strided, spread(s, reads=True), (s, True))
        for s in (2, 4, 8, 32)
    ),
    *(
        Case(f"strided write {s}", "stride", strided, spread(s, reads=False), (s, False))
        for s in (2, 8, 32)
    ),
    *(Case(f"gather {w}", "gather", gather, scattered(w), (False,)) for w in (0, 2**13, 2**18)),
    *(Case(f"scatter {w}", "gather", gather, scattered(w), (True,)) for w in (0, 2**13)),
    *(
        Case(f"chase {s} of {p}", "chain", chase, chain(p), (s,))
        for s, p in ((8, 1), (8, 64), (64, 512), (32, 4096))
    ),
    *(
        Case(f"transpose {k}", "transpose", transpose, square, (k == "scatters",))
        for k in ("gathers", "scatters")
    ),
    *(Case(f"tiled {p}", "transpose", tiled, square, (p,)) for p in (32, 33, 36)),
    *(Case(f"staged {s}", "cp.async", staged, pair(), (s,)) for s in (2, 4, 8)),
    *(Case(f"window {w}", "window", window, pair(), (w,)) for w in (3, 9, 33)),
]
