"""Control flow: uneven loops, nested divergence, while, early exits; integers, doubles, bytes."""

import cutlass
from cutlass import Float32, Int32, cute


@cute.kernel
def nested_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Divergence in divergence, with loops on some paths and a sum over the warp after them."""
    tidx, _, _ = cute.arch.thread_idx()
    x = mX[tidx]
    y = Int32(0)
    if x % 2 == 0:
        if x % 3 == 0:
            for k in range(x % 7):
                y += k * x
        else:
            y = x * x
            if x > 50:
                y -= 1000
    else:
        k = x
        while k > 0:
            if k % 5 == 0:
                y += 5
            else:
                y += 1
            k -= 3
    y += cute.arch.warp_reduction(y, lambda a, b: a + b)
    mY[tidx] = y


@cute.jit
def nested(mX: cute.Tensor, mY: cute.Tensor):
    nested_kernel(mX, mY).launch(grid=(1, 1, 1), block=(96, 1, 1))


@cute.kernel
def collatz_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < mX.shape[0]:
        x = mX[i]
        steps = Int32(0)
        while x != 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            steps += 1
        mY[i] = steps


@cute.jit
def collatz(mX: cute.Tensor, mY: cute.Tensor):
    n = mX.shape[0]
    collatz_kernel(mX, mY).launch(grid=(cute.ceil_div(n, 128), 1, 1), block=(128, 1, 1))


@cute.kernel
def polynomial_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """x² + 3x - 7 in the tensor's own type."""
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < mX.shape[0]:
        x = mX[tidx]
        three, seven = mX.element_type(3), mX.element_type(7)
        mY[tidx] = (x * x + three * x - seven).to(mX.element_type)


@cute.jit
def polynomial(mX: cute.Tensor, mY: cute.Tensor):
    polynomial_kernel(mX, mY).launch(grid=(1, 1, 1), block=(128, 1, 1))


@cute.kernel
def histogram_of_registers_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Counts of 8 values in a local array with a dynamic index: local memory."""
    tidx, _, _ = cute.arch.thread_idx()
    counts = cute.make_rmem_tensor((8,), Int32)
    counts.fill(0)
    for c in range(mX.shape[1]):
        v = mX[tidx, c]
        counts[v] = counts[v] + 1
    for k in cutlass.range_constexpr(8):
        mY[tidx, k] = counts[k]


@cute.jit
def histogram_of_registers(mX: cute.Tensor, mY: cute.Tensor):
    histogram_of_registers_kernel(mX, mY).launch(grid=(1, 1, 1), block=(mX.shape[0], 1, 1))


@cute.kernel
def scale_kernel(mX: cute.Tensor, mY: cute.Tensor, factor: Float32):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 48 + tidx
    if i < cute.size(mX):
        mY[i] = mX[i] * factor


@cute.kernel
def add_one_kernel(mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 33 + tidx
    if i < cute.size(mY):
        mY[i] = mY[i] + 1.0


@cute.jit
def scale_then_add(mX: cute.Tensor, mY: cute.Tensor, factor: Float32, times: Int32):
    """Two kernels, several launches, blocks that are no multiple of 32."""
    n = cute.size(mX)
    scale_kernel(mX, mY, factor).launch(grid=(cute.ceil_div(n, 48), 1, 1), block=(48, 1, 1))
    add_one_kernel(mY).launch(grid=(cute.ceil_div(n, 33), 1, 1), block=(33, 1, 1))
    for _ in range(times):
        add_one_kernel(mY).launch(grid=(cute.ceil_div(n, 33), 1, 1), block=(33, 1, 1))


@cute.kernel
def where_am_i_kernel(mY: cute.Tensor):
    """Six numbers of every thread, in its place of a (gz, gy, gx, bz, by, bx, 6) tensor."""
    tx, ty, tz = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    for k, value in enumerate((tx, ty, tz, bx, by, bz)):
        mY[bz, by, bx, tz, ty, tx, k] = value


@cute.jit
def where_am_i(mY: cute.Tensor):
    gz, gy, gx, bz, by, bx, _ = mY.shape
    where_am_i_kernel(mY).launch(grid=(gx, gy, gz), block=(bx, by, bz))
