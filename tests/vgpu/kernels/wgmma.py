"""Define kernels for the tensor cores of a warpgroup: tiles in shared memory, `wgmma` with
descriptors."""

from dataclasses import dataclass

import cutlass
from cutlass import Boolean, Float32, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import mma as atoms

WARPGROUP = 128
K, MN = OperandMajorMode.K, OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM


@dataclass(frozen=True)
class MmaTF32Op(warpgroup.WarpGroupMmaOp):
    """The tf32 `wgmma`, which CuTe DSL's compiler supports but `warpgroup` does not expose."""

    shape_mnk: tuple[int, int, int]
    a_src: warpgroup.OperandSource
    a_major_mode = b_major_mode = K

    def _make_trait(self, *, loc=None, ip=None, **kwargs):
        shape = atoms._pack_shape(self.shape_mnk, loc=loc, ip=ip)
        kinds = cutlass.TFloat32.mlir_type, cutlass.TFloat32.mlir_type, Float32.mlir_type
        kind = atoms._cute_nvgpu_ir.MmaAtomSM90Type.get(
            shape.type.attribute, K._to_ir(), K._to_ir(), *kinds, self.a_src._to_ir()
        )
        off = Boolean(False).ir_value(loc=loc, ip=ip)
        return atoms.MmaF16BF16Trait(atoms.make_atom(kind, [off], loc=loc, ip=ip))

    _verify_fragment_A = _verify_fragment_B = lambda self, *args, **kwargs: True  # noqa: N815


def tile_layout(dtype, rows, columns, major, span_bytes):
    """Return the layout (rows, columns), contiguous along K or along rows (MN), swizzled over
    `span_bytes` (16: not swizzled)."""
    name = f"{'K' if major is K else 'MN'}_{'INTER' if span_bytes == 16 else f'SW{span_bytes}'}"
    kind = warpgroup.SmemLayoutAtomKind[name]
    atom = warpgroup.make_smem_layout_atom(kind, dtype)
    return cute.tile_to_shape(atom, (rows, columns), (0, 1) if major is K else (1, 0))


