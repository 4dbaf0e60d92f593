"""cp.async to shared memory, and a copy back; CuTe DSL must treat the tensors as global memory."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

THREADS = 128


@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout(4 * THREADS), 16)
    gX = cute.local_tile(mX, (4 * THREADS,), (bidx,))
    gY = cute.local_tile(mY, (4 * THREADS,), (bidx,))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(4))
    part = tiled.get_slice(tidx)
    cute.copy(tiled, part.partition_S(gX), part.partition_D(sX))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        at = tidx + i * THREADS
        gY[at] = sX[4 * THREADS - 1 - at]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.size(mX) // (4 * THREADS)
    copy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))


x = torch.arange(2048, dtype=torch.float32, device="cuda")
y = torch.empty(2048, device="cuda")
assert from_dlpack(x).memspace == cutlass.AddressSpace.gmem
assert from_dlpack(x.cpu()).memspace == cutlass.AddressSpace.generic
cute.compile(copy, *(from_dlpack(t, assumed_align=16) for t in (x, y)))(
    *(from_dlpack(t, assumed_align=16) for t in (x, y))
)
assert torch.equal(y.view(4, 512), x.view(4, 512).flip(1))
