"""Solution to week0/add_predicated."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp


@cute.kernel
def add_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    gZ: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    a: Float32,
    tiled_copy: cute.TiledCopy,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    tile = ((None, None), (bidy, bidx))
    thr_copy = tiled_copy.get_slice(tidx)
    tXgX = thr_copy.partition_S(gX[tile])  # ((Vec,4),1,1)
    tXgY = thr_copy.partition_S(gY[tile])  # ((Vec,4),1,1)
    tXgZ = thr_copy.partition_D(gZ[tile])  # ((Vec,4),1,1)
    tXcX = thr_copy.partition_S(cX[tile])  # ((Vec,4),1,1)
    tXrX = cute.make_rmem_tensor_like(tXgX)  # ((Vec,4),1,1)
    tXrY = cute.make_rmem_tensor_like(tXgY)  # ((Vec,4),1,1)
    tXpX = cute.make_rmem_tensor((4, 1, 1), cutlass.Boolean)  # one for each vector
    # [fill]
    #| cute.copy(tiled_copy, tXgX, tXrX)
    #| cute.copy(tiled_copy, tXrX, tXgZ)
    for v in cutlass.range_constexpr(4):
        tXpX[v, 0, 0] = cute.elem_less(tXcX[(0, v), 0, 0], shape)
    cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
    cute.copy(tiled_copy, tXgY, tXrY, pred=tXpX)
    z = a * tXrX.load().to(Float32) + tXrY.load().to(Float32)
    tXrX.store(z.to(gZ.element_type))
    cute.copy(tiled_copy, tXrX, tXgZ, pred=tXpX)
    # [/fill]


@cute.jit
def add_predicated(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor, a: Float32):
    vec = cutlass.const_expr(128 // mX.element_type.width)
    atom = cute.make_copy_atom(CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((4, vec), stride=(vec, 1))
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    tiler_mn = tiled_copy.tiler_mn  # (16,32*Vec)
    gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gY = cute.zipped_divide(mY, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gZ = cute.zipped_divide(mZ, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
    rest_m, rest_n = gX.shape[1]
    grid = (rest_n, rest_m, 1)
    add_kernel(gX, gY, gZ, cX, mX.shape, a, tiled_copy).launch(grid=grid, block=(128, 1, 1))
