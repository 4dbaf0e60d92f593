"""Define kernels for the counters of global memory: copies, gathers, scatters, atomics.

Patterns come from a tensor of indices `mI`, one per thread, in units of `vector` elements; a thread
with a negative index is idle. One compiled kernel therefore serves many patterns.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Float32, Int32
from cutlass.cute import Tensor


@cute.kernel
def copy_kernel(mX: Tensor, mY: Tensor, vector: Constexpr):
    """y = x, `vector` elements per thread."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    gX, gY = cute.zipped_divide(mX, (vector,)), cute.zipped_divide(mY, (vector,))
    i = bidx * bdim + tidx
    if i < mX.shape[0] // vector:
        rX = cute.make_rmem_tensor((vector,), mX.element_type)
        cute.autovec_copy(gX[None, i], rX)
        cute.autovec_copy(rX, gY[None, i])


@cute.jit
def copy(mX: Tensor, mY: Tensor, vector: Constexpr, block: Constexpr):
    grid = cute.ceil_div(mX.shape[0] // vector, block)
    copy_kernel(mX, mY, vector).launch(grid=(grid, 1, 1), block=(block, 1, 1))


@cute.kernel
def plane_kernel(mX: Tensor, mY: Tensor):
    """y = x on a plane with blocks of 16 by 16 threads, so that a warp spans two rows."""
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, col = by * 16 + ty, bx * 16 + tx
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[row, col] = mX[row, col]


@cute.jit
def plane(mX: Tensor, mY: Tensor):
    M, N = mX.shape
    plane_kernel(mX, mY).launch(
        grid=(cute.ceil_div(N, 16), cute.ceil_div(M, 16), 1), block=(16, 16, 1)
    )


@cute.kernel
def gather_kernel(mX: Tensor, mI: Tensor, mY: Tensor, vector: Constexpr):
    """y[i] = x[index[i]]."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    gX, gY = cute.zipped_divide(mX, (vector,)), cute.zipped_divide(mY, (vector,))
    i = bidx * bdim + tidx
    if i < mI.shape[0]:
        j = mI[i]
        if j >= 0:
            rX = cute.make_rmem_tensor((vector,), mX.element_type)
            cute.autovec_copy(gX[None, j], rX)
            cute.autovec_copy(rX, gY[None, i])


@cute.jit
def gather(mX: Tensor, mI: Tensor, mY: Tensor, vector: Constexpr, block: Constexpr):
    grid = cute.ceil_div(mI.shape[0], block)
    gather_kernel(mX, mI, mY, vector).launch(grid=(grid, 1, 1), block=(block, 1, 1))


@cute.kernel
def scatter_kernel(mI: Tensor, mY: Tensor, vector: Constexpr):
    """y[index[i]] = values derived from the index, so that colliding threads store the same."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    gY = cute.zipped_divide(mY, (vector,))
    i = bidx * bdim + tidx
    if i < mI.shape[0]:
        j = mI[i]
        if j >= 0:
            rY = cute.make_rmem_tensor((vector,), mY.element_type)
            for k in cutlass.range_constexpr(vector):
                rY[k] = (j * vector + k + 1).to(mY.element_type)
            cute.autovec_copy(rY, gY[None, j])


@cute.jit
def scatter(mI: Tensor, mY: Tensor, vector: Constexpr, block: Constexpr):
    grid = cute.ceil_div(mI.shape[0], block)
    scatter_kernel(mI, mY, vector).launch(grid=(grid, 1, 1), block=(block, 1, 1))


@cute.kernel
def broadcast_kernel(mX: Tensor, mY: Tensor):
    """y[i] = x[block], where the compiler knows that all lanes read the same address."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    mY[bidx * 128 + tidx] = mX[bidx]


@cute.jit
def broadcast(mX: Tensor, mY: Tensor):
    broadcast_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))


@cute.kernel
def modifiers_kernel(mX: Tensor, mY: Tensor, load: Constexpr, store: Constexpr):
    """y = x with cache modifiers on load and store."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    x = cute.arch.load(mX.iterator + i, Float32, cop=load)
    cute.arch.store(mY.iterator + i, x, cop=store)


@cute.jit
def modifiers(mX: Tensor, mY: Tensor, load: Constexpr, store: Constexpr):
    modifiers_kernel(mX, mY, load, store).launch(grid=(mX.shape[0] // 128, 1, 1), block=(128, 1, 1))


@cute.kernel
def atomics_kernel(mV: Tensor, mI: Tensor, mY: Tensor, mOld: Tensor, how: Constexpr):
    """y[index[i]] += v[i]; how: `atom` uses the old value, `unused` does not, `red` is an explicit
    red."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    if i < mI.shape[0]:
        j = mI[i]
        if j >= 0:
            v = mV[i]
            if cutlass.const_expr(how == "red"):
                kind = "f32" if mY.element_type is Float32 else "s32"
                cute.arch.red(mY.iterator + j, v, op="add", dtype=kind, sem="relaxed", scope="gpu")
            elif cutlass.const_expr(how == "unused"):
                cute.arch.atomic_add(mY.iterator + j, v)
            else:
                mOld[i] = cute.arch.atomic_add(mY.iterator + j, v)


@cute.jit
def atomics(mV: Tensor, mI: Tensor, mY: Tensor, mOld: Tensor, how: Constexpr, block: Constexpr):
    grid = cute.ceil_div(mI.shape[0], block)
    atomics_kernel(mV, mI, mY, mOld, how).launch(grid=(grid, 1, 1), block=(block, 1, 1))


@cute.kernel
def count_all_kernel(mY: Tensor):
    """Every thread adds 1 to the same integer; the compiler knows address and value."""
    cute.arch.atomic_add(mY.iterator, Int32(1))


@cute.jit
def count_all(mY: Tensor, blocks: Constexpr):
    count_all_kernel(mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
