"""The runtime API's cudaMalloc, cudaMemcpy, cudaMemset and device queries."""

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings import runtime as cudart
from cutlass.cute.runtime import from_dlpack, make_ptr


def ok(result):
    error, *values = result
    assert error == cudart.cudaError_t.cudaSuccess
    return values[0] if values else None


@cute.kernel
def gather_kernel(mX: cute.Tensor, mI: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[mI[tidx]]


@cute.jit
def gather(mX: cute.Tensor, index: cute.Pointer, mY: cute.Tensor):
    mI = cute.make_tensor(index, cute.make_layout(64))
    gather_kernel(mX, mI, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


assert ok(cudart.cudaGetDeviceCount()) == 1 and ok(cudart.cudaGetDevice()) == 0
ok(cudart.cudaSetDevice(0))
index = torch.randperm(64, dtype=torch.int32)
device_index = ok(cudart.cudaMalloc(4 * 64))
ok(cudart.cudaMemset(device_index, 0, 4 * 64))
to_device = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
x, y = torch.rand(64, device="cuda"), torch.zeros(64, device="cuda")
pointer = make_ptr(cutlass.Int32, device_index, cute.AddressSpace.gmem, assumed_align=4)
gather(from_dlpack(x), pointer, from_dlpack(y))
assert torch.equal(y, x[0].expand(64))
ok(cudart.cudaMemcpy(device_index, index.data_ptr(), 4 * 64, to_device))
gather(from_dlpack(x), pointer, from_dlpack(y))
ok(cudart.cudaDeviceSynchronize())
assert torch.equal(y.cpu(), x.cpu()[index.long()])
ok(cudart.cudaFree(device_index))
