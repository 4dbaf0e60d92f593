"""wgmma: results read early, operands overwritten while a product reads them, missing fences."""

import cutlass
import torch
from cutlass import Float16, Float32, const_expr, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import sync_if

WARPGROUP = 128
THREADS, ROWS, COLUMNS, TILE_K, STAGES = 256, 128, 32, 32, 3  # two warpgroups
VECTOR = 8  # elements of a 16-byte copy


def tile(rows):
    """Return the layout (rows, TILE_K, STAGES) with swizzled rows of 64 bytes."""
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW64, Float16)
    layout = cute.tile_to_shape(atom, (rows, TILE_K, STAGES), (0, 1, 2))
    smem = cutlass.memory.SmemAllocator()
    return smem.allocate_tensor(Float16, layout.outer, 1024, swizzle=layout.inner)


def copy_of_tiles():
    across = TILE_K // VECTOR
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
    threads = cute.make_layout((COLUMNS, across), stride=(across, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))


def rescaled(a, b, c):
    a, b = (x.double().view(len(x), -1, 16) for x in (a, b))
    return [(c, (a[:, 0] @ b[:, 0].T / 2 + a[:, 1] @ b[:, 1].T + 0.25).float())]


def one_tile():
    a, b = (fk.randn(m, TILE_K, dtype=torch.float16) for m in (64, COLUMNS))
    return a, b, fk.ones(64, COLUMNS)


def product(a, b, c):
    return [(c, (a.double() @ b.double().T).to(c.dtype))]


def operands():
    a, b = (fk.randn(m, 5 * TILE_K, dtype=torch.float16) for m in (ROWS, COLUMNS))
    return a, b, fk.empty(ROWS, COLUMNS)


IN_FLIGHT, FENCE, PROXY = ("async-product",), ("product-fence",), ("proxy-fence",)


