"""A naive batched GEMM of bfloat16 with float32 sums, over permuted views; checked with einsum."""

import argparse

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def gemm_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, batch = cute.arch.block_idx()
    m, n = by * 8 + ty, bx * 8 + tx
    if cute.elem_less((m, n), (mC.shape[0], mC.shape[1])):
        total = cutlass.Float32(0.0)
        for k in range(mA.shape[1]):
            total += mA[m, k, batch].to(cutlass.Float32) * mB[n, k, batch].to(cutlass.Float32)
        mC[m, n, batch] = total.to(mC.element_type)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    m, n, batch = mC.shape
    gemm_kernel(mA, mB, mC).launch(
        grid=(cute.ceil_div(n, 8), cute.ceil_div(m, 8), batch), block=(8, 8, 1)
    )


parser = argparse.ArgumentParser()
parser.add_argument("--mnkl", type=lambda text: [int(n) for n in text.split(",")])
parser.set_defaults(mnkl=[13, 21, 9, 2])
m, n, k, batch = parser.parse_args().mnkl
a, b = (torch.randn(batch, s, k, device="cuda").bfloat16().permute(1, 2, 0) for s in (m, n))
c = torch.empty(batch, m, n, device="cuda", dtype=torch.bfloat16).permute(1, 2, 0)
args = [from_dlpack(t).mark_layout_dynamic() for t in (a, b, c)]
cute.compile(gemm, *args)(*args)
expected = torch.einsum("mkl,nkl->mnl", a.float(), b.float())
torch.testing.assert_close(c.float().cpu(), expected.cpu(), atol=5e-2, rtol=2e-2)
