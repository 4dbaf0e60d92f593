"""A test file with parametrised tests, which are skipped without CUDA and run by the file's main
block."""

import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

requires_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA required")


@cute.kernel
def fill_kernel(mX: cute.Tensor, value: cute.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] = value


@cute.jit
def fill(mX: cute.Tensor, value: cute.Int32):
    fill_kernel(mX, value).launch(grid=(1, 1, 1), block=(32, 1, 1))


@requires_gpu
@pytest.mark.parametrize("value", [3, -4])
def test_fill(value):
    x = torch.zeros(32, dtype=torch.int32, device=torch.device("cuda", torch.cuda.current_device()))
    fill(from_dlpack(x), value)
    torch.cuda.synchronize()
    assert (x == value).all()


if __name__ == "__main__":
    assert requires_gpu.args == (False,)
    for value in (3, -4):
        test_fill(value)
