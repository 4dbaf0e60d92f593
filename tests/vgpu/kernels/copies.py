"""Copies through layouts: TV layouts, 128-bit vectors, predicated tails, cp.async pipelines."""

import cutlass
from cutlass import Float32, cute

THREADS = 128


@cute.kernel
def tiled_copy_kernel(gX: cute.Tensor, gY: cute.Tensor, tiled: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thread = tiled.get_slice(tidx)
    tXgX = thread.partition_S(gX[((None, None), bidx)])
    tXgY = thread.partition_D(gY[((None, None), bidx)])
    tXrX = cute.make_rmem_tensor_like(tXgX)
    cute.copy(tiled, tXgX, tXrX)
    cute.copy(tiled, tXrX, tXgY)


@cute.jit
def tiled_copy(mX: cute.Tensor, mY: cute.Tensor):
    """Whole tiles of 16 rows by 64 columns, 128 bits a thread and step."""
    vector = 128 // mX.element_type.width
    threads = cute.make_ordered_layout((THREADS * vector // 64, 64 // vector), order=(1, 0))
    values = cute.make_ordered_layout((1, vector), order=(1, 0))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, threads, values)
    tiler, _ = cute.make_layout_tv(threads, values)
    gX, gY = cute.zipped_divide(mX, tiler), cute.zipped_divide(mY, tiler)
    grid = (cute.size(gX, mode=[1]), 1, 1)
    tiled_copy_kernel(gX, gY, tiled).launch(grid=grid, block=(THREADS, 1, 1))


@cute.kernel
def autovec_kernel(gX: cute.Tensor, gY: cute.Tensor, tv: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    tX = cute.composition(gX[((None, None), bidx)], tv)[tidx, None]
    tY = cute.composition(gY[((None, None), bidx)], tv)[tidx, None]
    rX = cute.make_rmem_tensor_like(tX)
    cute.autovec_copy(tX, rX)
    rX.store(rX.load() * 2.0)
    cute.autovec_copy(rX, tY)


@cute.jit
def autovec_double(mX: cute.Tensor, mY: cute.Tensor):
    """y = 2 x by TV layout: each thread 4 rows of 4 values."""
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    values = cute.make_ordered_layout((4, 4), order=(1, 0))
    tiler, tv = cute.make_layout_tv(threads, values)
    gX, gY = cute.zipped_divide(mX, tiler), cute.zipped_divide(mY, tiler)
    grid = (cute.size(gX, mode=[1]), 1, 1)
    autovec_kernel(gX, gY, tv).launch(grid=grid, block=(THREADS, 1, 1))


@cute.kernel
def predicated_add_kernel(
    gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor, cC: cute.Tensor,
    shape: cute.Shape, threads: cute.Layout, values: cute.Layout,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    block = ((None, None), bidx)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gA.element_type)
    tiled = cute.make_tiled_copy_tv(atom, threads, values)
    thread = tiled.get_slice(tidx)
    tA, tB, tC = (thread.partition_S(g[block]) for g in (gA, gB, gC))
    tcC = thread.partition_S(cC[block])
    rA, rB, rC = (cute.make_rmem_tensor_like(t) for t in (tA, tB, tC))
    pred = cute.make_rmem_tensor(tcC.shape, cutlass.Boolean)
    for i in range(cute.size(pred)):
        pred[i] = cute.elem_less(tcC[i], shape)
    cute.copy(atom, tA, rA, pred=pred)
    cute.copy(atom, tB, rB, pred=pred)
    rC.store(rA.load() + rB.load())
    cute.copy(atom, rC, tC, pred=pred)


@cute.jit
def predicated_add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    values = cute.make_ordered_layout((4, 2), order=(1, 0))
    tiler, _ = cute.make_layout_tv(threads, values)
    gA, gB, gC = (cute.zipped_divide(m, tiler) for m in (mA, mB, mC))
    cC = cute.zipped_divide(cute.make_identity_tensor(mC.shape), tiler)
    predicated_add_kernel(gA, gB, gC, cC, mC.shape, threads, values).launch(
        grid=(cute.size(gC, mode=[1]), 1, 1), block=(THREADS, 1, 1)
    )


@cute.kernel
def pipeline_kernel(mX: cute.Tensor, mY: cute.Tensor, stages: cutlass.Constexpr):
    """Row sums: cp.async brings tiles of 512 floats, `stages` ahead of the sum."""
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    sX = cutlass.memory.SmemAllocator().allocate_tensor(
        Float32, cute.make_layout((512, stages)), 128
    )
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    gX = cute.zipped_divide(mX[row, None], (4,))  # (4, N / 4)
    sV = cute.zipped_divide(sX[None, 0], (4,))
    n_tiles = mX.shape[1] // 512
    for s in cutlass.range_constexpr(stages - 1):
        if s < n_tiles:
            sV = cute.zipped_divide(sX[None, s], (4,))
            cute.copy(atom, gX[None, s * THREADS + tidx], sV[None, tidx])
        cute.arch.cp_async_commit_group()
    total = Float32(0.0)
    for t in range(n_tiles):
        cute.arch.cp_async_wait_group(stages - 2)
        cute.arch.sync_threads()
        ahead = t + stages - 1
        if ahead < n_tiles:
            sV = cute.zipped_divide(sX[None, ahead % stages], (4,))
            cute.copy(atom, gX[None, ahead * THREADS + tidx], sV[None, tidx])
        cute.arch.cp_async_commit_group()
        for k in cutlass.range_constexpr(4):
            total += sX[tidx + k * THREADS, t % stages]
    total = cute.arch.warp_reduction_sum(total)
    sW = cute.arch.alloc_smem(Float32, 4)
    sW = cute.make_tensor(sW, cute.make_layout(4))
    warp = cute.arch.warp_idx()  # a shuffle: not inside the `if`
    if cute.arch.lane_idx() == 0:
        sW[warp] = total
    cute.arch.sync_threads()
    if tidx == 0:
        mY[row] = sW[0] + sW[1] + sW[2] + sW[3]


@cute.jit
def pipeline(mX: cute.Tensor, mY: cute.Tensor, stages: cutlass.Constexpr):
    pipeline_kernel(mX, mY, stages).launch(grid=(mX.shape[0], 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def zero_fill_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Elements past the end arrive as zeros: cp.async with a predicate."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(512), 128)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    gX, sV = cute.zipped_divide(mX, (4,)), cute.zipped_divide(sX, (4,))
    pred = cute.make_rmem_tensor(cute.make_layout((4,), stride=(0,)), cutlass.Boolean)
    pred[0] = tidx * 4 < mX.shape[0]
    cute.copy(atom, gX[None, tidx], sV[None, tidx], pred=pred)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(4):
        mY[tidx + k * THREADS] = sX[tidx + k * THREADS]


@cute.jit
def zero_fill(mX: cute.Tensor, mY: cute.Tensor):
    zero_fill_kernel(mX, mY).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def read_too_early_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Wrong on purpose: reads shared memory before waiting for the copy."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(512), 128)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    gX, sV = cute.zipped_divide(mX, (4,)), cute.zipped_divide(sX, (4,))
    cute.copy(atom, gX[None, tidx], sV[None, tidx])
    cute.arch.cp_async_commit_group()
    mY[tidx] = sX[tidx * 4]
    cute.arch.cp_async_wait_group(0)


@cute.jit
def read_too_early(mX: cute.Tensor, mY: cute.Tensor):
    read_too_early_kernel(mX, mY).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))
