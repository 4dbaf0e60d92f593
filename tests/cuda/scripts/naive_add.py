"""One element per thread, with a direct call, a compiled call and an odd size."""

import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def add_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    m, n = mA.shape
    if i < m * n:
        mC[i // n, i % n] = mA[i // n, i % n] + mB[i // n, i % n]


@cute.jit
def add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    blocks = cute.ceil_div(cute.size(mA), 128)
    add_kernel(mA, mB, mC).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


assert torch.cuda.is_available() and torch.cuda.device_count() == 1
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(1)
a = torch.randn(37, 19, device=device, dtype=torch.float16)
b = torch.randn_like(a)
c = torch.zeros(37, 19, device=device, dtype=torch.float16)
assert c.is_cuda and b.device == a.device == torch.device("cuda", 0)
args = [from_dlpack(t, assumed_align=2) for t in (a, b, c)]
add(*args)
torch.cuda.synchronize()
torch.testing.assert_close(c, a + b)
compiled = cute.compile(add, *args)
c.zero_()
compiled(*args)
assert torch.equal(c, a + b)
