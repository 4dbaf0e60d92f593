"""Define kernels for the counters of shared memory: loads, stores, atomics, cp.async.

Patterns come from a tensor of indices, one per thread, in units of `vector` elements; a thread with
a negative index is idle. All other accesses are coalesced and free of conflicts.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Float32, Int32
from cutlass.cute import Tensor
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def shared_load_kernel(
    mX: Tensor, mI: Tensor, mY: Tensor, vector: Constexpr, size: Constexpr, block: Constexpr,
):  # fmt: skip
    """y[i] = s[index[i]], where s holds the `size` elements of x."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    layout = cute.make_layout(size)
    sX = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, 128)
    for k in cutlass.range_constexpr(size // block):
        sX[k * block + tidx] = mX[k * block + tidx]
    cute.arch.sync_threads()
    i = bidx * block + tidx
    j = mI[i]
    if j >= 0:
        sV, gY = cute.zipped_divide(sX, (vector,)), cute.zipped_divide(mY, (vector,))
        rX = cute.make_rmem_tensor((vector,), mX.element_type)
        cute.autovec_copy(sV[None, j], rX)
        cute.autovec_copy(rX, gY[None, i])


@cute.jit
def shared_load(
    mX: Tensor, mI: Tensor, mY: Tensor, vector: Constexpr, size: Constexpr, block: Constexpr,
):  # fmt: skip
    shared_load_kernel(mX, mI, mY, vector, size, block).launch(
        grid=(mI.shape[0] // block, 1, 1), block=(block, 1, 1)
    )


@cute.kernel
def shared_store_kernel(
    mI: Tensor, mY: Tensor, vector: Constexpr, size: Constexpr, block: Constexpr,
):  # fmt: skip
    """s[index[i]] = values derived from the index; then y = s, `size` elements per block."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    layout = cute.make_layout(size)
    sY = cutlass.memory.SmemAllocator().allocate_tensor(mY.element_type, layout, 128)
    for k in cutlass.range_constexpr(size // block):
        sY[k * block + tidx] = mY.element_type(0)
    cute.arch.sync_threads()
    j = mI[bidx * block + tidx]
    if j >= 0:
        sV = cute.zipped_divide(sY, (vector,))
        rY = cute.make_rmem_tensor((vector,), mY.element_type)
        for k in cutlass.range_constexpr(vector):
            rY[k] = (j * vector + k + 1).to(mY.element_type)
        cute.autovec_copy(rY, sV[None, j])
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(size // block):
        mY[bidx * size + k * block + tidx] = sY[k * block + tidx]


@cute.jit
def shared_store(mI: Tensor, mY: Tensor, vector: Constexpr, size: Constexpr, block: Constexpr):
    shared_store_kernel(mI, mY, vector, size, block).launch(
        grid=(mI.shape[0] // block, 1, 1), block=(block, 1, 1)
    )


@cute.kernel
def shared_atomics_kernel(
    mV: Tensor, mI: Tensor, mY: Tensor, mOld: Tensor,
    used: Constexpr, size: Constexpr, block: Constexpr,
):  # fmt: skip
    """s[index[i]] += v[i]; then y = s, `size` elements per block. used: keep the old values."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    layout = cute.make_layout(size)
    sY = cutlass.memory.SmemAllocator().allocate_tensor(mY.element_type, layout, 128)
    for k in cutlass.range_constexpr(size // block):
        sY[k * block + tidx] = mY.element_type(0)
    cute.arch.sync_threads()
    i = bidx * block + tidx
    j = mI[i]
    if j >= 0:
        if cutlass.const_expr(used):
            mOld[i] = cute.arch.atomic_add(sY.iterator + j, mV[i])
        else:
            cute.arch.atomic_add(sY.iterator + j, mV[i])
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(size // block):
        mY[bidx * size + k * block + tidx] = sY[k * block + tidx]


@cute.jit
def shared_atomics(
    mV: Tensor, mI: Tensor, mY: Tensor, mOld: Tensor,
    used: Constexpr, size: Constexpr, block: Constexpr,
):  # fmt: skip
    shared_atomics_kernel(mV, mI, mY, mOld, used, size, block).launch(
        grid=(mI.shape[0] // block, 1, 1), block=(block, 1, 1)
    )


@cute.kernel
def async_copy_kernel(
    mX: Tensor, mI: Tensor, mJ: Tensor, mY: Tensor,
    vector: Constexpr, size: Constexpr, block: Constexpr,
    mode: Constexpr,
):  # fmt: skip
    """cp.async s[to[i]] = x[from[i]]; then y = s, `size` elements per block. mode: ca, cg."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    layout = cute.make_layout(size)
    sX = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, 128)
    for k in cutlass.range_constexpr(size // block):
        sX[k * block + tidx] = mX.element_type(0)
    cute.arch.sync_threads()
    modes = cpasync.LoadCacheMode
    op = cpasync.CopyG2SOp(modes.GLOBAL if mode == "cg" else modes.ALWAYS)
    bits = vector * mX.element_type.width
    atom = cute.make_copy_atom(op, mX.element_type, num_bits_per_copy=bits)
    gX, sV = cute.zipped_divide(mX, (vector,)), cute.zipped_divide(sX, (vector,))
    source, target = mI[bidx * block + tidx], mJ[bidx * block + tidx]
    if source >= 0:
        cute.copy(atom, gX[None, source], sV[None, target])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(size // block):
        mY[bidx * size + k * block + tidx] = sX[k * block + tidx]


@cute.jit
def async_copy(
    mX: Tensor, mI: Tensor, mJ: Tensor, mY: Tensor,
    vector: Constexpr, size: Constexpr, block: Constexpr,
    mode: Constexpr,
):  # fmt: skip
    async_copy_kernel(mX, mI, mJ, mY, vector, size, block, mode).launch(
        grid=(mI.shape[0] // block, 1, 1), block=(block, 1, 1)
    )


@cute.kernel
def tile_kernel(mX: Tensor, mY: Tensor, swizzled: Constexpr):
    """y = x through a 64 by 64 fp16 tile in shared memory, 128 bits per thread.

    The tile is stored row by row (8 threads per row); when it is loaded, neighbouring lanes access
    neighbouring rows.
    """
    tidx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((64, 64), stride=(64, 1))
    if cutlass.const_expr(swizzled):
        layout = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, layout)  # bytes: 3,4,3
    sT = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, 1024)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
    for k in cutlass.range_constexpr(4):
        at = (k * 16 + tidx // 8, tidx % 8)
        gX, sX = (cute.group_modes(cute.local_tile(t, (1, 8), at), 0, 2) for t in (mX, sT))
        rX = cute.make_rmem_tensor_like(gX)
        cute.copy(atom, gX, rX)
        cute.copy(atom, rX, sX)
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(4):
        at = (tidx % 64, k * 2 + tidx // 64)
        gY, sY = (cute.group_modes(cute.local_tile(t, (1, 8), at), 0, 2) for t in (mY, sT))
        rY = cute.make_rmem_tensor_like(gY)
        cute.copy(atom, sY, rY)
        cute.copy(atom, rY, gY)


@cute.jit
def tile(mX: Tensor, mY: Tensor, swizzled: Constexpr):
    tile_kernel(mX, mY, swizzled).launch(grid=(1, 1, 1), block=(128, 1, 1))


@cute.kernel
def xor_kernel(mX: Tensor, mY: Tensor):
    """Transpose a 32 by 32 tile, whose columns are explicitly XORed with the row, with 32 by 8
    threads."""
    tx, ty, _ = cute.arch.thread_idx()
    sT = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(1024), 128)
    for k in cutlass.range_constexpr(4):
        row = ty + 8 * k
        sT[row * 32 + (tx ^ row)] = mX[row, tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(4):
        row = ty + 8 * k
        mY[row, tx] = sT[tx * 32 + (row ^ tx)]


@cute.jit
def xor(mX: Tensor, mY: Tensor):
    xor_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 8, 1))


@cute.kernel
def shared_count_kernel(mY: Tensor):
    """Every thread adds 1 to the same shared integer; the compiler knows address and value."""
    tidx, _, _ = cute.arch.thread_idx()
    sY = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(32), 128)
    if tidx < 32:
        sY[tidx] = 0
    cute.arch.sync_threads()
    cute.arch.atomic_add(sY.iterator, Int32(1))
    cute.arch.sync_threads()
    if tidx < 32:
        mY[tidx] = sY[tidx]


@cute.jit
def shared_count(mY: Tensor):
    shared_count_kernel(mY).launch(grid=(1, 1, 1), block=(128, 1, 1))
