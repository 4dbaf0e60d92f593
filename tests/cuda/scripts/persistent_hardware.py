"""One block per multiprocessor of the device; each block processes tiles in turn."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import HardwareInfo


@cute.kernel
def fill_kernel(mX: cute.Tensor, tiles: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    grid, _, _ = cute.arch.grid_dim()
    tile = bidx
    while tile < tiles:
        mX[tile * 32 + tidx] = tile
        tile += grid


@cute.jit
def fill(mX: cute.Tensor, blocks: cutlass.Int32):
    fill_kernel(mX, cute.size(mX) // 32).launch(grid=(blocks, 1, 1), block=(32, 1, 1))


properties = torch.cuda.get_device_properties("cuda")
info = HardwareInfo()
assert info.get_device_multiprocessor_count() == properties.multi_processor_count
assert torch.cuda.get_device_capability() == (properties.major, properties.minor) >= (8, 0)
assert 1 <= info.get_max_active_clusters(2) <= properties.multi_processor_count // 2
assert info.get_l2_cache_size_in_bytes() > 0 and torch.cuda.mem_get_info()[1] > 1 << 28
x = torch.empty(32 * 300, device="cuda", dtype=torch.int32)
fill(from_dlpack(x), properties.multi_processor_count)
assert torch.equal(x.view(300, 32), torch.arange(300, device="cuda").int()[:, None].expand(-1, 32))
