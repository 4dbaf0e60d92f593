"""Wrong solutions to week1/row_energy."""

from forgekit.lessons.wrong import Wrong

TWO_LAUNCHES = """

@cute.kernel
def clear_kernel(mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    if bidx * 128 + tidx < mY.shape[0]:
        mY[bidx * 128 + tidx] = Float32(0.0)


@cute.kernel
def energy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    part, row, _ = cute.arch.block_idx()
    gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4))
    total = Float32(0.0)
    for i in range(part * 128 + tidx, cute.size(gX, mode=[1]), 512):
        values = gX[(None, i)].load()
        total += (values * values).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add)
    if tidx % 32 == 0:
        cute.arch.atomic_add(mY.iterator + row, total)


@cute.jit
def row_energy(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    clear_kernel(mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    energy_kernel(mX, mY).launch(grid=(4, mX.shape[0], 1), block=(128, 1, 1))
"""

TWICE = """

@cute.kernel
def energy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(8), 16)
    gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4))
    largest, total = Float32(0.0), Float32(0.0)
    for i in range(tidx, cute.size(gX, mode=[1]), 256):
        values = gX[(None, i)].load()
        largest = cutlass.max(largest, (values * values).reduce(cute.ReductionOp.MAX, 0.0, 0))
    for i in range(tidx, cute.size(gX, mode=[1]), 256):
        values = gX[(None, i)].load()
        if largest > 0.0:
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

WRONG = (
    Wrong("a second launch", text=TWO_LAUNCHES, says="Launches: 2 with 5×1,000"),
    Wrong("another block size", {"(4, 8)": "(4, 1)", "range_constexpr(8)": "range_constexpr(1)",
                                 "vectors, 256": "vectors, 32", "tile * 256": "tile * 32",
                                 "bidx * 4 + tidx": "bidx * 8 + tidx", "shape[0], 4)": "shape[0], 8)",
                                 "block=(128, 1, 1)": "block=(256, 1, 1)"},
          "The size of a block changes neither"),
    Wrong("two rows per warp", {"bidx * 4 + tidx // 32, tidx % 32\n    if row < mX.shape[0]:": "bidx * 8 + tidx // 32, tidx % 32\n"
                                "    for row in range(row, cutlass.min(row - tidx // 32 + 8, mX.shape[0]), 4):",
                                "shape[0], 4)": "shape[0], 8)", "(4, 8)": "(4, 1)", "range_constexpr(8)": "range_constexpr(1)",
                                "vectors, 256": "vectors, 32", "tile * 256": "tile * 32"}, "bound by latency"),
    Wrong("two vectors", {"(4, 8)": "(4, 2)", "range_constexpr(8)": "range_constexpr(2)",
                          "vectors, 256": "vectors, 64", "tile * 256": "tile * 64"},
          "waiting still bounds it"),
    Wrong("the tail left out", {"cute.ceil_div(vectors, 256)": "vectors // 256"},
          "after the last full tile of 1,024"),
    Wrong("half of the tiles", {"cute.ceil_div(vectors, 256)": "cute.ceil_div(vectors, 512)"},
          "With 1×3,080, the result is wrong"),
    Wrong("the last vector left out", {"                if i < vectors": "                if i + 1 < vectors"}, "1×3,080, the result is wrong. WRONG mY: 1 of 1 element differs"),
    Wrong("a vector less in many long rows", {"                if i < vectors": "                if i < vectors - (1 if tile > 3 and mX.shape[0] > 300 else 0)"},
          "At the small sizes of the previous group, all elements are right"),
    Wrong("at most 256 tiles", {"cute.ceil_div(vectors, 256)": "cutlass.min(cute.ceil_div(vectors, 256), 256)"},
          "With 1×300,000, the sampled blocks write 1 element"),
    Wrong("the copy is dropped", {"cute.autovec_copy(gX[(None, i)], rX[None, k])": "pass"}, "no thread reads mX"),
    Wrong("not squared", {"(rX.load() * rX.load())": "rX.load()"}, "adds the elements, not their squares"),
    Wrong("lane 0 alone", {"        total = cute.arch.warp_reduction(total, operator.add)\n": ""},
          "the sums of the other 31 lanes are missing"),
    Wrong("in float64", {"total = Float32(0.0)": "total = cutlass.Float64(0.0)", "(rX.load() * rX.load()).reduce(cute.ReductionOp.ADD, 0.0, 0)":
          "cutlass.Float64((rX.load() * rX.load()).reduce(cute.ReductionOp.ADD, 0.0, 0))",
          "warp_reduction(total,": "warp_reduction(total.to(Float32),"}, "asks for no float64"),
    Wrong("each row read twice", text=TWICE, says="elements of mX more than once"),
    Wrong("at most 2,048 blocks", {"    blocks = cute.ceil_div(mX.shape[0], 4)": "    blocks = cutlass.min(cute.ceil_div(mX.shape[0], 4), 2048)"},
          "With 90,000×4"),
)  # fmt: skip
