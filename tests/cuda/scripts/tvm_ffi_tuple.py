"""TVM-FFI with tensors in a named tuple, whose fields may be omitted."""

from typing import NamedTuple

import cutlass
import cutlass.cute as cute
import torch


class Sizes(NamedTuple):
    starts: cute.Tensor | None = None
    lengths: cute.Tensor | None = None


@cute.kernel
def copy_kernel(mOut: cute.Tensor, mIn: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < mOut.shape[0]:
        mOut[tidx] = mIn[tidx]


@cute.jit
def copy_starts(mOut: cute.Tensor, sizes: Sizes):
    if cutlass.const_expr(sizes.starts is not None):
        copy_kernel(mOut, sizes.starts).launch(grid=(1, 1, 1), block=(128, 1, 1))


count = cute.sym_int()
out, starts = (cute.runtime.make_fake_compact_tensor(cutlass.Int32, (count,)) for _ in range(2))
compiled = cute.compile(copy_starts, out, Sizes(starts=starts), options="--enable-tvm-ffi")
for n in (8, 100):
    starts = torch.arange(n, dtype=torch.int32, device="cuda")
    out = torch.zeros_like(starts)
    compiled(out, Sizes(starts=starts))
    assert torch.equal(out, starts)
try:
    compiled(out, Sizes(starts=starts.float()))
except (TypeError, ValueError) as error:
    print(error)
else:
    raise AssertionError("a float tensor for one of integers")
