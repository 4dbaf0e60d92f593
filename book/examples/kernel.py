"""The kernel that the reference's examples use: it transposes a matrix through shared memory."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32

import forgekit as fk


@cute.kernel
def turn_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    tile = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(32, 1)), 16)
    tile[tidy, tidx] = mX[tidy, tidx]
    cute.arch.sync_threads()
    mY[tidy, tidx] = tile[tidx, tidy]


@cute.jit
def turn(mX: cute.Tensor, mY: cute.Tensor):
    turn_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 32, 1))


x, y = fk.randn(32, 32), fk.empty(32, 32)
