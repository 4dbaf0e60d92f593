"""Wrong solutions to week2/single_pass."""

from forgekit.lessons.wrong import Wrong

RESCALE = "s = s * exp2(m - shift) + e.reduce"
SYNC = "    cute.arch.sync_threads()\n"
LAST = "y = rE[None, k].load() * (exp2(rMax[k] - m_row) * scale)"
LANES = "s = cute.arch.warp_reduction(s * exp2(m - shift), operator.add)"
WARPS = "    s = s * exp2(m - shift)\n    s ="
AGAIN = """x = rX[None, k].load().to(Float32)
        power = cute.math.fma(x, cute.full_like(x, LOG2_E), cute.full_like(x, -m_row))
        y = exp2(power) * scale"""
LANES_AND_WARPS = """    m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)
    shift = Float32(0.0) if m_warp == -Float32.inf else m_warp
    s = cute.arch.warp_reduction(s * exp2(m - shift), operator.add)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m_warp, s
    cute.arch.sync_threads()
    m, s = sMax[tidx % 4], sSum[tidx % 4]
    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)
    shift = Float32(0.0) if m_row == -Float32.inf else m_row
    s = s * exp2(m - shift)
    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)
"""
ALL_PAIRS = """    sMax[tidx], sSum[tidx] = m, s
    cute.arch.sync_threads()
    m_row, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(4):
        m_row = cute.arch.fmax(m_row, sMax[tidx % 32 + 32 * k])
    m_row = cute.arch.warp_reduction(m_row, cute.arch.fmax)
    shift = Float32(0.0) if m_row == -Float32.inf else m_row
    for k in cutlass.range_constexpr(4):
        s += sSum[tidx % 32 + 32 * k] * exp2(sMax[tidx % 32 + 32 * k] - shift)
    s = cute.arch.warp_reduction(s, operator.add)
"""

WRONG = (
    Wrong("no rescaling", {RESCALE: "s = s + e.reduce"}, "when its maximum grows"),
    Wrong("exponentials not corrected", {LAST: "y = rE[None, k].load() * scale"},
          "stay relative to the maximum known"),
    Wrong("lanes not rescaled", {LANES: "s = cute.arch.warp_reduction(s, operator.add)"},
          "sums of lanes are added"),
    Wrong("warps not rescaled", {WARPS: "    s ="}, "sums of warps are added"),
    Wrong("warps not merged", {"m, s = sMax[tidx % 4], sSum[tidx % 4]":
                               "m, s = sMax[tidx // 32], sSum[tidx // 32] / 4.0"}, "the warps were not merged"),
    Wrong("the maximum of three warps", {"    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)\n":
          "    m_row = cute.arch.fmax(sMax[0], cute.arch.fmax(sMax[2], sMax[3]))\n"}, "the result is wrong"),
    Wrong("a pair of each thread in shared memory", {LANES_AND_WARPS: ALL_PAIRS, "sMax = smem.allocate_tensor(Float32, cute.make_layout(4)": "sMax = smem.allocate_tensor(Float32, cute.make_layout(128)",
          "sSum = smem.allocate_tensor(Float32, cute.make_layout(4)": "sSum = smem.allocate_tensor(Float32, cute.make_layout(128)"},
          "Bytes of shared memory per block: 1,024"),
    Wrong("a maximum of the warp per vector", {"largest = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)":
          "largest = cute.arch.warp_reduction(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), cute.arch.fmax)"},
          "the task asks for at most 20 shuffles per warp"),
    Wrong("no barrier", {SYNC: ""}, "Race in shared memory"),
    Wrong("two barriers", {SYNC: SYNC + SYNC}, "asks for at most 1 barrier"),
    Wrong("exponentials again", {LAST: AGAIN},
          "Exponentials per element: 2"),
    Wrong("a division an element", {"scale = 1.0 / s": "scale = Float32(1.0)", "m_row) * scale)": "m_row) * scale) / s"},
          "Divisions per element: 1"),
    Wrong("filled with 0", {"rX.fill(-mX.element_type.inf)": "rX.fill(0.0)"}, "treated as a finite number"),
    Wrong("the maximum begins at -1e38", {
        "m, s = -Float32.inf,": "m, s = Float32(-1e38),"}, "float32, the result is wrong"),
    Wrong("lanes beyond the end load the last vector", {
        "        if tidx + 128 * k < cute.size(gX, mode=[1]):\n            rX[None, k].store(gX[(None, tidx + 128 * k)].load())\n":
            "        last = cute.size(gX, mode=[1]) - 1\n        if tidx // 32 * 32 + 128 * k <= last:\n            rX[None, k].store(gX[(None, cutlass.min(tidx + 128 * k, last))].load())\n"
            "        if tidx + 128 * k > last:\n            rX[None, k].fill(-mX.element_type.inf)\n"}, "threads load 8 elements of mX more than once"),
)  # fmt: skip
