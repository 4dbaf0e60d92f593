"""Device memory, copies, memset and events through the driver API; a kernel on raw pointers."""

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import make_ptr

N = 300


def check(result):
    assert result[0] == cuda.CUresult.CUDA_SUCCESS, cuda.cuGetErrorName(result[0])[1]
    return result[1] if len(result) == 2 else result[1:]


@cute.kernel
def square_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < cute.size(mX):
        mY[i] = mX[i] * mX[i]


@cute.jit
def square(x: cute.Pointer, y: cute.Pointer, n: cutlass.Int32, stream: cuda.CUstream):
    layout = cute.make_layout(n)
    square_kernel(cute.make_tensor(x, layout), cute.make_tensor(y, layout)).launch(
        grid=(cute.ceil_div(n, 128), 1, 1), block=(128, 1, 1), stream=stream
    )


check(cuda.cuInit(0))
device = check(cuda.cuDeviceGet(0))
context = check(cuda.cuCtxCreate(None, 0, device))
major = check(
    cuda.cuDeviceGetAttribute(
        cuda.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device
    )
)
assert major >= 8 and check(cuda.cuDeviceGetCount()) == 1
stream = check(cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING))
start, end = check(cuda.cuEventCreate(0)), check(cuda.cuEventCreate(0))

host = np.linspace(-2, 2, N, dtype=np.float32)
result = np.zeros_like(host)
x, y = check(cuda.cuMemAlloc(host.nbytes)), check(cuda.cuMemAlloc(host.nbytes))
check(cuda.cuMemcpyHtoDAsync(x, host.ctypes.data, host.nbytes, stream))
check(cuda.cuMemsetD32(y, 0, N))
check(cuda.cuEventRecord(start, stream))
pointers = [
    make_ptr(cutlass.Float32, int(p), cute.AddressSpace.gmem, assumed_align=16) for p in (x, y)
]
square(*pointers, N, stream)
check(cuda.cuEventRecord(end, stream))
check(cuda.cuStreamSynchronize(stream))
check(cuda.cuMemcpyDtoH(result.ctypes.data, y, host.nbytes))
assert np.array_equal(result, host * host)
assert check(cuda.cuEventElapsedTime(start, end)) > 0
for pointer in (x, y):
    check(cuda.cuMemFree(pointer))
check(cuda.cuStreamDestroy(stream))
check(cuda.cuCtxDestroy(context))
