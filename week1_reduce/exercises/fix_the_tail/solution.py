"""Solution to week1/fix_the_tail."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp


@cute.kernel
def fix_the_tail_kernel(
    gX: cute.Tensor,
    cX: cute.Tensor,
    mY: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thr_copy = tiled_copy.get_slice(tidx)
    tXrX = cute.make_rmem_tensor(((4, 1), 1, 1), Float32)  # ((Vec,1),1,1)
    tXpX = cute.make_rmem_tensor((1, 1, 1), cutlass.Boolean)
    total = Float32(0.0)
    # [fill]
    #| tXrX.fill(0.0)
    #| for tile in range(gX.shape[1][1]):
    #|     tXgX = thr_copy.partition_S(gX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
    #|     tXcX = thr_copy.partition_S(cX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
    #|     tXpX[0, 0, 0] = cute.elem_less(tXcX[0, 0, 0], shape)
    #|     cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
    #|     total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    for tile in range(gX.shape[1][1]):
        tXgX = thr_copy.partition_S(gX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
        tXcX = thr_copy.partition_S(cX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
        tXpX[0, 0, 0] = cute.elem_less(tXcX[0, 0, 0], shape)
        tXrX.fill(0.0)
        cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
        total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    # [/fill]
    total = cute.arch.warp_reduction(total, operator.add)
    row = bidx * 4 + tidx // 32
    if tidx % 32 == 0 and row < shape[0]:
        mY[row] = total


@cute.jit
def fix_the_tail(mX: cute.Tensor, mY: cute.Tensor):
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((1, 4), stride=(4, 1))
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    gX = cute.zipped_divide(mX, tiled_copy.tiler_mn)  # ((4,128),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiled_copy.tiler_mn)  # as gX
    grid = (gX.shape[1][0], 1, 1)
    fix_the_tail_kernel(gX, cX, mY, mX.shape, tiled_copy).launch(grid=grid, block=(128, 1, 1))
