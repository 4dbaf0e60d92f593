"""Define kernels for the tensor cores of one warp: single `mma`s, `ldmatrix`, `stmatrix`, and whole
GEMMs."""

from dataclasses import dataclass

import cutlass
from cutlass import Float32, Int32, cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.nvgpu.warp import mma as atoms

WARP, THREADS = 32, 128


@dataclass(frozen=True)
class MmaInt8Op(warp.WarpMmaOp):
    """The saturating `mma` of 8-bit integers to int32, which CuTe DSL's compiler supports but
    `warp` does not expose."""

    signed: bool
    shape_mnk: tuple[int, int, int]

    def _make_trait(self, *, loc=None, ip=None, **kwargs):
        shape = atoms._pack_shape(self.shape_mnk, loc=loc, ip=ip)
        make = ir.IntegerType.get_signed if self.signed else ir.IntegerType.get_unsigned
        kinds = make(8), make(8), Int32.mlir_type
        kind = atoms._cute_nvgpu_ir.MmaAtomSM80Type.get(shape.type.attribute, *kinds)
        return atoms.MmaF16BF16Trait(atoms.make_atom(kind, loc=loc, ip=ip))

    # The other operations have fixed types.
    _verify_fragment_A = _verify_fragment_B = lambda self, *args, **kwargs: True  # noqa: N815


@cute.kernel
def one_mma_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor,
                   tiled: cute.TiledMma):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane = tiled.get_slice(tidx)
    tCgA = lane.partition_A(mA[bidx, None, None])
    tCgB = lane.partition_B(mB[bidx, None, None])
    tCgC = lane.partition_C(mC[bidx, None, None])
    tCgD = lane.partition_C(mD[bidx, None, None])
    tCrA, tCrB = tiled.make_fragment_A(tCgA), tiled.make_fragment_B(tCgB)
    tCrC = tiled.make_fragment_C(tCgC)
    for gX, rX in ((tCgA, tCrA), (tCgB, tCrB), (tCgC, tCrC)):
        cute.basic_copy(cute.recast_tensor(gX, rX.element_type), rX)
    cute.gemm(tiled, tCrC, tCrA, tCrB, tCrC)
    cute.basic_copy(tCrC, cute.recast_tensor(tCgD, tCrC.element_type))


@cute.jit
def one_mma(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor,
            op: cutlass.Constexpr):  # fmt: skip
    """Compute mD[i] = mA[i] mB[i]^T + mC[i], with one warp and one instruction for each i.

    mA (I, 16, K), mB (I, 8, K), mC and mD (I, 16, 8): their types are as wide as the operation's.
    """
    tiled = cute.make_tiled_mma(op)
    one_mma_kernel(mA, mB, mC, mD, tiled).launch(grid=(mA.shape[0], 1, 1), block=(WARP, 1, 1))


@cute.kernel
def move_kernel(mX: cute.Tensor, mY: cute.Tensor, store: cutlass.Constexpr,
                count: cutlass.Constexpr, transposed: cutlass.Constexpr):  # fmt: skip
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 8), stride=(24, 1)), 16)
    for j in cutlass.range_constexpr(8):
        sX[lane, j] = mX[lane, j] if cutlass.const_expr(not store) else mX.element_type(-1)
    cute.arch.sync_threads()
    row = sX[lane, None].iterator.toint().ir_value()
    gX, gY = (cute.recast_tensor(x[lane, None], Int32) for x in (mX, mY))
    form = f".sync.aligned.m8n8.x{count}{'.trans' * transposed}.shared.b16"
    if cutlass.const_expr(store):
        held = ", ".join(f"${j + 1}" for j in range(count))
        registers = [gX[j].ir_value() for j in range(count)]
        llvm.inline_asm(
            None, [row, *registers], f"stmatrix{form} [$0], {{{held}}};", "r" + ",r" * count,
            has_side_effects=True,
        )  # fmt: skip
        cute.arch.sync_threads()
        for j in cutlass.range_constexpr(8):
            mY[lane, j] = sX[lane, j]
    else:
        held, kind = ", ".join(f"${j}" for j in range(count)), Int32.mlir_type
        several = kind if count == 1 else llvm.StructType.get_literal([kind] * count)
        found = llvm.inline_asm(
            several, [row], f"ldmatrix{form} {{{held}}}, [${count}];", "=r," * count + "r",
            has_side_effects=True,
        )  # fmt: skip
        for j in cutlass.range_constexpr(count):
            gY[j] = Int32(found if count == 1 else llvm.extractvalue(kind, found, [j]))


