"""A kernel registered with torch.library.custom_op for CUDA tensors, called through torch.ops and
by a module."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def scale_kernel(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    for i in range(tidx, mX.shape[1], 32):
        mY[row, i] = (mX[row, i].to(cutlass.Float32) * mW[i]).to(mY.element_type)


@cute.jit
def scale_rows(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
    scale_kernel(mX, mW, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


compiled = {}


@torch.library.custom_op("forgekit_scripts::scale", mutates_args=(), device_types="cuda")
def scale(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    assert x.double().is_cuda and x.double().sum(dim=0).to(x.dtype).device == x.device
    out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    args = [from_dlpack(t.detach()).mark_layout_dynamic() for t in (x, w, out)]
    if x.dtype not in compiled:
        compiled[x.dtype] = cute.compile(scale_rows, *args)
    compiled[x.dtype](*args)
    return out


@scale.register_fake
def _(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Scale(torch.nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(n))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.forgekit_scripts.scale(x, self.weight)


layer = Scale(40).to("cuda")
assert layer.weight.is_cuda and next(layer.parameters()).device.type == "cuda"
for dtype in (torch.float32, torch.float16):
    x = torch.randn(6, 40, device="cuda", dtype=dtype)
    with torch.no_grad():
        y = layer(x)
    assert y.device == x.device
    torch.testing.assert_close(y, (x.float() * layer.weight).to(dtype))
