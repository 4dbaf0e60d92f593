"""Wrong solutions of week1/groups_of_8."""

from forgekit.lessons.wrong import Wrong

LOAD = """        total = mX[i].to(Float32)
    for k in cutlass.range_constexpr(3):
        total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)"""
INSIDE = """        total = mX[i].to(Float32)
        for k in cutlass.range_constexpr(3):
            total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)"""
STEP = "        total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)"
SHARED = """    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
    sX[tidx] = total
    cute.arch.sync_threads()
    if tidx % 8 == 0:
        for k in range(1, 8):
            total += sX[tidx + k]"""

WRONG = (
    Wrong("shuffle inside the predicate", {LOAD: INSIDE}, "which takes no part"),
    Wrong("no predicate", {"    if i < mX.shape[0]:\n": "    if i >= 0:\n"}, "reads mX[16]"),
    Wrong("no predicate at the store", {"i % 8 == 0 and i < mX.shape[0]": "i % 8 == 0"}, "writes mY[2]"),
    Wrong("two steps", {"range_constexpr(3)": "range_constexpr(2)"}, "every other element is missing"),
    Wrong("four steps", {"range_constexpr(3)": "range_constexpr(4)", "4 >> k": "1 << k"},
          "a shuffle by 8 leaves the group"),
    Wrong("two steps from below", {"range_constexpr(3)": "range_constexpr(2)", "4 >> k": "1 << k"},
          "only the first four"),
    Wrong("no shuffle", {STEP: "        total += 0"}, "the first element of its group alone"),
    Wrong("begins at 1", {"Float32(0.0)": "Float32(1.0)"}, "With n = 1,"),
    Wrong("the sum of the last lane", {"if i % 8 == 0": "if i % 8 == 7"}, "no thread writes to global memory"),
    Wrong("shared memory and a barrier",
          {"    for k in cutlass.range_constexpr(3):\n" + STEP: SHARED}, "are allowed"),
    Wrong("blocks rounded down", {"cute.ceil_div(mX.shape[0], 128)": "mX.shape[0] // 128"},
          "use cute.ceil_div for the grid"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(200, 1, 1)"}, "Threads launched"),
)  # fmt: skip
