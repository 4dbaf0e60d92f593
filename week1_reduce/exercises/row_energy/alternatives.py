"""Other right solutions of week1/row_energy."""

from forgekit.lessons.wrong import Wrong

BLOCK_PER_ROW = """

@cute.kernel
def energy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(8), 16)
    gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4))
    total = Float32(0.0)
    for i in range(tidx, cute.size(gX, mode=[1]), 256):
        values = gX[(None, i)].load()
        total += (values * values).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add)
    if tidx % 32 == 0:
        sSum[tidx // 32] = total
    cute.arch.sync_threads()
    if tidx == 0:
        for k in range(1, 8):
            total += sSum[k]
        mY[row] = total


@cute.jit
def row_energy(mX: cute.Tensor, mY: cute.Tensor):
    energy_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
"""

ALTERNATIVES = (
    Wrong("a block of eight warps per row", text=BLOCK_PER_ROW),
    Wrong("16 vectors per lane", {"(4, 8)": "(4, 16)", "range_constexpr(8)": "range_constexpr(16)",
                                  "vectors, 256": "vectors, 512", "tile * 256": "tile * 512"}),
)  # fmt: skip
