"""Wrong solutions to week2/value_and_gradient."""

from forgekit.lessons.wrong import Wrong

MERGE = "scale = cute.math.exp(m - m_row, fastmath=True)"
M_NEW = "m_new = cute.arch.fmax(m, mX[row, n])"
THREE_PASSES = """        for n in range(lane, mX.shape[1], 32):
            m = cute.arch.fmax(m, mX[row, n])
        m = cute.arch.warp_reduction(m, cute.arch.fmax)
"""
START = "        m, s, t = -Float32.inf, Float32(0.0), Float32(0.0)\n"

WRONG = (
    Wrong("no maximum", {M_NEW: "m_new = Float32(0.0)", "m - m_new, fast": "m_new - m_new, fast",
                         MERGE: "scale = Float32(1.0)", "(m, cute.arch.fmax)": "(Float32(0.0), cute.arch.fmax)"},
          "as if no maximum were subtracted"),
    Wrong("the first element for the maximum", {M_NEW: "m_new = mX[row, 0]"}, "NaN: 1 in actual"),
    Wrong("a lane's first element for its maximum", {M_NEW: "m_new = mX[row, lane]"}, "mValue: 1 of 4 elements differs"),
    Wrong("t is not rescaled", {"t = t * scale + ": "t = t + "}, "t keeps terms relative"),
    Wrong("s is not rescaled", {"s = s * scale + e": "s = s + e"}, "s keeps terms relative"),
    Wrong("lanes are not rescaled", {MERGE: "scale = Float32(1.0)"}, "that does not rescale s and t"),
    Wrong("value not divided", {"value = t / s": "value = t"}, "not yet divided by"),
    Wrong("gradient without the value", {"(mW[row, n] - value) * y": "mW[row, n] * y"}, "the value is not subtracted"),
    Wrong("a pass for the maximum", {START: START + THREE_PASSES}, "Bytes requested by loads: 640,000"),
    Wrong("the maximum begins at -1e38", {
        "m, s, t = -Float32.inf": "m, s, t = Float32(-1e38)"}, "float32, the result is wrong"),
    Wrong("rescaled by a float16", {"(m - m_new, fastmath=True)": "(m - m_new, fastmath=True).to(Float16).to(Float32)",
          "@cute.kernel": "from cutlass import Float16\n\n\n@cute.kernel"}, "the result is wrong. WRONG m"),
    Wrong("no lane stores the value", {"if lane == 0": "if lane == 32"}, "no thread stores to mValue"),
    Wrong("the maximum begins with the first element", {
        "m, s, t = -Float32.inf, Float32(0.0), Float32(0.0)": "m, s, t = -Float32.inf, Float32(0.0), Float32(0.0)\n        if lane < mX.shape[1]:\n            m = mX[row, lane]",
    }, "threads load 96 elements of mX more than twice"),
)  # fmt: skip
