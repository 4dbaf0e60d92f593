"""cutlass.testing.tune over block sizes; the best configuration computes the right values."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.testing import tune


@cute.kernel
def relu_kernel(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * threads + tidx
    if i < cute.size(mX):
        mY[i] = cute.arch.fmax(mX[i], cutlass.Float32(0.0))


@cute.jit
def relu(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr = 128):
    relu_kernel(mX, mY, threads).launch(
        grid=(cute.ceil_div(cute.size(mX), threads), 1, 1), block=(threads, 1, 1)
    )


x, y = torch.randn(500, device="cuda"), torch.empty(500, device="cuda")
x_, y_ = from_dlpack(x), from_dlpack(y)


def variant(mX, mY, threads=128):
    compiled = cute.compile(relu, mX, mY, threads)
    return lambda: compiled(mX, mY)


best = tune(
    variant,
    params_dict={"threads": [64, 256]},
    kernel_arguments=cutlass.testing.JitArguments(x_, y_),
)
assert best["threads"] in (64, 256)
variant(x_, y_, **best)()
assert torch.equal(y, x.clamp(min=0))
