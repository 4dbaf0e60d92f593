"""One block sums one row with shuffles and shared memory; float16 in, float32 out; negative
dims."""

import math

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


class RowSum:
    def __init__(self, threads: int):
        self.threads = threads

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor):
        self.kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(self.threads, 1, 1))

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor):
        tidx, _, _ = cute.arch.thread_idx()
        row, _, _ = cute.arch.block_idx()
        warps = cutlass.const_expr(self.threads // 32)
        smem = cutlass.memory.SmemAllocator()
        sums = smem.allocate_tensor(cutlass.Float32, cute.make_layout(warps), 8)
        total = cutlass.Float32(0.0)
        for i in range(tidx, mX.shape[1], self.threads):
            total += mX[row, i].to(cutlass.Float32)
        total = cute.arch.warp_reduction_sum(total)
        warp = cute.arch.warp_idx()
        if cute.arch.lane_idx() == 0:
            sums[warp] = total
        cute.arch.sync_threads()
        if tidx == 0:
            total = cutlass.Float32(0.0)
            for w in cutlass.range_constexpr(warps):
                total += sums[w]
            mY[row] = total


def row_sum(x: torch.Tensor) -> torch.Tensor:
    assert x.is_cuda and x.dim() == 2
    y = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    args = [from_dlpack(t).mark_layout_dynamic() for t in (x, y)]
    cute.compile(RowSum(128), *args)(*args)
    return y


def test_row_sum() -> None:
    for m, n in ((2, 3), (3, 1000), (7, 129)):
        x = torch.randn(m, n).cuda().half()
        expected = torch.sum(x, dim=-1, dtype=torch.float32)
        assert torch.allclose(row_sum(x), expected, atol=1e-3 * math.sqrt(n))


test_row_sum()