@cute.kernel
def product_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor,
                   tiled: cute.TiledMma, spans: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    if cutlass.const_expr(mA.element_type is Float32):  # tf32 ignores the lowest 13 bits
        mA, mB = (cute.recast_tensor(x, cutlass.TFloat32) for x in (mA, mB))
    gA, gB, gC, gD = (x[bidx, None, None] for x in (mA, mB, mC, mD))
    smem = cutlass.memory.SmemAllocator()
    filled = []
    majors = tiled.op.a_major_mode, tiled.op.b_major_mode
    for gX, major, span in ((gA, majors[0], spans[0]), (gB, majors[1], spans[1])):
        layout = tile_layout(gX.element_type, *gX.shape, major, span)
        sX = smem.allocate_tensor(gX.element_type, layout.outer, 1024, swizzle=layout.inner)
        rows, columns = gX.shape
        for i in cutlass.range_constexpr(rows * columns // WARPGROUP):
            at = ((i * WARPGROUP + tidx) // columns, (i * WARPGROUP + tidx) % columns)
            sX[at] = gX[at]
        filled.append(sX)
    sA, sB = filled
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    thread = tiled.get_slice(tidx)
    tCsA, tCsB = thread.partition_A(sA), thread.partition_B(sB)
    tCrA, tCrB = tiled.make_fragment_A(tCsA), tiled.make_fragment_B(tCsB)
    if cutlass.const_expr(tiled.op.a_src is RMEM):
        cute.basic_copy(thread.partition_A(gA), tCrA)
    tCgC = thread.partition_C(gC)
    tCrC = tiled.make_fragment_C(tCgC)
    cute.basic_copy(tCgC, tCrC)
    tiled.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.fence()
    for k in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        cute.gemm(tiled, tCrC, tCrA[None, None, k], tCrB[None, None, k], tCrC)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.basic_copy(tCrC, thread.partition_C(gD))


@cute.jit
def product(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor,
            op: cutlass.Constexpr, spans: cutlass.Constexpr):  # fmt: skip
    """Compute mD[i] = mC[i] + mA[i] mB[i]^T, with one warpgroup for each i.

    mA (I, 64, K), mB (I, N, K), mC and mD (I, 64, N); spans: swizzle spans of A and B in bytes.
    """
    tiled = cute.make_tiled_mma(op)
    product_kernel(mA, mB, mC, mD, tiled, spans).launch(
        grid=(mA.shape[0], 1, 1), block=(WARPGROUP, 1, 1)
    )


# -- a GEMM: cp.async three stages deep, one product in flight -------------------------------------
TILE_M, TILE_N, TILE_K, STAGES, SPAN, VECTOR = 128, 128, 64, 4, 128, 8


def staged(dtype, rows):
    """Return the layout (rows, TILE_K, STAGES), contiguous along K, swizzled over 128 bytes."""
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, dtype)
    return cute.tile_to_shape(atom, (rows, TILE_K, STAGES), (0, 1, 2))


@cute.kernel
def gemm_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, tiled: cute.TiledMma,
                copy: cute.TiledCopy):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    gA = cute.local_tile(mA, (TILE_M, TILE_K), (bidx, None))  # (TILE_M, TILE_K, tiles)
    gB = cute.local_tile(mB, (TILE_N, TILE_K), (bidy, None))
    gC = cute.local_tile(mC, (TILE_M, TILE_N), (bidx, bidy))
    smem = cutlass.memory.SmemAllocator()
    of_A, of_B = staged(mA.element_type, TILE_M), staged(mB.element_type, TILE_N)
    sA = smem.allocate_tensor(mA.element_type, of_A.outer, 1024, swizzle=of_A.inner)
    sB = smem.allocate_tensor(mB.element_type, of_B.outer, 1024, swizzle=of_B.inner)
    part = copy.get_slice(tidx)
    tAgA, tAsA = part.partition_S(gA), part.partition_D(sA)
    tBgB, tBsB = part.partition_S(gB), part.partition_D(sB)
    thread = tiled.get_slice(tidx)
    tCrA = tiled.make_fragment_A(thread.partition_A(sA))  # (1, MMA_M, MMA_K, stages)
    tCrB = tiled.make_fragment_B(thread.partition_B(sB))
    tCgC = thread.partition_C(gC)
    tCrC = tiled.make_fragment_C(tCgC.shape)
    tCrC.fill(0.0)
    tiled.set(warpgroup.Field.ACCUMULATE, True)
    tiles = cute.size(gA, mode=[2])
    for stage in cutlass.range_constexpr(STAGES - 2):
        if stage < tiles:
            cute.copy(copy, tAgA[None, None, None, stage], tAsA[None, None, None, stage])
            cute.copy(copy, tBgB[None, None, None, stage], tBsB[None, None, None, stage])
        cute.arch.cp_async_commit_group()
    for tile in cutlass.range(tiles, unroll=1):
        cute.arch.cp_async_wait_group(STAGES - 3)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()  # tiles have arrived; all products but the last are complete
        coming = tile + STAGES - 2
        if coming < tiles:
            free = coming % STAGES  # held the operands of tile - 2
            cute.copy(copy, tAgA[None, None, None, coming], tAsA[None, None, None, free])
            cute.copy(copy, tBgB[None, None, None, coming], tBsB[None, None, None, free])
        cute.arch.cp_async_commit_group()
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
            at = (None, None, k, tile % STAGES)
            cute.gemm(tiled, tCrC, tCrA[at], tCrB[at], tCrC)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
    warpgroup.wait_group(0)
    tCrD = cute.make_rmem_tensor_like(tCgC)
    tCrD.store(tCrC.load().to(mC.element_type))
    cute.autovec_copy(tCrD, tCgC)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, op: cutlass.Constexpr):
    """Compute mC (M, N) = mA (M, K) mB (N, K)^T: 16-bit, row-major, whole tiles."""
    tiled = cute.make_tiled_mma(op, (TILE_M // 64, 1, 1))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), mA.element_type, num_bits_per_copy=128)
    threads = TILE_M // 64 * WARPGROUP
    across = TILE_K // VECTOR
    copy = cute.make_tiled_copy_tv(
        atom,
        cute.make_layout((threads // across, across), stride=(across, 1)),
        cute.make_layout((1, VECTOR)),
    )
    grid = (cute.ceil_div(mC.shape[0], TILE_M), cute.ceil_div(mC.shape[1], TILE_N), 1)
    gemm_kernel(mA, mB, mC, tiled, copy).launch(grid=grid, block=(threads, 1, 1))
