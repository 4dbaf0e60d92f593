"""Calibration kernels whose threads share data: shared memory, barriers, reductions, atomics."""

import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, const_expr

from forgekit.profiling.predicting.calibration.case import Case, pair, permuted, rows


# -- shared memory ----
@cute.kernel
def banks_kernel(mX: cute.Tensor, mY: cute.Tensor, stride: cutlass.Constexpr,
                 times: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout(128 * 32 + 32), 128)
    i = bidx * 128 + tidx
    at = tidx % 32 * stride + tidx // 32 * 1024
    sX[at] = mX[i]
    cute.arch.sync_warp()
    total = Float32(0.0)
    for k in range(times):
        total += sX[(at + k) % 4096]
    mY[i] = total


@cute.jit
def banks(mX: cute.Tensor, mY: cute.Tensor, stride: cutlass.Constexpr, times: cutlass.Constexpr):
    """Load from shared memory; neighbouring lanes access addresses `stride` words apart."""
    banks_kernel(mX, mY, stride, times).launch(grid=(cute.size(mX) // 128, 1, 1), block=(128, 1, 1))


@cute.kernel
def room_kernel(mX: cute.Tensor, mY: cute.Tensor, words: cutlass.Constexpr,
                threads: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout(words), 128)
    gX, gY = cute.zipped_divide(mX, (4,)), cute.zipped_divide(mY, (4,))
    sV = cute.zipped_divide(sX, (4,))
    i = bidx * threads + tidx
    cute.autovec_copy(gX[None, i], sV[None, tidx])
    cute.arch.sync_threads()
    cute.autovec_copy(sV[None, threads - 1 - tidx], gY[None, i])


@cute.jit
def room(mX: cute.Tensor, mY: cute.Tensor, words: cutlass.Constexpr, threads: cutlass.Constexpr):
    """Reverse vectors in shared memory, of which each block uses `words` words."""
    room_kernel(mX, mY, words, threads).launch(
        grid=(cute.size(mX) // (threads * 4), 1, 1), block=(threads, 1, 1)
    )


@cute.kernel
def barriers_kernel(mX: cute.Tensor, mY: cute.Tensor, times: cutlass.Constexpr,
                    threads: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout(threads), 128)
    value = mX[bidx * threads + tidx]
    for _ in range(times):
        sX[tidx] = value
        cute.arch.sync_threads()
        value += sX[threads - 1 - tidx]
        cute.arch.sync_threads()
    mY[bidx * threads + tidx] = value


@cute.jit
def barriers(mX: cute.Tensor, mY: cute.Tensor, times: cutlass.Constexpr,
             threads: cutlass.Constexpr):  # fmt: skip
    """Exchange values through shared memory several times, with two barriers per exchange."""
    barriers_kernel(mX, mY, times, threads).launch(
        grid=(cute.size(mX) // threads, 1, 1), block=(threads, 1, 1)
    )


# -- reductions of rows ----
@cute.kernel
def thread_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row = bidx * 64 + tidx
    if row < mX.shape[0]:
        total = Float32(0.0)
        for j in range(mX.shape[1]):
            total += mX[row, j]
        mY[row] = total


@cute.jit
def thread_sum(mX: cute.Tensor, mY: cute.Tensor):
    """Sum rows with one thread per row."""
    thread_sum_kernel(mX, mY).launch(grid=(cute.ceil_div(mX.shape[0], 64), 1, 1), block=(64, 1, 1))


@cute.kernel
def column_sum_kernel(mX: cute.Tensor, mY: cute.Tensor, split: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    column = bx * 128 + tidx
    total = Float32(0.0)
    for row in range(by, mX.shape[0], split):
        total += mX[row, column]
    if const_expr(split == 1):
        mY[0, column] = total
    else:
        cute.arch.atomic_add((mY.iterator + column).llvm_ptr, total)


@cute.jit
def column_sum(mX: cute.Tensor, mY: cute.Tensor, split: cutlass.Constexpr):
    """Sum columns, with the rows in `split` groups and one thread per column and group."""
    column_sum_kernel(mX, mY, split).launch(grid=(mX.shape[1] // 128, split, 1), block=(128, 1, 1))


@cute.kernel
def row_sum_kernel(mX: cute.Tensor, mY: cute.Tensor, warps: cutlass.Constexpr,
                   vector: cutlass.Constexpr, tree: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    threads = const_expr(32 * warps)
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout(threads), 128)
    gX = cute.zipped_divide(mX[row, None], (vector,))
    total = Float32(0.0)
    for v in range(tidx, cute.size(gX, mode=[1]), threads):
        total += gX[None, v].load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    if const_expr(tree):
        sX[tidx] = total
        cute.arch.sync_threads()
        half = const_expr(threads // 2)
        while const_expr(half > 0):
            if tidx < half:
                sX[tidx] = sX[tidx] + sX[tidx + half]
            cute.arch.sync_threads()
            half = const_expr(half // 2)
        if tidx == 0:
            mY[row] = sX[0]
    else:
        total = cute.arch.warp_reduction(total, operator.add)
        if const_expr(warps > 1):
            if tidx % 32 == 0:
                sX[tidx // 32] = total
            cute.arch.sync_threads()
            if tidx == 0:
                for w in cutlass.range_constexpr(1, warps):
                    total += sX[w]
        if tidx == 0:
            mY[row] = total


@cute.jit
def row_sum(mX: cute.Tensor, mY: cute.Tensor, warps: cutlass.Constexpr,
            vector: cutlass.Constexpr, tree: cutlass.Constexpr):  # fmt: skip
    """Sum rows with one block of several warps per row, using a tree or shuffles."""
    row_sum_kernel(mX, mY, warps, vector, tree).launch(
        grid=(mX.shape[0], 1, 1), block=(32 * warps, 1, 1)
    )


@cute.kernel
def softmax_kernel(mX: cute.Tensor, mY: cute.Tensor, warps: cutlass.Constexpr,
                   online: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    threads = const_expr(32 * warps)
    smem = cutlass.memory.SmemAllocator()
    sM = smem.allocate_tensor(Float32, cute.make_layout(warps), 128)
    sS = smem.allocate_tensor(Float32, cute.make_layout(warps), 128)
    m, s = -Float32.inf, Float32(0.0)
    if const_expr(online):
        for j in range(tidx, mX.shape[1], threads):
            x = mX[row, j]
            m_new = cute.arch.fmax(m, x)
            s = s * cute.math.exp(m - m_new, fastmath=True)
            s += cute.math.exp(x - m_new, fastmath=True)
            m = m_new
    else:
        for j in range(tidx, mX.shape[1], threads):
            m = cute.arch.fmax(m, mX[row, j])
        for j in range(tidx, mX.shape[1], threads):
            s += cute.math.exp(mX[row, j] - m, fastmath=True)
    m_row = cute.arch.warp_reduction(m, cute.arch.fmax)
    s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)
    if const_expr(warps > 1):
        if tidx % 32 == 0:
            sM[tidx // 32] = m_row
            sS[tidx // 32] = s
        cute.arch.sync_threads()
        for w in cutlass.range_constexpr(warps):
            m_row = cute.arch.fmax(m_row, sM[w])
        s = Float32(0.0)
        for w in cutlass.range_constexpr(warps):
            s += sS[w] * cute.math.exp(sM[w] - m_row, fastmath=True)
    for j in range(tidx, mX.shape[1], threads):
        mY[row, j] = cute.math.exp(mX[row, j] - m_row, fastmath=True) / s


@cute.jit
def softmax(mX: cute.Tensor, mY: cute.Tensor, warps: cutlass.Constexpr,
            online: cutlass.Constexpr):  # fmt: skip
    """Compute the softmax of rows with one block per row, in three passes or in two (online
    softmax).
    """
    softmax_kernel(mX, mY, warps, online).launch(grid=(mX.shape[0], 1, 1), block=(32 * warps, 1, 1))


# -- clusters ----
@cute.kernel
def cluster_kernel(mX: cute.Tensor, mY: cute.Tensor, blocks: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    rank, row, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sWarp = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
    sPart = smem.allocate_tensor(Float32, cute.make_layout(blocks), 16)
    total = Float32(0.0)
    for n in range(rank * 256 + tidx, mX.shape[1], 256 * blocks):
        total += mX[row, n]
    total = cute.arch.warp_reduction(total, operator.add)
    if tidx % 32 == 0:
        sWarp[tidx // 32] = total
    cute.arch.sync_threads()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if tidx == 0:
        for w in cutlass.range_constexpr(1, 8):
            total += sWarp[w]
        cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0).store(total)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank == 0 and tidx == 0:
        for b in cutlass.range_constexpr(1, blocks):
            total += sPart[b]
        mY[row] = total


@cute.jit
def cluster(mX: cute.Tensor, mY: cute.Tensor, blocks: cutlass.Constexpr):
    """Sum rows with one cluster of several blocks per row."""
    cluster_kernel(mX, mY, blocks).launch(
        grid=(blocks, mX.shape[0], 1), block=(256, 1, 1), cluster=(blocks, 1, 1)
    )


# -- atomics ----
@cute.kernel
def atomic_kernel(mX: cute.Tensor, mY: cute.Tensor, who: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    value = mX[bidx * 256 + tidx]
    if const_expr(who == "spread"):
        cute.arch.atomic_add((mY.iterator + (bidx * 256 + tidx)).llvm_ptr, value)
    elif const_expr(who == "thread"):
        cute.arch.atomic_add(mY.iterator.llvm_ptr, value)
    elif const_expr(who == "lane"):
        cute.arch.atomic_add((mY.iterator + tidx % 32).llvm_ptr, value)
    else:
        total = cute.arch.warp_reduction(value, operator.add)
        if tidx % const_expr(32 if who == "warp" else 256) == 0:
            cute.arch.atomic_add(mY.iterator.llvm_ptr, total)


@cute.jit
def atomic(mX: cute.Tensor, mY: cute.Tensor, who: cutlass.Constexpr):
    """Sum mX with one atomic addition per thread, warp or block, to one or several addresses."""
    atomic_kernel(mX, mY, who).launch(grid=(cute.size(mX) // 256, 1, 1), block=(256, 1, 1))


@cute.kernel
def histogram_kernel(mX: cute.Tensor, mY: cute.Tensor, shared: cutlass.Constexpr,
                     loads: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sBins = smem.allocate_tensor(Int32, cute.make_layout(256), 128)
    first = bidx * 256 * loads + tidx
    if const_expr(shared):
        sBins[tidx] = Int32(0)
        cute.arch.sync_threads()
        for k in range(loads):
            at = mX[first + k * 256] & 255
            cute.arch.atomic_add((sBins.iterator + at).llvm_ptr, Int32(1))
        cute.arch.sync_threads()
        cute.arch.atomic_add((mY.iterator + tidx).llvm_ptr, sBins[tidx])
    else:
        for k in range(loads):
            at = mX[first + k * 256] & 255
            cute.arch.atomic_add((mY.iterator + at).llvm_ptr, Int32(1))


@cute.jit
def histogram(mX: cute.Tensor, mY: cute.Tensor, shared: cutlass.Constexpr,
              loads: cutlass.Constexpr):  # fmt: skip
    """Compute a histogram with 256 bins, either first in shared memory or only in global memory."""
    histogram_kernel(mX, mY, shared, loads).launch(
        grid=(cute.size(mX) // (256 * loads), 1, 1), block=(256, 1, 1)
    )


def numbers(n: int) -> tuple[torch.Tensor, ...]:
    """Return n pseudo-random integers, and the bins of a histogram."""
    return permuted(n).to(torch.int32), torch.zeros(256, dtype=torch.int32)


def _to_few(n: int) -> tuple[torch.Tensor, ...]:
    return torch.ones(n), torch.zeros(n)


CASES = [
    *(
        Case(f"banks {s} {t}", "banks", banks, pair(), (s, t), (2**16, 2**20, 2**24))
        for s, t in ((1, 64), (2, 64), (4, 64), (8, 256), (32, 64), (32, 16))
    ),
    *(
        Case(f"room {w} of {t}", "room", room, pair(), (w, t))
        for w, t in ((512, 128), (4096, 128), (12288, 256), (24576, 256), (50000, 512))
    ),
    *(
        Case(f"barriers {n} of {t}", "barriers", barriers, pair(), (n, t), (2**16, 2**20, 2**24))
        for n, t in ((16, 128), (16, 1024), (64, 256), (64, 64))
    ),
    *(Case(f"thread sum {n}", "thread per row", thread_sum, rows(n), ()) for n in (128, 2048)),
    *(
        Case(f"column sum {k} of {n}", "columns", column_sum, rows(n, 1), (k,), sizes)
        for k, n, sizes in (
            (1, 1024, (2**17, 2**19, 2**21)),
            (1, 16384, (2**20, 2**22, 2**25)),
            (32, 1024, (2**20, 2**22, 2**25)),
            (64, 8192, (2**20, 2**22, 2**25)),
        )
    ),
    *(
        Case(
            f"row sum {w}x{v} {'tree' if t else 'shuffle'} of {n}",
            "row reduction",
            row_sum,
            rows(n),
            (w, v, t),
        )
        for w, v, t, n in (
            (1, 1, False, 128),
            (1, 1, False, 1024),
            (1, 4, False, 1024),
            (4, 1, True, 1024),
            (4, 1, False, 1024),
            (8, 1, True, 4096),
            (8, 4, False, 4096),
            (32, 1, True, 8192),
            (32, 4, False, 8192),
            (16, 4, False, 65536),
            (4, 4, True, 512),
        )
    ),
    *(
        Case(
            f"softmax {w} {'online' if o else 'passes'} of {n}",
            "softmax",
            softmax,
            rows(n, 1),
            (w, o),
        )
        for w, o, n in (
            (1, False, 256),
            (1, True, 1024),
            (4, False, 1024),
            (4, True, 4096),
            (8, False, 8192),
            (32, True, 32768),
            (8, True, 768),
        )
    ),
    *(
        Case(f"cluster {b} of {n}", "cluster", cluster, rows(n), (b,), (2**20, 2**22, 2**25))
        for b, n in ((2, 8192), (4, 16384), (8, 131072))
    ),
    *(
        Case(f"atomic {who}", "atomics", atomic, _to_few, (who,), sizes)
        for who, sizes in (
            ("spread", (2**18, 2**22, 2**25)),
            ("thread", (2**14, 2**18, 2**22)),
            ("lane", (2**14, 2**18, 2**22)),
            ("warp", (2**16, 2**20, 2**24)),
            ("block", (2**18, 2**22, 2**25)),
        )
    ),
    *(
        Case(
            f"histogram {'shared' if s else 'global'} {k}",
            "atomics",
            histogram,
            numbers,
            (s, k),
            (2**18, 2**21, 2**24),
        )
        for s, k in ((False, 4), (True, 4), (True, 32))
    ),
]
