"""Argmax of rows: pairs of value and index reduced by butterfly shuffles."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def argmax_kernel(mX: cute.Tensor, mI: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    best, at = -cutlass.Float32.inf, cutlass.Int32(0)
    for i in range(lane, mX.shape[1], 32):
        if mX[row, i] > best:
            best, at = mX[row, i], i
    for step in cutlass.range_constexpr(5):
        other = cute.arch.shuffle_sync_bfly(best, 1 << step)
        index = cute.arch.shuffle_sync_bfly(at, 1 << step)
        if other > best or (other == best and index < at):
            best, at = other, index
    if lane == 0:
        mI[row] = at


@cute.jit
def argmax(mX: cute.Tensor, mI: cute.Tensor):
    argmax_kernel(mX, mI).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


x = torch.rand(6, 100).to("cuda", non_blocking=True)
x[2, 40], x[2, 71] = 2.0, 2.0  # the first of equals
index = torch.zeros(6, dtype=torch.int32, device="cuda")
argmax(from_dlpack(x), from_dlpack(index))
assert index[2] == 40 and index.tolist() == x.argmax(dim=1).tolist()
