"""Tensor cores: tiles that ldmatrix reads too early or too late, stages, unwritten rows."""

import cutlass
import torch
from cutlass import Float16, Float32, const_expr, cute
from cutlass.cute.nvgpu import cpasync, warp

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import smem, sync_if

THREADS, TILE, TILE_K, STAGES = 128, 64, 32, 3
VECTOR = 8  # elements of a 16-byte copy


def tile_layout(rows, columns):
    """Return a row-major layout of 64-byte rows, whose 16-byte pieces are swizzled by pairs of
    rows."""
    atom = cute.make_layout((8, 32), stride=(32, 1))
    atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, atom)
    return cute.tile_to_shape(atom, (rows, columns, STAGES), (0, 1, 2))


def copy_of_rows(atom, columns):
    """Return a tiled copy of `columns`-element rows: THREADS threads, 16 bytes per thread."""
    across = columns // VECTOR
    threads = cute.make_layout((THREADS // across, across), stride=(across, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))


def product(a, b, c):
    return [(c, (a.double() @ b.double().T).to(c.dtype))]


def fragments():
    a, b = (fk.randn(m, 16, dtype=torch.float16) for m in (16, 8))
    return a, b, fk.empty(16, 8)


def operands():
    a, b = (fk.randn(TILE, 4 * TILE_K, dtype=torch.float16) for _ in range(2))
    return a, b, fk.empty(TILE, TILE, dtype=torch.float16)


ASYNC, RACE = ("async-copy",), ("shared-race",)


@family(block=THREADS, args=operands, want=product, static=(0, 1, 2), bugs=(
    Bug("no_wait", ASYNC, "No thread waits for the tiles.", also=RACE, loose=True),
    Bug("weak_wait", ASYNC, "The wait leaves the tile that is used in flight.", also=RACE,
        loose=True),
    Bug("not_committed", ASYNC, "The first tiles are not committed before the third.", also=RACE,
        loose=True),
    Bug("no_barrier", RACE, "There is no barrier before other warps' rows are read.",
        also=ASYNC, loose=True),
    Bug("wait_after_barrier", RACE, "The barrier precedes the wait.", loose=True),
    Bug("stage_being_read", (*ASYNC, *RACE),
        "The next tile overwrites the stage that is being read.",
        also=(*RACE, "uninitialised-shared"), loose=True),
    Bug("half_a_tile", ("uninitialised-shared",), "Half of A's first tiles is never copied."),
    Bug("beyond_the_last_stage", ("uninitialised-shared",),
        "B's stage is not reduced modulo the number of stages.",
        also=RACE),
    Bug("c_over_a", RACE, "C overwrites a tile of A that other warps still read.", loose=True),
    Bug("c_not_awaited", RACE, "C is read from shared memory without a barrier."),
))  # fmt: skip
@cute.kernel
def staged_product(mA, mB, mC, bug):
    """Compute C (64, 64) = A B^T with ldmatrix and mma; cp.async is two tiles of K ahead, and C is
    stored through shared memory."""
    tidx, _, _ = cute.arch.thread_idx()
    mma = warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    tiled = cute.make_tiled_mma(mma, (2, 2, 1), permutation_mnk=(32, 32, 16))
    sA, sB = smem(tile_layout(TILE, TILE_K), Float16), smem(tile_layout(TILE, TILE_K), Float16)
    sC = smem((TILE, TILE), Float16, (TILE + VECTOR, 1))
    if const_expr(bug == "c_over_a"):
        sC = cute.make_tensor(sA.iterator, cute.make_layout((TILE, TILE), stride=(TILE, 1)))
    gA = cute.local_tile(mA, (TILE, TILE_K), (0, None))
    gB = cute.local_tile(mB, (TILE, TILE_K), (0, None))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
    part = copy_of_rows(atom, TILE_K).get_slice(tidx)
    tAgA, tAsA = part.partition_S(gA), part.partition_D(sA)
    tBgB, tBsB = part.partition_S(gB), part.partition_D(sB)
    lane = tiled.get_slice(tidx)
    tCrA = tiled.make_fragment_A(lane.partition_A(sA[None, None, 0]))
    tCrB = tiled.make_fragment_B(lane.partition_B(sB[None, None, 0]))
    tCrC = tiled.make_fragment_C(tiled.partition_shape_C((TILE, TILE)))
    tCrC.fill(0.0)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
    copy_A, copy_B = cute.make_tiled_copy_A(load, tiled), cute.make_tiled_copy_B(load, tiled)
    tXsA, tXsB = (c.get_slice(tidx).partition_S(s) for c, s in ((copy_A, sA), (copy_B, sB)))
    tXrA, tXrB = copy_A.retile(tCrA), copy_B.retile(tCrB)
    tiles = cute.size(gA, mode=[2])
    for s in cutlass.range_constexpr(STAGES - 1):
        if const_expr(bug == "half_a_tile"):
            cute.copy(atom, tAgA[None, 0, 0, s], tAsA[None, 0, 0, s])
        else:
            # BUG no_wait, weak_wait, not_committed, no_barrier, wait_after_barrier
            cute.copy(atom, tAgA[None, None, None, s], tAsA[None, None, None, s])
        # BUG no_wait, weak_wait, not_committed, no_barrier, wait_after_barrier
        cute.copy(atom, tBgB[None, None, None, s], tBsB[None, None, None, s])
        sync_if(bug != "not_committed", cute.arch.cp_async_commit_group)
    for t in cutlass.range(tiles, unroll=1):
        sync_if(bug == "wait_after_barrier")
        if const_expr(bug != "no_wait"):
            cute.arch.cp_async_wait_group(STAGES - 1 if bug == "weak_wait" else STAGES - 2)
        sync_if(bug not in ("no_barrier", "wait_after_barrier"))
        ahead, stage = t + STAGES - 1, t % STAGES
        if ahead < tiles:
            free = stage if const_expr(bug == "stage_being_read") else ahead % STAGES
            # BUG no_wait, weak_wait, not_committed, no_barrier, wait_after_barrier
            # BUG stage_being_read
            cute.copy(atom, tAgA[None, None, None, ahead], tAsA[None, None, None, free])
            # BUG no_wait, weak_wait, not_committed, no_barrier, wait_after_barrier
            cute.copy(atom, tBgB[None, None, None, ahead], tBsB[None, None, None, ahead % STAGES])
        cute.arch.cp_async_commit_group()
        # stage_b may be past the last stage
        stage_b = t if const_expr(bug == "beyond_the_last_stage") else stage
        for k in cutlass.range_constexpr(TILE_K // 16):
            # BUG no_wait, weak_wait, not_committed, no_barrier, wait_after_barrier
            # BUG stage_being_read, half_a_tile, c_over_a
            cute.copy(copy_A, tXsA[None, None, k, stage], tXrA[None, None, k])
            # BUG no_wait, weak_wait, not_committed, no_barrier, wait_after_barrier
            # BUG beyond_the_last_stage
            cute.copy(copy_B, tXsB[None, None, k, stage_b], tXrB[None, None, k])
            cute.gemm(tiled, tCrC, tCrA[None, None, k], tCrB[None, None, k], tCrC)
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), Float16)
    copy_C = cute.make_tiled_copy_C(store, tiled)
    tCrD = cute.make_rmem_tensor_like(tCrC, Float16)
    tCrD.store(tCrC.load().to(Float16))
    tXsC = copy_C.get_slice(tidx).partition_D(sC)
    cute.copy(copy_C, copy_C.retile(tCrD), tXsC)  # BUG c_over_a, c_not_awaited
    sync_if(bug != "c_not_awaited")
    vector = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
    rows = copy_of_rows(vector, TILE).get_slice(tidx)
    tCsC = rows.partition_S(sC)
    tCrO = cute.make_rmem_tensor_like(tCsC)
    cute.copy(vector, tCsC, tCrO)  # BUG c_not_awaited
    cute.copy(vector, tCrO, rows.partition_D(mC))  # BUG half_a_tile, beyond_the_last_stage


@family(block=32, args=fragments, want=product, static=(0, 1, 2), bugs=(
    Bug("no_sync", RACE, "Other lanes' elements are read without sync_warp()."),
    Bug("rows_left_out", ("uninitialised-shared",), "Half of A's rows are never stored.",
        also=RACE),
    Bug("half_a_warp", ("partial-warp",), "Half of the lanes multiply."),
))  # fmt: skip
@cute.kernel
def warp_product(mA, mB, mC, bug):
    """Compute C (16, 8) = A B^T in one warp, with A in shared memory and B in registers."""
    lane, _, _ = cute.arch.thread_idx()
    tiled = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)))
    part = tiled.get_slice(lane)
    sA = smem((16, 16), Float16, (24, 1))
    tCgB, tCgC = part.partition_B(mB), part.partition_C(mC)
    tCrA, tCrB = tiled.make_fragment_A(part.partition_A(sA)), tiled.make_fragment_B(tCgB)
    tCrC = tiled.make_fragment_C(tCgC)
    tCrC.fill(0.0)
    cute.basic_copy(tCgB, tCrB)
    for j in cutlass.range_constexpr(8):
        row = lane // 2 if const_expr(bug != "rows_left_out") else lane // 4
        sA[row, lane % 2 * 8 + j] = mA[row, lane % 2 * 8 + j]  # BUG no_sync
    sync_if(bug != "no_sync", cute.arch.sync_warp)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
    copy_A = cute.make_tiled_copy_A(load, tiled)
    # BUG no_sync, rows_left_out
    cute.copy(copy_A, copy_A.get_slice(lane).partition_S(sA), copy_A.retile(tCrA))
    if const_expr(bug == "half_a_warp"):
        if lane < 16:
            cute.gemm(tiled, tCrC, tCrA, tCrB, tCrC)  # BUG half_a_warp
    else:
        cute.gemm(tiled, tCrC, tCrA, tCrB, tCrC)
    cute.basic_copy(tCrC, tCgC)  # BUG rows_left_out
