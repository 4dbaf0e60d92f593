"""A kernel compiled for fake tensors with TVM-FFI, and called with torch tensors, without a
stream."""

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream


@cute.kernel
def add_one_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    if i < mX.shape[0]:
        mY[i] = mX[i] + 1.0


@cute.jit
def add_one(mX: cute.Tensor, mY: cute.Tensor, stream: CUstream):
    add_one_kernel(mX, mY).launch(
        grid=(cute.ceil_div(mX.shape[0], 64), 1, 1), block=(64, 1, 1), stream=stream
    )


n = cute.sym_int()
fakes = [make_fake_compact_tensor(cutlass.Float32, (n,)) for _ in range(2)]
stream = make_fake_stream(use_tvm_ffi_env_stream=True)
compiled = cute.compile(add_one, *fakes, stream, options="--enable-tvm-ffi")
for size in (5, 100):
    x = torch.randn(size, device="cuda")
    y = torch.empty_like(x)
    compiled(x, y)
    assert torch.equal(y, x + 1)
graph, out = torch.cuda.CUDAGraph(), torch.zeros(5, device="cuda")
with torch.cuda.graph(graph):
    compiled(torch.ones(5, device="cuda"), out)  # the stream of the capture is torch's current one
assert (out == 0).all()
graph.replay()
assert (out == 2).all()
try:
    compiled(torch.ones(4, device="cuda", dtype=torch.float16), out)
except (TypeError, ValueError) as error:
    assert "Float32" in str(error)
else:
    raise AssertionError("a wrong dtype was taken")
