"""Wrong solutions to week1/groups_of_8."""

from forgekit.lessons.wrong import Wrong

STEP = "        total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)"
SHARED = """    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
    sX[tidx] = total
    cute.arch.sync_threads()
    if tidx % 8 == 0:
        for k in range(1, 8):
            total += sX[tidx + k]"""

WRONG = (
    Wrong("two steps", {"range_constexpr(3)": "range_constexpr(2)"}, "every other element is missing"),
    Wrong("four steps", {"range_constexpr(3)": "range_constexpr(4)", "4 >> k": "1 << k"},
          "a shuffle by 8 or more"),
    Wrong("two steps from below", {"range_constexpr(3)": "range_constexpr(2)", "4 >> k": "1 << k"},
          "only the first four"),
    Wrong("no shuffle", {STEP: "        total += 0"}, "only the first element of its group"),
    Wrong("shared memory and a barrier",
          {"    for k in cutlass.range_constexpr(3):\n" + STEP: SHARED}, "asks for no shared memory"),
    Wrong("a sum of 32", {"range_constexpr(3)": "range_constexpr(5)", "4 >> k": "16 >> k"}, "each sum contains elements of other groups"),
)  # fmt: skip
