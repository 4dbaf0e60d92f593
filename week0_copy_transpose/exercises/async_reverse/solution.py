"""Solution to week0/async_reverse."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def async_reverse_kernel(mX: cute.Tensor, mY: cute.Tensor, atom: cute.CopyAtom):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    vec = cutlass.const_expr(128 // mX.element_type.width)
    n = mX.shape[1]
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(mX.element_type, cute.make_layout(128 * vec), 16)
    gX = cute.zipped_divide(mX[(bidx, None)], (vec,))  # ((Vec),(Rest))
    sX = cute.zipped_divide(sRow, (vec,))  # ((Vec),(128))
    # [fill]
    if tidx < n // vec:
        cute.copy(atom, gX[(None, tidx)], sX[(None, tidx)])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    # [/fill]
    for k in cutlass.range_constexpr(vec):
        j = k * 128 + tidx
        if j < n:
            mY[bidx, j] = sRow[n - 1 - j]


@cute.jit
def async_reverse(mX: cute.Tensor, mY: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), mX.element_type, num_bits_per_copy=128)
    async_reverse_kernel(mX, mY, atom).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