@family(block=THREADS, args=operands, want=product, static=(0, 1, 2), bugs=(
    Bug("no_wait", IN_FLIGHT, "No thread waits for the last product.", loose=True),
    Bug("wait_leaves_one", IN_FLIGHT, "The last product may still be in flight.", loose=True),
    Bug("not_committed", IN_FLIGHT, "No product is in a committed group.", loose=True),
    Bug("no_fence", FENCE, "wgmma.fence is missing.", loose=True),
    Bug("no_proxy_fence", PROXY, "There is no proxy fence after cp.async's stores.", loose=True),
    Bug("no_barrier", IN_FLIGHT, "The second warpgroup does not wait for the copies.",
        also=("async-copy", *PROXY), loose=True),
    Bug("copied_too_early", IN_FLIGHT, "The other warpgroup may still read the stage.", loose=True),
    Bug("stage_too_few", IN_FLIGHT,
        "A tile is loaded into the previous stage, which a product still reads.",
        also=("async-copy", "uninitialised-shared"), loose=True),
    Bug("stage_of_each_warp", ("wgmma",), "The warps of a warpgroup use two descriptors."),
))  # fmt: skip
@cute.kernel
def warpgroup_product(mA, mB, mC, bug):
    """Compute C (128, 32) = A B^T; one warpgroup copies one tile of K ahead, both multiply."""
    tidx, _, _ = cute.arch.thread_idx()
    K, source = OperandMajorMode.K, warpgroup.OperandSource.SMEM
    op = warpgroup.MmaF16BF16Op(Float16, Float32, (64, COLUMNS, 16), source, K, K)
    tiled = cute.make_tiled_mma(op, (2, 1, 1))
    sA, sB = tile(ROWS), tile(COLUMNS)
    gA = cute.local_tile(mA, (ROWS, TILE_K), (0, None))
    gB = cute.local_tile(mB, (COLUMNS, TILE_K), (0, None))
    copy = copy_of_tiles()
    part = copy.get_slice(tidx % WARPGROUP)
    tAgA, tAsA = part.partition_S(gA), part.partition_D(sA)
    tBgB, tBsB = part.partition_S(gB), part.partition_D(sB)
    thread = tiled.get_slice(tidx)
    tCrA = tiled.make_fragment_A(thread.partition_A(sA))
    tCrB = tiled.make_fragment_B(thread.partition_B(sB))
    tCgC = thread.partition_C(mC)
    tCrC = tiled.make_fragment_C(tCgC.shape)
    tCrC.fill(0.0)
    tiled.set(warpgroup.Field.ACCUMULATE, True)
    tiles = cute.size(gA, mode=[2])
    if tidx < WARPGROUP:
        # BUG no_barrier, no_proxy_fence
        cute.copy(copy, tAgA[None, None, None, 0], tAsA[None, None, None, 0])
        # BUG no_barrier, no_proxy_fence
        cute.copy(copy, tBgB[None, None, None, 0], tBsB[None, None, None, 0])
    cute.arch.cp_async_commit_group()
    for t in cutlass.range(tiles, unroll=1):
        free = (t + 1) % (2 if const_expr(bug == "stage_too_few") else STAGES)
        cute.arch.cp_async_wait_group(0)
        sync_if(bug != "no_proxy_fence", cute.arch.fence_proxy, "async.shared", space="cta")
        if const_expr(bug not in ("no_barrier", "copied_too_early")):
            # the tile has arrived, and the product before the last is complete
            cute.arch.sync_threads()
        if t + 1 < tiles and tidx < WARPGROUP:
            # BUG no_barrier, no_proxy_fence, copied_too_early, stage_too_few, not_committed
            cute.copy(copy, tAgA[None, None, None, t + 1], tAsA[None, None, None, free])
            # BUG no_barrier, no_proxy_fence, copied_too_early, stage_too_few, not_committed
            cute.copy(copy, tBgB[None, None, None, t + 1], tBsB[None, None, None, free])
        cute.arch.cp_async_commit_group()
        sync_if(bug == "copied_too_early")
        stage = (t + tidx // 64) % STAGES if const_expr(bug == "stage_of_each_warp") else t % STAGES
        sync_if(bug != "no_fence", warpgroup.fence)
        for k in cutlass.range_constexpr(TILE_K // 16):
            at = (None, None, k, stage)
            # BUG no_wait, wait_leaves_one, not_committed, no_fence, no_proxy_fence, no_barrier
            # BUG stage_too_few, copied_too_early, stage_of_each_warp
            cute.gemm(tiled, tCrC, tCrA[at], tCrB[at], tCrC)
        sync_if(bug != "not_committed", warpgroup.commit_group)
        warpgroup.wait_group(1)
    if const_expr(bug != "no_wait"):
        warpgroup.wait_group(1 if const_expr(bug == "wait_leaves_one") else 0)
    cute.basic_copy(tCrC, tCgC)  # BUG no_wait, wait_leaves_one, not_committed


@family(block=WARPGROUP, args=one_tile, want=rescaled, static=(0, 1, 2), bugs=(
    Bug("scaled_too_early", IN_FLIGHT, "The sum is halved before the wait.", also=FENCE,
        loose=True),
    Bug("not_fenced_again", FENCE, "There is no fence after the sum is halved.", loose=True),
    Bug("half_a_tile", ("uninitialised-shared",), "Half of the rows are never stored."),
    Bug("overwritten", IN_FLIGHT, "Columns of B are cleared before the wait.", also=PROXY,
        loose=True),
))  # fmt: skip
@cute.kernel
def rescaled_product(mA, mB, mC, bug):
    """Compute C (64, 32) in steps of 16 along K, and halve the sum before each step."""
    tidx, _, _ = cute.arch.thread_idx()
    K, source = OperandMajorMode.K, warpgroup.OperandSource.SMEM
    tiled = cute.make_tiled_mma(
        warpgroup.MmaF16BF16Op(Float16, Float32, (64, COLUMNS, 16), source, K, K)
    )
    filled = []
    for gX in (mA, mB):
        sX = tile(gX.shape[0])[None, None, 0]
        part = 2 if const_expr(bug == "half_a_tile") else 1
        for i in cutlass.range_constexpr(gX.shape[0] * TILE_K // WARPGROUP // part):
            at = (i * WARPGROUP + tidx) // TILE_K, (i * WARPGROUP + tidx) % TILE_K
            sX[at] = gX[at]  # BUG overwritten
        filled.append(sX)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    thread = tiled.get_slice(tidx)
    tCrA = tiled.make_fragment_A(thread.partition_A(filled[0]))
    tCrB = tiled.make_fragment_B(thread.partition_B(filled[1]))
    tCgC = thread.partition_C(mC)
    tCrC = tiled.make_fragment_C(tCgC.shape)
    cute.basic_copy(tCgC, tCrC)
    tiled.set(warpgroup.Field.ACCUMULATE, True)
    for k in cutlass.range_constexpr(TILE_K // 16):
        tCrC.store(tCrC.load() * Float32(0.5))  # BUG scaled_too_early, not_fenced_again
        if const_expr(k == 0 or bug != "not_fenced_again"):
            warpgroup.fence()
        # BUG scaled_too_early, not_fenced_again, overwritten, half_a_tile
        cute.gemm(tiled, tCrC, tCrA[None, None, k], tCrB[None, None, k], tCrC)
        warpgroup.commit_group()
        if const_expr(bug == "overwritten"):
            filled[1][tidx % COLUMNS, tidx // COLUMNS] = Float16(0.0)  # BUG overwritten
        if const_expr(bug != "scaled_too_early" or k > 0):
            warpgroup.wait_group(0)
    cute.basic_copy(tCrC, tCgC)  # BUG half_a_tile
