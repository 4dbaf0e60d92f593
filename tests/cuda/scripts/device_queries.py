"""Queries that scripts make before a launch: names, attributes, architectures, memory."""

import cuda.bindings.driver as driver
import cutlass.cute as cute
import torch
from cuda.bindings import runtime
from cutlass.base_dsl.runtime.cuda import get_compute_capability_major_minor
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def block_kernel(mX: cute.Tensor):
    bidx, _, _ = cute.arch.block_idx()
    mX[bidx] = bidx


@cute.jit
def number_blocks(mX: cute.Tensor):
    block_kernel(mX).launch(grid=(cute.size(mX), 1, 1), block=(1, 1, 1))


capability = torch.cuda.get_device_capability()
assert capability == tuple(get_compute_capability_major_minor())
properties = torch.cuda.get_device_properties(torch.cuda.current_device())
assert torch.cuda.get_device_name(0) == properties.name
assert f"sm_{capability[0]}{capability[1]}" in torch.cuda.get_arch_list()
attributes = driver.CUdevice_attribute
for attribute, expected in (
    (attributes.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, properties.multi_processor_count),
    (attributes.CU_DEVICE_ATTRIBUTE_WARP_SIZE, properties.warp_size),
    (attributes.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     properties.shared_memory_per_block_optin),
):  # fmt: skip
    assert driver.cuDeviceGetAttribute(attribute, 0) == (driver.CUresult.CUDA_SUCCESS, expected)
error, count = runtime.cudaDeviceGetAttribute(
    runtime.cudaDeviceAttr.cudaDevAttrMultiProcessorCount, 0
)
assert error == runtime.cudaError_t.cudaSuccess and count == properties.multi_processor_count
for name in ("CLOCK_RATE", "MEMORY_CLOCK_RATE", "GLOBAL_MEMORY_BUS_WIDTH", "CONCURRENT_KERNELS",
             "ASYNC_ENGINE_COUNT"):  # fmt: skip
    assert driver.cuDeviceGetAttribute(getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}"), 0)[1] > 0
for name in ("PCI_BUS_ID", "PCI_DEVICE_ID", "MULTICAST_SUPPORTED"):
    assert (
        driver.cuDeviceGetAttribute(getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}"), 0)[1] >= 0
    )
for attribute in attributes:  # like a script that lists all attributes
    assert driver.cuDeviceGetAttribute(attribute, 0)[1] >= 0
assert driver.cuDeviceComputeCapability(0)[1:] == capability
assert driver.cuDeviceGetPCIBusId(13, 0)[1].startswith(b"0000:") and driver.cuDeviceGetUuid(0)[1]
assert properties.clock_rate > 0 and properties.pci_bus_id >= 0 and str(properties.uuid)
peak_gb_s = 2 * properties.memory_clock_rate * properties.memory_bus_width / 8 / 1e6
assert 4000 < peak_gb_s < 5000
assert driver.cuDriverGetVersion()[1] >= 12000 and runtime.cudaGetDeviceProperties(0)[1].name
free, total = torch.cuda.mem_get_info()
assert 0 < free <= total == properties.total_memory
with torch.cuda.device(0):
    x = torch.zeros(count, dtype=torch.int32, device="cuda")
number_blocks(from_dlpack(x))
assert torch.equal(x.cpu(), torch.arange(count, dtype=torch.int32))
