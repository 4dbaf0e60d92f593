"""Other correct solutions to week2/single_pass."""

from forgekit.lessons.wrong import Wrong

FIRST = """    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(loads):
        largest = rX[None, k].load().to(Float32).reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
        m = cute.arch.fmax(m, largest * LOG2_E)
    shift = Float32(0.0) if m == -Float32.inf else m
    for k in cutlass.range_constexpr(loads):
        x = rX"""

ALTERNATIVES = (
    Wrong("a thread's maximum first", {"    m, s = -Float32.inf, Float32(0.0)\n    for k in cutlass.range_constexpr(loads):\n        x = rX": FIRST,
          "        largest = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)\n        m_new = cute.arch.fmax(m, largest * LOG2_E)\n        shift = Float32(0.0) if m_new == -Float32.inf else m_new\n": "",
          "s = s * exp2(m - shift) + e.reduce": "s += e.reduce", "        m = m_new\n": ""}),
    Wrong("each thread merges the four warps", {
        "    m, s = sMax[tidx % 4], sSum[tidx % 4]\n"
        "    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)\n"
        "    shift = Float32(0.0) if m_row == -Float32.inf else m_row\n"
        "    s = s * exp2(m - shift)\n"
        "    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)\n":
            "    m_row = cute.arch.fmax(cute.arch.fmax(sMax[0], sMax[1]), cute.arch.fmax(sMax[2], sMax[3]))\n"
            "    shift, s = Float32(0.0) if m_row == -Float32.inf else m_row, Float32(0.0)\n"
            "    for w in cutlass.range_constexpr(4):\n"
            "        s += sSum[w] * exp2(sMax[w] - shift)\n",
    }),
    Wrong("one division per vector", {
        "    scale = 1.0 / s\n": "",
        "(exp2(rMax[k] - m_row) * scale)": "(exp2(rMax[k] - m_row) / s)",
    }),
)  # fmt: skip
