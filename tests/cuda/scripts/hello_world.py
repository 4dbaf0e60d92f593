"""A kernel that prints, after the script creates the context explicitly."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def hello_kernel():
    tidx, _, _ = cute.arch.thread_idx()
    if tidx == 0:
        cute.printf("hello from the GPU")


@cute.jit
def hello():
    cute.printf("hello from the CPU")
    hello_kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))


if __name__ == "__main__":
    cutlass.cuda.initialize_cuda_context()
    hello()
    cute.compile(hello)()
