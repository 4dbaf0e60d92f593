"""Calibration kernels that compute: chains of operations, special functions, divergence, GEMMs."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Float64, Int32
from cutlass.cute.nvgpu import warp

from forgekit.profiling.predicting.calibration.case import Case, pair, rows

# one operation in a chain
STEPS = {
    "fma": lambda v: v * Float32(1.0001) + Float32(0.5),
    "fma64": lambda v: v * Float64(1.0001) + Float64(0.5),
    "integer": lambda v: v * Int32(1664525) + Int32(1013904223),
    "logic": lambda v: (v ^ (v << 13)) ^ (v >> 7),
    "exp": lambda v: cute.math.exp(v, fastmath=True) * Float32(0.1),
    "exact exp": lambda v: cute.math.exp(v * Float32(0.1)),
    "divide": lambda v: Float32(1.5) / (v + Float32(0.5)),
    "sqrt": lambda v: cute.math.rsqrt(v + Float32(1.0), fastmath=True),
    "log": lambda v: cute.math.log(v + Float32(2.0), fastmath=True),
}
TYPES = {"fma64": Float64, "integer": Int32, "logic": Int32}


@cute.kernel
def compute_kernel(mX: cute.Tensor, mY: cute.Tensor, what: cutlass.Constexpr,
                   times: cutlass.Constexpr, chains: cutlass.Constexpr,
                   threads: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * threads + tidx
    dtype = TYPES.get(what, Float32)
    if i < cute.size(mX):
        values = cute.make_rmem_tensor((chains,), dtype)
        for c in cutlass.range_constexpr(chains):
            values[c] = mX[i].to(dtype) + dtype(c)
        for _ in cutlass.range(times, unroll=8):
            for c in cutlass.range_constexpr(chains):
                values[c] = STEPS[what](values[c])
        total = values[0]
        for c in cutlass.range_constexpr(1, chains):
            total = total + values[c]
        mY[i] = total.to(Float32)


@cute.jit
def compute(mX: cute.Tensor, mY: cute.Tensor, what: cutlass.Constexpr, times: cutlass.Constexpr,
            chains: cutlass.Constexpr, threads: cutlass.Constexpr):  # fmt: skip
    """Compute mY[i] from mX[i] with `times` operations in each of `chains` independent chains."""
    compute_kernel(mX, mY, what, times, chains, threads).launch(
        grid=(cute.ceil_div(cute.size(mX), threads), 1, 1), block=(threads, 1, 1)
    )


# -- divergence, and blocks that differ ----
@cute.kernel
def diverge_kernel(mX: cute.Tensor, mY: cute.Tensor, ways: cutlass.Constexpr,
                   times: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < cute.size(mX):
        value = mX[i]
        for _ in range(times * (tidx % ways + 1) // ways):
            value = value * Float32(1.0001) + Float32(0.5)
        mY[i] = value


@cute.jit
def diverge(mX: cute.Tensor, mY: cute.Tensor, ways: cutlass.Constexpr, times: cutlass.Constexpr):
    """Run a loop whose trip count, at most `times`, has `ways` different values among a warp's
    lanes.
    """
    diverge_kernel(mX, mY, ways, times).launch(
        grid=(cute.ceil_div(cute.size(mX), 128), 1, 1), block=(128, 1, 1)
    )


@cute.kernel
def triangle_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    for j in range(tidx, row + 1, 256):
        mY[row, j] = mX[row, j] * Float32(2.0)


@cute.jit
def triangle(mX: cute.Tensor, mY: cute.Tensor):
    """Store the lower triangle of mY = 2 mX, both of shape (M, M), with one block per row."""
    triangle_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))


# -- registers ----
@cute.kernel
def registers_kernel(mX: cute.Tensor, mY: cute.Tensor, held: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    first = bidx * 128 * held + tidx
    values = cute.make_rmem_tensor((held,), Float32)
    if first + (held - 1) * 128 < cute.size(mX):
        for k in cutlass.range_constexpr(held):
            values[k] = mX[first + k * 128]
        total = values.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
        for k in cutlass.range_constexpr(held):
            mY[first + k * 128] = values[k] * total


@cute.jit
def registers(mX: cute.Tensor, mY: cute.Tensor, held: cutlass.Constexpr):
    """Keep `held` elements per thread in registers until their sum is known."""
    registers_kernel(mX, mY, held).launch(
        grid=(cute.size(mX) // (128 * held), 1, 1), block=(128, 1, 1)
    )


# -- matrix products ----
@cute.kernel
def product_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    i, j = by * 16 + ty, bx * 16 + tx
    total = Float32(0.0)
    for k in range(mA.shape[1]):
        total += mA[i, k] * mB[k, j]
    mC[i, j] = total


@cute.jit
def product(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    """Compute mC = mA mB with one element per thread and without shared memory."""
    product_kernel(mA, mB, mC).launch(
        grid=(mC.shape[1] // 16, mC.shape[0] // 16, 1), block=(16, 16, 1)
    )


@cute.kernel
def tiled_product_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sA = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(32, 1)), 128)
    sB = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(32, 1)), 128)
    totals = cute.make_rmem_tensor((4,), Float32)
    totals.fill(0.0)
    for k in range(0, mA.shape[1], 32):
        for r in cutlass.range_constexpr(4):
            sA[ty + 8 * r, tx] = mA[by * 32 + ty + 8 * r, k + tx]
            sB[ty + 8 * r, tx] = mB[k + ty + 8 * r, bx * 32 + tx]
        cute.arch.sync_threads()
        for j in cutlass.range_constexpr(32):
            b = sB[j, tx]
            for r in cutlass.range_constexpr(4):
                totals[r] = totals[r] + sA[ty + 8 * r, j] * b
        cute.arch.sync_threads()
    for r in cutlass.range_constexpr(4):
        mC[by * 32 + ty + 8 * r, bx * 32 + tx] = totals[r]


@cute.jit
def tiled_product(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    """Compute mC = mA mB with 32 x 32 tiles in shared memory."""
    tiled_product_kernel(mA, mB, mC).launch(
        grid=(mC.shape[1] // 32, mC.shape[0] // 32, 1), block=(32, 8, 1)
    )


@cute.kernel
def tensor_product_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor,
                          tiled: cute.TiledMma, tile: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    gA = cute.local_tile(mA, (tile, 16), (by, None))
    gB = cute.local_tile(mB, (tile, 16), (bx, None))
    gC = cute.local_tile(mC, (tile, tile), (by, bx))
    mine = tiled.get_slice(tidx)
    tCgA, tCgB, tCgC = mine.partition_A(gA), mine.partition_B(gB), mine.partition_C(gC)
    tCrA = tiled.make_fragment_A(tCgA[None, None, None, 0])
    tCrB = tiled.make_fragment_B(tCgB[None, None, None, 0])
    tCrC = tiled.make_fragment_C(tCgC)
    tCrC.fill(0.0)
    for k in range(cute.size(gA, mode=[2])):
        cute.autovec_copy(tCgA[None, None, None, k], tCrA)
        cute.autovec_copy(tCgB[None, None, None, k], tCrB)
        cute.gemm(tiled, tCrC, tCrA, tCrB, tCrC)
    cute.autovec_copy(tCrC, tCgC)


@cute.jit
def tensor_product(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, tile: cutlass.Constexpr):
    """Compute mC = mA mB^T on tensor cores with four warps per tile, which load operands from
    global memory.
    """
    op = warp.MmaF16BF16Op(cutlass.Float16, Float32, (16, 8, 16))
    tiled = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)))
    tensor_product_kernel(mA, mB, mC, tiled, tile).launch(
        grid=(mC.shape[1] // tile, mC.shape[0] // tile, 1), block=(128, 1, 1)
    )


def matrices(dtype: torch.dtype = torch.float32):
    """Return a function of m that makes A, B and C, each of shape (m, m)."""
    return lambda m: (
        torch.ones(m, m, dtype=dtype),
        torch.ones(m, m, dtype=dtype),
        torch.empty(m, m),
    )


_FEW = (2**14, 2**18, 2**22)
CASES = [
    *(
        Case(f"{what} {t}x{c} of {b}", "arithmetic", compute, pair(), (what, t, c, b), sizes)
        for what, t, c, b, sizes in (
            ("fma", 16, 1, 256, (2**18, 2**22, 2**25)),
            ("fma", 128, 1, 256, (2**16, 2**20, 2**24)),
            ("fma", 1024, 1, 128, _FEW),
            ("fma", 256, 4, 128, _FEW),
            ("fma", 1024, 4, 512, _FEW),
            ("fma64", 256, 1, 128, _FEW),
            ("integer", 256, 1, 128, _FEW),
            ("integer", 256, 4, 256, _FEW),
            ("logic", 256, 1, 256, _FEW),
            ("logic", 128, 4, 128, _FEW),
        )
    ),
    *(
        Case(f"{what} {t}x{c} of {b}", "special", compute, pair(), (what, t, c, b), sizes)
        for what, t, c, b, sizes in (
            ("exp", 8, 1, 256, (2**18, 2**22, 2**25)),
            ("exp", 64, 1, 256, _FEW),
            ("exp", 64, 4, 256, _FEW),
            ("exact exp", 32, 1, 256, _FEW),
            ("divide", 8, 1, 256, (2**18, 2**22, 2**24)),
            ("divide", 64, 1, 128, _FEW),
            ("divide", 32, 4, 256, _FEW),
            ("sqrt", 64, 1, 256, _FEW),
            ("sqrt", 64, 4, 128, _FEW),
            ("log", 64, 2, 256, _FEW),
        )
    ),
    *(
        Case(f"diverge {w} {t}", "divergence", diverge, pair(), (w, t), _FEW)
        for w, t in ((2, 64), (8, 256), (32, 512))
    ),
    Case("triangle", "imbalance", triangle, rows(4096, 1), (), (2**20, 2**22, 2**24)),
    *(Case(f"registers {h}", "registers", registers, pair(), (h,)) for h in (16, 32, 64, 128, 200)),
    Case("product", "product", product, matrices(), (), (256, 512, 2048)),
    Case("tiled product", "product", tiled_product, matrices(), (), (256, 1024, 2048)),
    *(
        Case(
            f"tensor product {t}",
            "tensor cores",
            tensor_product,
            matrices(torch.float16),
            (t,),
            (256, 1024, 2048),
        )
        for t in (32, 64, 128)
    ),
]
