"""Python threads with separate streams and tensors."""

from concurrent.futures import ThreadPoolExecutor

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def scale_kernel(mX: cute.Tensor, by: cutlass.Float32):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] = mX[tidx] * by


@cute.jit
def scale(mX: cute.Tensor, by: cutlass.Float32, stream: cuda.CUstream):
    scale_kernel(mX, by).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


def work(i: int) -> torch.Tensor:
    with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()) as _:
        x = torch.full((32,), float(i), device="cuda")
        scale(from_dlpack(x), 2.0, cuda.CUstream(torch.cuda.current_stream().cuda_stream))
        y = x + 1
        assert y.is_cuda
        torch.cuda.current_stream().synchronize()
        return y


with ThreadPoolExecutor(3) as pool:
    for i, y in enumerate(pool.map(work, range(6))):
        assert y.is_cuda and (y == 2 * i + 1).all()
