"""Define a host function with several launches, and a kernel that stores thread coordinates."""

from cutlass import Float32, Int32, cute


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
    """Launch two kernels several times, with block sizes that are not multiples of 32."""
    n = cute.size(mX)
    scale_kernel(mX, mY, factor).launch(grid=(cute.ceil_div(n, 48), 1, 1), block=(48, 1, 1))
    add_one_kernel(mY).launch(grid=(cute.ceil_div(n, 33), 1, 1), block=(33, 1, 1))
    for _ in range(times):
        add_one_kernel(mY).launch(grid=(cute.ceil_div(n, 33), 1, 1), block=(33, 1, 1))


@cute.kernel
def where_am_i_kernel(mY: cute.Tensor):
    """Store six numbers per thread at its position in a (gz, gy, gx, bz, by, bx, 6) tensor."""
    tx, ty, tz = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    for k, value in enumerate((tx, ty, tz, bx, by, bz)):
        mY[bz, by, bx, tz, ty, tx, k] = value


@cute.jit
def where_am_i(mY: cute.Tensor):
    gz, gy, gx, bz, by, bx, _ = mY.shape
    where_am_i_kernel(mY).launch(grid=(gx, gy, gz), block=(bx, by, bz))
