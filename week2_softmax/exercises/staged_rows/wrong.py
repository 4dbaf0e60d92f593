"""Wrong solutions to week2/staged_rows."""

from forgekit.lessons.wrong import Wrong

COMMIT = "        cute.arch.cp_async_commit_group()\n"
WAIT = "        cute.arch.cp_async_wait_group(7 - k)\n"
IF_LOOK = "        if k * 32 + lane < vectors:\n            x = "
READ = "            x = tXsX[None, k].load()\n"
RESCALED = "s * cute.math.exp(m - m_new, fastmath=True)"
MAXIMUM = "m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))"

WRONG = (
    Wrong("one group too many", {"wait_group(7 - k)": "wait_group(8 - k)"},
          "a read of shared memory comes before the wait"),
    Wrong("one wait for all", {WAIT: "", "    m, s = -Float32": "    cute.arch.cp_async_wait_group(0)\n"
                               "    m, s = -Float32"}, "is for all groups"),
    Wrong("a wait for the first group, then one for all", {WAIT: "        if cutlass.const_expr(k == 0):\n    " + WAIT
          + "        else:\n            cute.arch.cp_async_wait_group(0)\n"}, "The waits leave 7, 0, 0, 0, 0, 0, 0, 0 groups in flight; needed 7 to 0"),
    Wrong("commit in the if", {COMMIT: "    " + COMMIT}, "In this row lanes have fewer"),
    Wrong("no rescaling", {RESCALED: "s"}, "is not rescaled when a larger one appears"),
    Wrong("maximum of the lane", {" - m_row, fastmath=True) * (1.0": " - m, fastmath=True) * (1.0"},
          "its own maximum"),
    Wrong("not divided", {" * (1.0 / s)": ""}, "nothing is divided"),
    Wrong("no predicate on the look", {IF_LOOK: IF_LOOK.replace("k * 32 + lane < vectors", "lane >= 0")},
          "was never copied"),
    Wrong("full tiles alone", {IF_LOOK: IF_LOOK.replace("k * 32 + lane < vectors",
                                                        "k * 32 + 31 < vectors")},
          "the rest of the row is missing"),
    Wrong("four groups, then one per round", {
        "    for k in cutlass.range_constexpr(8):\n        if k * 32 + lane < vectors:\n            cute.copy":
            "    for k in cutlass.range_constexpr(4):\n        if k * 32 + lane < vectors:\n            cute.copy",
        WAIT: """        if cutlass.const_expr(k < 4):
            if (k + 4) * 32 + lane < vectors:
                cute.copy(atom, gX[None, (k + 4) * 32 + lane], tXsX[None, k + 4])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(4)
"""}, "starts all groups before the first wait"),
    Wrong("through registers", {READ: "            x = gX[None, k * 32 + lane].load()\n"},
          "each element read at least twice from shared memory"),
    Wrong("the maximum begins at -1e38", {
        "m, s = -Float32.inf": "m, s = Float32(-1e38)"}, "float32, the result is wrong"),
    Wrong("groups of 64 vectors", {COMMIT: "        if cutlass.const_expr(k % 2 == 1):\n    " + COMMIT, "wait_group(7 - k)": "wait_group(3 - k // 2)"},
          "at most 6 copies of a thread are in flight"),
    Wrong("copies of 4 bytes", {"num_bits_per_copy=128": "num_bits_per_copy=32"}, "vectors of 16 bytes"),
    Wrong("two warps", {"block=(32, 1, 1)": "block=(64, 1, 1)"}, "more lines Next:"),
    Wrong("seven groups copied", {"    for k in cutlass.range_constexpr(8):\n        if k * 32 + lane < vectors:\n            cute.copy":
                                  "    for k in cutlass.range_constexpr(7):\n        if k * 32 + lane < vectors:\n            cute.copy"},
          "7 - k of eight"),
    Wrong("the row in registers", {
        "    m, s = -Float32.inf": "    rX = cute.make_rmem_tensor((4, 8), Float32)\n    m, s = -Float32.inf",
        READ: READ + "            rX[None, k].store(x)\n", "tXsX[None, k].load() - m_row": "rX[None, k].load() - m_row"},
          "read at least twice from shared memory"),
    Wrong(
        "a wait before the last four groups",
        {"    for k in cutlass.range_constexpr(8):\n        if k * 32 + lane < vectors:\n            cute.copy": "    for k in cutlass.range_constexpr(8):\n        if cutlass.const_expr(k == 4):\n            cute.arch.cp_async_wait_group(3)\n        if k * 32 + lane < vectors:\n            cute.copy"},
        "a group is committed after the first wait",
    ),
    Wrong("maximum of the vectors' first elements", {MAXIMUM: "m_new = cute.arch.fmax(m, x[0])"}, "With m = 3, n = 4, float32, the result is wrong"),
    Wrong("maximum of the first group", {MAXIMUM: "m_new = m\n            if cutlass.const_expr(k == 0):\n                " + MAXIMUM},
          "a single element differs"),
    Wrong("all waits, then all other reads", {WAIT: "", "    m, s = -Float32.inf, Float32(0.0)\n": """    m, s = -Float32.inf, Float32(0.0)
    cute.arch.cp_async_wait_group(7)
    if lane < vectors:
        m = tXsX[None, 0].load().reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
    for k in cutlass.range_constexpr(1, 8):
        cute.arch.cp_async_wait_group(7 - k)
"""}, "but does not read each group before the next"),
    Wrong("a tile without alignment", {"make_layout((4, 32, 8)), 16)": "make_layout((4, 32, 8)))"}, "4-byte alignment of the destination."),
    Wrong("each vector copied twice", {"            cute.copy(": "            cute.copy(atom, gX[None, k * 32 + lane], tXsX[None, k])\n            cute.copy("},
          "copies to shared memory, byte"),
    Wrong("lanes beyond the end copy the last vector", {"        if k * 32 + lane < vectors:\n            cute.copy(atom, gX[None, k * 32 + lane]":
          "        if k * 32 < vectors:\n            cute.copy(atom, gX[None, cutlass.min(k * 32 + lane, vectors - 1)]"}, "threads load 20 elements of mX more than once"),
)  # fmt: skip
