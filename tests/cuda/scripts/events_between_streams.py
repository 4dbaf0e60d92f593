"""A producer stream and a consumer stream, ordered by an event; a capture that forks and joins."""

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def add_kernel(mX: cute.Tensor, value: cutlass.Float32):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] = mX[tidx] + value


@cute.jit
def add(mX: cute.Tensor, value: cutlass.Float32, stream: cuda.CUstream):
    add_kernel(mX, value).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


def raw(stream: torch.cuda.Stream) -> cuda.CUstream:
    return cuda.CUstream(stream.cuda_stream)


first, second = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
assert torch.cuda.current_stream() == torch.cuda.default_stream() != first
x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
x_, y_ = from_dlpack(x), from_dlpack(y)
add(x_, 1.0, raw(first))
done = first.record_event()
second.wait_event(done)
with torch.cuda.stream(second):
    y.copy_(x, non_blocking=True)
torch.cuda.synchronize()
assert done.query() and (y == 1).all()

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, stream=first):
    add(x_, 2.0, raw(first))
    second.wait_stream(first)
    add(y_, 10.0, raw(second))
    first.wait_stream(second)
    x += y
assert (x == 1).all() and (y == 1).all()
graph.replay()
assert (y == 11).all() and (x == 14).all()
