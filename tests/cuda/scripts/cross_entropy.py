"""Cross entropy of rows with targets of int64; the loss is summed on the device."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def loss_kernel(mX: cute.Tensor, mTarget: cute.Tensor, mLoss: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    n = mX.shape[1]
    high, total = -cutlass.Float32.inf, cutlass.Float32(0.0)
    for i in range(lane, n, 32):  # online: one pass
        x = mX[row, i]
        new = cute.arch.fmax(high, x)
        total = total * cute.math.exp(high - new, fastmath=True) + cute.math.exp(
            x - new, fastmath=True
        )
        high = new
    top = cute.arch.warp_reduction_max(high)
    total = cute.arch.warp_reduction_sum(total * cute.math.exp(high - top, fastmath=True))
    if lane == 0:
        target = cutlass.Int32(mTarget[row])
        mLoss[row] = cute.math.log(total) + top - mX[row, target]


@cute.jit
def cross_entropy(mX: cute.Tensor, mTarget: cute.Tensor, mLoss: cute.Tensor):
    loss_kernel(mX, mTarget, mLoss).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


x = 4 * torch.randn(9, 130, device="cuda")
target = torch.randint(0, 130, (9,), device="cuda")
loss = torch.empty(9, device="cuda")
cross_entropy(*(from_dlpack(t) for t in (x, target, loss)))
reference = torch.nn.functional.cross_entropy(x, target, reduction="none")
torch.testing.assert_close(loss, reference, atol=1e-4, rtol=1e-4)
assert loss.mean().item() > 0
