"""A training step: torch's linear layer, and an activation with its own backward kernel."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def square_kernel(mX: cute.Tensor, mG: cute.Tensor, mY: cute.Tensor, back: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    if i < cute.size(mX):
        x = cute.arch.fmax(mX[i], cutlass.Float32(0.0))
        mY[i] = 2.0 * x * mG[i] if cutlass.const_expr(back) else x * x


@cute.jit
def square(mX: cute.Tensor, mG: cute.Tensor, mY: cute.Tensor, back: cutlass.Constexpr):
    blocks = cute.ceil_div(cute.size(mX), 64)
    square_kernel(mX, mG, mY, back).launch(grid=(blocks, 1, 1), block=(64, 1, 1))


class SquaredRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        flat = [from_dlpack(t.detach().view(-1)) for t in (x, x, y)]
        square(*flat, False)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        dx = torch.empty(x.shape, device="cuda")
        flat = [from_dlpack(t.detach().contiguous().view(-1)) for t in (x, gradient, dx)]
        square(*flat, True)
        return dx


torch.manual_seed(0)
layer = torch.nn.Linear(12, 7).cuda()
optimizer = torch.optim.Adam(layer.parameters(), lr=1e-2)
x, target = torch.randn(10, 12, device="cuda"), torch.rand(10, 7, device="cuda")
losses = []
for _ in range(4):
    optimizer.zero_grad()
    hidden = layer(x)
    loss = torch.nn.functional.mse_loss(SquaredRelu.apply(hidden), target)
    (expected,) = torch.autograd.grad(
        torch.nn.functional.mse_loss(hidden.relu() ** 2, target), layer.weight, retain_graph=True
    )
    loss.backward()
    torch.testing.assert_close(layer.weight.grad, expected)
    optimizer.step()
    losses.append(loss.item())
assert losses == sorted(losses, reverse=True) and layer.weight.is_cuda
