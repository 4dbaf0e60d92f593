"""Define kernels in the style of CuTe DSL's tutorials, without code for the virtual GPU."""

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute


@cute.kernel
def hello_kernel():
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    if tidx == 0:
        cute.printf("Hello from block {}", bidx)


@cute.jit
def hello(blocks: cutlass.Int32):
    cute.printf("hello from the host")
    hello_kernel().launch(grid=(blocks, 1, 1), block=(32, 1, 1))


@cute.kernel
def naive_add_kernel(gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    thread = bidx * bdim + tidx
    m, n = gA.shape
    row, col = thread // n, thread % n
    if row < m:
        gC[row, col] = gA[row, col] + gB[row, col]


@cute.jit
def naive_add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    blocks = cute.ceil_div(cute.size(mA), 256)
    naive_add_kernel(mA, mB, mC).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


@cute.jit
def untyped_add(mA, mB, mC):
    blocks = cute.ceil_div(cute.size(mA), 256)
    naive_add_kernel(mA, mB, mC).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


@cute.jit
def stream_add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    blocks = cute.ceil_div(cute.size(mA), 256)
    naive_add_kernel(mA, mB, mC).launch(grid=(blocks, 1, 1), block=(256, 1, 1), stream=stream)


@cute.kernel
def vectorized_add_kernel(gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thread = bidx * 256 + tidx
    m, n = gA.shape[1]
    if thread < m * n:
        coord = (None, (thread // n, thread % n))
        gC[coord] = gA[coord].load() + gB[coord].load()


@cute.jit
def vectorized_add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    gA, gB, gC = (cute.zipped_divide(m, (1, 4)) for m in (mA, mB, mC))
    blocks = cute.ceil_div(cute.size(gA, mode=[1]), 256)
    vectorized_add_kernel(gA, gB, gC).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


class Scale:
    """A kernel in a class, whose instances contain the compile-time values."""

    def __init__(self, factor: float, threads: int = 128):
        self.factor = factor
        self.threads = threads

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, offset: cutlass.Float32):
        blocks = cute.ceil_div(cute.size(mX), self.threads)
        self.kernel(mX, mY, offset).launch(grid=(blocks, 1, 1), block=(self.threads, 1, 1))

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor, offset: cutlass.Float32):
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        i = bidx * self.threads + tidx
        if i < cute.size(mX):
            mY[i] = mX[i] * self.factor + offset


@cute.kernel
def double_kernel(t: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < cute.size(t):
        t[i] = t[i] * 2.0


@cute.jit
def double_pointer(p: cute.Pointer, n: cutlass.Int32):
    t = cute.make_tensor(p, cute.make_layout(n))
    double_kernel(t).launch(grid=(cute.ceil_div(n, 128), 1, 1), block=(128, 1, 1))


@cute.kernel
def checked_kernel(mX: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    cute.testing.assert_(mX[tidx] >= 0.0, "x must not be negative")


@cute.jit
def checked(mX: cute.Tensor):
    checked_kernel(mX).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def print_on_the_host(mX: cute.Tensor):
    """Print without launching a kernel."""
    cute.printf("first element {}", mX[0])
