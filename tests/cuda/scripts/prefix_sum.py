"""An inclusive scan of a row: within warps by shuffles, between them through shared memory."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def scan_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    sums = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(4), 16)
    value = mX[row, tidx]
    for step in cutlass.range_constexpr(5):
        other = cute.arch.shuffle_sync_up(value, 1 << step, mask_and_clamp=0)
        if lane >= 1 << step:
            value += other
    if lane == 31:
        sums[warp] = value
    cute.arch.sync_threads()
    for w in cutlass.range_constexpr(3):
        if warp > w:
            value += sums[w]
    mY[row, tidx] = value


@cute.jit
def scan(mX: cute.Tensor, mY: cute.Tensor):
    scan_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))


x = torch.randint(-9, 9, (3, 128), device="cuda", dtype=torch.int32)
y = torch.empty_like(x)
scan(from_dlpack(x), from_dlpack(y))
assert torch.equal(y, x.cumsum(dim=1).int())
