"""A stream captured with runtime calls: kernels of two functions in order, and a memset."""

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings import driver, runtime
from cutlass.cute.runtime import from_dlpack


def ok(result):
    assert not int(result[0]), result
    return result[1] if len(result) == 2 else result[1:]


@cute.kernel
def step_kernel(mX: cute.Tensor, a: cutlass.Int32, b: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] = a * mX[tidx] + b


@cute.jit
def step(mX: cute.Tensor, a: cutlass.Int32, b: cutlass.Int32, stream: driver.CUstream):
    step_kernel(mX, a, b).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


x = torch.zeros(32, dtype=torch.int32, device="cuda")
x_ = from_dlpack(x)
stream = ok(driver.cuStreamCreate(0))
compiled = cute.compile(step, x_, 1, 1, stream)
mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
ok(runtime.cudaStreamBeginCapture(stream, mode))
compiled(x_, 1, 3, stream)
compiled(x_, 10, 1, stream)
compiled(x_, 1, 100, driver.CUstream(0))  # on another stream, so it runs immediately
graph = ok(runtime.cudaStreamEndCapture(stream))
assert ok(runtime.cudaGraphGetNodes(graph))[1] == 2 and (x == 100).all()
executable = ok(runtime.cudaGraphInstantiate(graph, 0))
x.zero_()
ok(runtime.cudaGraphLaunch(executable, stream))
ok(runtime.cudaStreamSynchronize(stream))
assert (x == 31).all()
ok(runtime.cudaGraphLaunch(executable, stream))
assert (x == 341).all()
ok(runtime.cudaGraphExecDestroy(executable))
ok(runtime.cudaGraphDestroy(graph))
