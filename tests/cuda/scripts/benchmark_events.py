"""cutlass.testing.benchmark with workspaces and with graphs; torch's events around a kernel."""

import cuda.bindings.driver as cuda
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.testing import JitArguments, benchmark


@cute.kernel
def count_kernel(mX: cute.Tensor, mCalls: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] += 1
    if tidx == 0:
        mCalls[0] += 1


@cute.jit
def count(mX: cute.Tensor, mCalls: cute.Tensor, stream: cuda.CUstream):
    count_kernel(mX, mCalls).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)


x = torch.zeros(64, dtype=torch.int32, device="cuda")
calls = torch.zeros(1, dtype=torch.int32, device="cuda")
stream = cuda.CUstream(torch.cuda.Stream().cuda_stream)
compiled = cute.compile(count, from_dlpack(x), from_dlpack(calls), stream)


def workspace() -> JitArguments:
    fresh = torch.zeros(64, dtype=torch.int32, device="cuda")
    return JitArguments(from_dlpack(fresh), from_dlpack(calls), stream)


time_us = benchmark(
    compiled,
    workspace_generator=workspace,
    workspace_count=3,
    iterations=1000,
    warmup_iterations=100,
    stream=stream,
)
assert 0 < time_us < 1e7 and 0 < calls.item() < 10
time_us = benchmark(compiled, kernel_arguments=workspace(), stream=stream, use_cuda_graphs=True)
assert time_us > 0

start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
for _ in range(3):
    compiled(from_dlpack(x), from_dlpack(calls), stream)
end.record()
end.synchronize()
assert start.elapsed_time(end) > 0 and end.query() and (x == 3).all()
print(f"{x.numel() * 8 / time_us / 1e3:.3f} GB/s")
