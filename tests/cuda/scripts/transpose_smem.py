"""A transpose through padded shared memory, on a stream made by torch."""

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

TILE = 16


@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((TILE, TILE), stride=(TILE + 1, 1))
    sT = smem.allocate_tensor(mX.element_type, layout, 16)
    row, col = by * TILE + ty, bx * TILE + tx
    if row < mX.shape[0] and col < mX.shape[1]:
        sT[ty, tx] = mX[row, col]
    cute.arch.sync_threads()
    row, col = bx * TILE + ty, by * TILE + tx
    if row < mY.shape[0] and col < mY.shape[1]:
        mY[row, col] = sT[tx, ty]


@cute.jit
def transpose(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
    m, n = mX.shape
    transpose_kernel(mX, mY).launch(
        grid=(cute.ceil_div(n, TILE), cute.ceil_div(m, TILE), 1),
        block=(TILE, TILE, 1),
        stream=stream,
    )


stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    x = torch.randint(-100, 100, (50, 70), device="cuda", dtype=torch.int32)
    y = x.new_empty(70, 50)
    current = torch.cuda.current_stream()
    assert current == stream and stream.cuda_stream != 0
    transpose(from_dlpack(x), from_dlpack(y), cuda.CUstream(current.cuda_stream))
stream.synchronize()
assert torch.cuda.current_stream().cuda_stream == torch.cuda.default_stream().cuda_stream
assert torch.equal(y, x.T)
