"""torch.cuda.graph: kernels and torch's operations captured once, replayed on new inputs."""

import cuda.bindings.driver as cuda
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def axpy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = 2.0 * mX[tidx] + mY[tidx]


@cute.jit
def axpy(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
    axpy_kernel(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)


def now() -> cuda.CUstream:
    return cuda.CUstream(torch.cuda.current_stream().cuda_stream)


x, y = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
x_, y_ = from_dlpack(x), from_dlpack(y)
compiled = cute.compile(axpy, x_, y_, now())

side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    compiled(x_, y_, now())  # a warm-up
torch.cuda.current_stream().wait_stream(side)
assert (y == 2).all()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    assert torch.cuda.is_current_stream_capturing()
    y.zero_()
    compiled(x_, y_, now())
    y += 1
    twice = y * 2
    row = twice.view(8, 8).sum(dim=1)
assert (y == 2).all()  # no work has run
for value in (1.0, 5.0):
    x.fill_(value)
    graph.replay()
    torch.cuda.synchronize()
    assert (y == 2 * value + 1).all() and (twice == 2 * y).all() and (row == 8 * twice[0]).all()
