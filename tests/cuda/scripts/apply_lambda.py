"""An operation passed as a Constexpr function, and a list of tensors as an argument."""

import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def apply_kernel(op: cutlass.Constexpr, inputs: list[cute.Tensor], result: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    if i < cute.size(result):
        result[i] = op(*[t[i] for t in inputs])


@cute.jit
def apply(op: cutlass.Constexpr, inputs: list[cute.Tensor], result: cute.Tensor):
    apply_kernel(op, inputs, result).launch(
        grid=[cute.ceil_div(cute.size(result), 64), 1, 1], block=[64, 1, 1]
    )


x, y = torch.rand(201).cuda(), torch.rand(201).cuda()
out = torch.empty_like(x)
for op, reference in ((operator.mul, x * y), (operator.sub, x - y)):
    apply(op, [from_dlpack(x), from_dlpack(y)], from_dlpack(out))
    assert torch.equal(out, reference)
apply(
    lambda a, b: a * a + b,
    [from_dlpack(x), from_dlpack(y)],
    from_dlpack(out),
)
torch.testing.assert_close(out, x * x + y)