@cute.jit
def move(mX: cute.Tensor, mY: cute.Tensor, store: cutlass.Constexpr, count: cutlass.Constexpr,
         transposed: cutlass.Constexpr):  # fmt: skip
    """Move mX (32, 8) to mY through shared memory, and load by ldmatrix or store by stmatrix."""
    move_kernel(mX, mY, store, count, transposed).launch(grid=(1, 1, 1), block=(WARP, 1, 1))


@cute.kernel
def tile_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    dtype, size = mA.element_type, mA.shape[0]
    op = warp.MmaF16BF16Op(dtype, Float32, (16, 8, 16))
    tiled = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    plain = cute.make_layout((size, size), stride=(size, 1))
    layout = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, plain)
    smem = cutlass.memory.SmemAllocator()
    sA, sB = (smem.allocate_tensor(dtype, layout, 128) for _ in range(2))
    for i in cutlass.range_constexpr(size * size // THREADS):
        at = ((i * THREADS + tidx) // size, (i * THREADS + tidx) % size)
        sA[at] = mA[at]
        sB[at] = mB[at]
    cute.arch.sync_threads()
    # B (K, N) viewed as (N, K), contiguous along N
    source_B = cute.composition(sB, plain)
    lane = tiled.get_slice(tidx)
    tCrA = tiled.make_fragment_A(lane.partition_A(sA))
    tCrB = tiled.make_fragment_B(lane.partition_B(source_B))
    tCgC = lane.partition_C(mC)
    tCrC = tiled.make_fragment_C(tCgC)
    tCrC.fill(0.0)
    load_A, load_B = (
        cute.make_copy_atom(warp.LdMatrix8x8x16bOp(t, 4), dtype) for t in (False, True)
    )
    copy_A = cute.make_tiled_copy_A(load_A, tiled)
    copy_B = cute.make_tiled_copy_B(load_B, tiled)
    cute.copy(copy_A, copy_A.get_slice(tidx).partition_S(sA), copy_A.retile(tCrA))
    cute.copy(copy_B, copy_B.get_slice(tidx).partition_S(source_B), copy_B.retile(tCrB))
    for k in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        cute.gemm(tiled, tCrC, tCrA[None, None, k], tCrB[None, None, k], tCrC)
    cute.basic_copy(tCrC, tCgC)


@cute.jit
def tile(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    """Compute a 64 by 64 product C = A B, all row-major; ldmatrix.trans loads B."""
    tile_kernel(mA, mB, mC).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


# -- a GEMM in the style of NVIDIA's examples
# ---------------------------------------------------------
TILE_M, TILE_N, STAGES = 128, 128, 3
ROW_BYTES, VECTOR_BYTES = 128, 16  # bytes per tile row and per copy


def tile_k(dtype):
    return ROW_BYTES * 8 // dtype.width


def tile_layout(dtype, rows):
    """Return the layout (rows, K, stages), with 128-byte rows whose 16-byte pieces are swizzled by
    the row."""
    vector = VECTOR_BYTES * 8 // dtype.width
    swizzle = cute.make_swizzle(3, vector.bit_length() - 1, 3)
    atom = cute.make_layout((8, tile_k(dtype)), stride=(tile_k(dtype), 1))
    atom = cute.make_composed_layout(swizzle, 0, atom)
    return cute.tile_to_shape(atom, (rows, tile_k(dtype), STAGES), (0, 1, 2))


@cute.kernel
def gemm_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, tiled: cute.TiledMma,
                copy: cute.TiledCopy):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    dtype = mA.element_type
    gA = cute.local_tile(mA, (TILE_M, tile_k(dtype)), (bidx, None))  # (TILE_M, TILE_K, tiles)
    gB = cute.local_tile(mB, (TILE_N, tile_k(dtype)), (bidy, None))
    gC = cute.local_tile(mC, (TILE_M, TILE_N), (bidx, bidy))
    smem = cutlass.memory.SmemAllocator()
    sA = smem.allocate_tensor(dtype, tile_layout(dtype, TILE_M), 128)
    sB = smem.allocate_tensor(dtype, tile_layout(dtype, TILE_N), 128)
    part = copy.get_slice(tidx)
    tAgA, tAsA = part.partition_S(gA), part.partition_D(sA)
    tBgB, tBsB = part.partition_S(gB), part.partition_D(sB)

    lane = tiled.get_slice(tidx)
    tCrA = tiled.make_fragment_A(lane.partition_A(sA[None, None, 0]))
    tCrB = tiled.make_fragment_B(lane.partition_B(sB[None, None, 0]))
    tCrC = tiled.make_fragment_C(lane.partition_C(gC).shape)
    tCrC.fill(0)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    copy_A, copy_B = cute.make_tiled_copy_A(load, tiled), cute.make_tiled_copy_B(load, tiled)
    tXsA = copy_A.get_slice(tidx).partition_S(sA)  # (V, M, K, stages)
    tXsB = copy_B.get_slice(tidx).partition_S(sB)
    tXrA, tXrB = copy_A.retile(tCrA), copy_B.retile(tCrB)

    tiles = cute.size(gA, mode=[2])
    for stage in cutlass.range_constexpr(STAGES - 1):
        if stage < tiles:
            cute.copy(copy, tAgA[None, None, None, stage], tAsA[None, None, None, stage])
            cute.copy(copy, tBgB[None, None, None, stage], tBsB[None, None, None, stage])
        cute.arch.cp_async_commit_group()
    for tile in cutlass.range(tiles, unroll=1):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()  # the tile has arrived, and the previous stage is free
        coming = tile + STAGES - 1
        if coming < tiles:
            free = coming % STAGES
            cute.copy(copy, tAgA[None, None, None, coming], tAsA[None, None, None, free])
            cute.copy(copy, tBgB[None, None, None, coming], tBsB[None, None, None, free])
        cute.arch.cp_async_commit_group()
        stage = tile % STAGES
        for k in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
            cute.copy(copy_A, tXsA[None, None, k, stage], tXrA[None, None, k])
            cute.copy(copy_B, tXsB[None, None, k, stage], tXrB[None, None, k])
            cute.gemm(tiled, tCrC, tCrA[None, None, k], tCrB[None, None, k], tCrC)
    tCgC = lane.partition_C(gC)
    tCrD = cute.make_rmem_tensor_like(tCgC)
    tCrD.store(tCrC.load().to(mC.element_type))
    cute.autovec_copy(tCrD, tCgC)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, op: cutlass.Constexpr):
    """Compute mC (M, N) = mA (M, K) mB (N, K)^T, for row-major matrices made of whole tiles.

    cp.async copies tiles with 128 bytes along K into three stages, ldmatrix loads them into
    registers, and each of 2 by 2 warps multiplies 64 by 64.
    """
    if cutlass.const_expr(mA.element_type is Float32):  # tf32 ignores the lowest 13 bits
        mA, mB = (cute.recast_tensor(x, cutlass.TFloat32) for x in (mA, mB))
    dtype = mA.element_type
    vector = VECTOR_BYTES * 8 // dtype.width
    tiled = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, op.shape_mnk[2]))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=8 * VECTOR_BYTES)
    across = ROW_BYTES // VECTOR_BYTES
    copy = cute.make_tiled_copy_tv(
        atom,
        cute.make_layout((THREADS // across, across), stride=(across, 1)),
        cute.make_layout((1, vector)),
    )
    grid = (cute.ceil_div(mC.shape[0], TILE_M), cute.ceil_div(mC.shape[1], TILE_N), 1)
    gemm_kernel(mA, mB, mC, tiled, copy).launch(grid=grid, block=(THREADS, 1, 1))
