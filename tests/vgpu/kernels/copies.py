"""Define copy kernels: a student's first kernel, layouts with predicated tails, and cp.async."""

import cutlass
from cutlass import Float32, cute

THREADS = 128


@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < cute.size(mX):
        mY[i] = mX[i]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):
    n = cute.size(mX)
    if n > 0:
        copy_kernel(mX, mY).launch(grid=[cute.ceil_div(n, 128), 1, 1], block=[128, 1, 1])


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
def zero_fill_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Copy by cp.async with a predicate; elements past the end arrive as zeros."""
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
