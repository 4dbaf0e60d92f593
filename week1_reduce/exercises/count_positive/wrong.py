"""Wrong solutions to week1/count_positive."""

from forgekit.lessons.wrong import Wrong

CLEAR = "    clear_counts_kernel(mY).launch(grid=few, block=(256, 1, 1))\n"
COUNT = "    count_positive_kernel(mX, mY).launch(grid=(pieces, rows, 1), block=(256, 1, 1))\n"
ADD = "        cute.arch.atomic_add(mY.iterator + row, count)"
BLOCK = """    if tidx % 32 == 0:
        sCount[tidx // 32] = count
    cute.arch.sync_threads()
    count = cute.arch.warp_reduction(sCount[tidx % 8], operator.add, threads_in_group=8)
    if tidx == 0:
"""

WRONG = (
    Wrong("not cleared", {CLEAR: ""}, "With m = 1, n = 2,048"),
    Wrong("cleared behind", {CLEAR + COUNT: COUNT + CLEAR}, "clear y after counting"),
    Wrong("cleared by the blocks", {CLEAR: "", "    count = Int32(0)\n": "    if tidx == 0:\n"
                                    "        mY[row] = 0\n    count = Int32(0)\n"},
          "updates mY[0] of mY: int32 (8,), which"),
    Wrong("added plainly", {ADD: "        mY[row] = mY[row] + count"}, "writes mY[0] of mY: int32 (1,), which"),
    Wrong("an atomic per warp", {BLOCK: "    if tidx % 32 == 0:\n"}, "asks for at most one atomic per block"),
    Wrong("the negative ones", {"> 0.0": "< 0.0"}, "the negative elements"),
    Wrong("all of them", {"            if mX[row, n] > 0.0:\n                count": "            count"},
          "all elements are counted"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("zeros counted", {"> 0.0": ">= 0.0"}, "n = 2,048, float32, the result"),
    Wrong("257 rows per block cleared", {
        "cute.ceil_div(rows, 256)": "cute.ceil_div(rows, 257)"}, "mY: 1 of 257 elements"),
    Wrong("counts of 8 bits in shared memory", {
        "allocate_tensor(Int32": "allocate_tensor(cutlass.Uint8", "= count\n": "= count.to(cutlass.Uint8)\n",
        "(sCount[tidx % 8]": "(sCount[tidx % 8].to(Int32)"}, "mY: 1 of 3 elements differs"),
    Wrong("normal numbers", {"> 0.0": ">= 1.1754944e-38"}, "With m = 3, n = 1, float32"),
    Wrong("finite ones", {"if mX[row, n] > 0.0:": "bits = mX[row, n].bitcast(Int32)\n            if bits > 0 and bits < 0x7F800000:"},
          "the result is wrong"),
    Wrong("not at most 0", {"if mX[row, n] > 0.0:": "if not (mX[row, n] <= 0.0):"},
          "With m = 1, n = 2,049, float32, the result is wrong"),
    Wrong(
        "an addition with the block's scope",
        {"cute.arch.atomic_add(mY.iterator + row, count)": "cute.arch.atomic_add(mY.iterator + row, count, scope=\"cta\")"},
        "whose scope is one block (`cta`)",
    ),
    Wrong("clears with steps of 255 rows", {"row = bidx * 256 + tidx": "row = bidx * 255 + tidx"},
          "all mismatches are in the last 3 elements (1021 to 1023)"),
    Wrong("clears 257 rows per block, rounded up", {
        "few = (cute.ceil_div(rows, 256), 1, 1)": "few = (rows // 257 + 1, 1, 1)"}, "mY: 1 of 513 elements"),
    Wrong("clears with 128 threads", {
        "bidx * 256 + tidx\n    if": "bidx * 128 + tidx\n    if", "cute.ceil_div(rows, 256)": "cute.ceil_div(rows, 128)",
        "grid=few, block=(256": "grid=few, block=(128"}, "Threads per block of the first launch: 128"),
    Wrong("one thread of a block clears", {
        "row = bidx * 256 + tidx\n    if row < mY.shape[0]:": "row = bidx\n    if tidx == 0:",
        "few = (cute.ceil_div(rows, 256), 1, 1)": "few = (rows, 1, 1)",
    }, "with m = 513, n = 33, float32; the limit is"),
    Wrong("half of the warps load", {
        "    for k in cutlass.range_constexpr(8):\n        n = piece * 2048 + k * 256 + tidx\n        if n <": "    for k in cutlass.range_constexpr(16):\n        n = piece * 2048 + k * 128 + tidx\n        if tidx < 128 and n <",
    }, "128 of a block's 256 threads load"),
    Wrong("every second block counts two pieces", {
        "range_constexpr(8):\n        n =": "range_constexpr(16):\n        n =", "if n < mX": "if piece % 2 == 0 and n < mX",
    }, "not load exactly the 2,048 columns"),
    Wrong("eight lanes add to y", {
        "    if tidx == 0:\n        cute.arch.atomic_add(mY.iterator + row, count)": "    if tidx < 8:\n        cute.arch.atomic_add(mY.iterator + row, sCount[tidx])",
    }, "Atomics on global memory: 16"),
)  # fmt: skip

EQUIVALENT = {
    "line 23: no predicate": "after the reduction all lanes of a warp hold its count, and store it",
}
