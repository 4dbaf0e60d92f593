"""A jit function's host code reads and prints a CPU tensor; the kernel's tensor is on the GPU."""

import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.jit
def show(mX: cute.Tensor, mSum: cute.Tensor):
    cute.print_tensor(mX)
    mSum[0] = mX[0, 0] + mX[1, 2]


@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):
    copy_kernel(mX, mY).launch(grid=(1, 1, 1), block=(cute.size(mX), 1, 1))


x = torch.arange(6, dtype=torch.int32, device="cuda").view(2, 3)
y = torch.zeros_like(x)
copy(from_dlpack(x), from_dlpack(y))
total = torch.zeros(1, dtype=torch.int32)
show(from_dlpack(y.cpu()), from_dlpack(total))
assert total.item() == 5
