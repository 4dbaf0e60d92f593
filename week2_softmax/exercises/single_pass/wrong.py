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

WRONG = (
    Wrong("no rescaling", {RESCALE: "s = s + e.reduce"}, "when its maximum grows"),
    Wrong("exponentials not corrected", {LAST: "y = rE[None, k].load() * scale"},
          "stay relative to the maximum known"),
    Wrong("lanes not rescaled", {LANES: "s = cute.arch.warp_reduction(s, operator.add)"},
          "sums of lanes are added"),
    Wrong("warps not rescaled", {WARPS: "    s ="}, "sums of warps are added"),
    Wrong("warps not merged", {"m, s = sMax[tidx % 4], sSum[tidx % 4]":
                               "m, s = sMax[tidx // 32], sSum[tidx // 32] / 4.0"}, "the warps were not merged"),
    Wrong("no barrier", {SYNC: ""}, "Race in shared memory"),
    Wrong("two barriers", {SYNC: SYNC + SYNC}, "asks for at most 1 barrier"),
    Wrong("exponentials again", {LAST: AGAIN},
          "Exponentials per element: 2"),
    Wrong("a division an element", {"scale = 1.0 / s": "scale = Float32(1.0)", "m_row) * scale)": "m_row) * scale) / s"},
          "Divisions per element: 1"),
    Wrong("filled with 0", {"rX.fill(-mX.element_type.inf)": "rX.fill(0.0)"}, "treated as a finite number"),
    Wrong("the maximum begins at -1e30", {
        "m, s = -Float32.inf,": "m, s = Float32(-1e30),"}, "float32, the result is wrong"),
)  # fmt: skip
