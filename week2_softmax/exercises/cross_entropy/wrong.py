"""Wrong solutions to week2/cross_entropy."""

from forgekit.lessons.wrong import Wrong

RESCALE = "        s = s * cute.math.exp(m - m_new, fastmath=True)\n"
GUARD = "    if m > -Float32.inf:\n        s = s * cute.math.exp(m - m_warp, fastmath=True)\n"
LOSS = "loss = m - mX[row, target].to(Float32) + log_s"
BARRIER = "    cute.arch.sync_threads()\n"
ONE_PASS = """    for n in range(tidx, mX.shape[1], 128):
        value = mX[row, n].to(Float32)
        m_new = cute.arch.fmax(m, value)
        s = s * cute.math.exp(m - m_new, fastmath=True)
        s += cute.math.exp(value - m_new, fastmath=True)
        m = m_new
"""
SCALED = {
    ONE_PASS: ONE_PASS.replace(".to(Float32)", ".to(Float32) * 1.4426950408889634").replace(
        "exp(", "exp2("
    ),
    GUARD: GUARD.replace("exp(", "exp2("),
    "sS[w] * cute.math.exp(": "sS[w] * cute.math.exp2(",
    "log_s = cute.math.log(s, fastmath=True)": "log_s = cute.math.log2(s, fastmath=True)",
    "mLse[row] = m + log_s": "mLse[row] = (m + log_s) * 0.6931471805599453",
    LOSS: "loss = (m - mX[row, target].to(Float32) * 1.4426950408889634 + log_s) * 0.6931471805599453",
}

WRONG = (
    Wrong("warps without an element", {GUARD: GUARD.replace("m > -Float32.inf", "m_warp >= m")}, "whole warps have no element"),
    Wrong("ignored target read", {"if target != -100": "if target != -1"}, "that target must be ignored"),
    Wrong("column 0 read again for an ignored target", {"        loss, target = Float32(0.0), Int32(mT[row])\n":
          "        loss, target = Float32(0.0), Int32(mT[row])\n        x_target = mX[row, target if target != -100 else Int32(0)].to(Float32)\n",
          "mX[row, target].to(Float32)": "x_target"}, "the first is mX[1, 0]"),
    Wrong("lse rounded first", {LOSS: "loss = m + log_s - mX[row, target].to(Float32)"}, "minus x[target], gives exactly this result"),
    Wrong("sign", {LOSS: "loss = mX[row, target].to(Float32) - m - log_s"}, "the sign is reversed"),
    Wrong("no log s", {LOSS: "loss = m - mX[row, target].to(Float32)"}, "log s is missing"),
    Wrong("no rescaling in the loop", {RESCALE: ""}, "relative to an older maximum"),
    Wrong("no rescaling of the lanes", {GUARD: ""}, "relative to its own maximum"),
    Wrong("the maximum of warp 0", {"m = cute.arch.fmax(cute.arch.fmax(sM[0], sM[1]), cute.arch.fmax(sM[2], sM[3]))": "m = sM[0]"}, "such as the maximum of warp 0"),
    Wrong("the maximum of half of the lanes", {"cute.arch.warp_reduction_max(m)": "cute.arch.shuffle_sync(cute.arch.warp_reduction_max(m, threads_in_group=16), 0)"},
          "Inf: 1 in actual, 0 in expected"),
    Wrong("losses up to 300", {"mLoss[row] = loss": "mLoss[row] = cutlass.min(loss, 300.0)"}, "got 300, expected"),
    Wrong("logarithm of the quotient", {LOSS: "loss = -cute.math.log(cute.math.exp(mX[row, target].to(Float32) - m, fastmath=True) / s, fastmath=True)"},
          "a logarithm of the quotient"),
    Wrong("read twice", {"        m_new = cute.arch.fmax(m, value)\n": "        m = cute.arch.fmax(m, value)\n",
          "        s = s * cute.math.exp(m - m_new, fastmath=True)\n        s += cute.math.exp(value - m_new, fastmath=True)\n        m = m_new\n":
          "    for n in range(tidx, mX.shape[1], 128):\n        s += cute.math.exp(mX[row, n].to(Float32) - m, fastmath=True)\n"}, "Sectors loaded"),
    Wrong("scaled before the maximum", SCALED, "With m = 5, n = 4, float32, the result is wrong"),
    Wrong("the last exponential alone", {"        s += cute.math.exp(value": "        s = cute.math.exp(value"}, "With m = 4, n = 131, float32, the result is wrong"),
    Wrong("a target above 0", {"if target != -100": "if target > 0"}, "float32, the result is wrong. WRONG mLoss"),
    Wrong("a target of 16 bits", {"Int32(mT[row])": "Int32(mT[row].to(cutlass.Int16))"}, "With m = 8, n = 3"),
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("two warps read the row", {"range(tidx, mX.shape[1], 128)": "range(tidx if tidx < 64 else mX.shape[1], mX.shape[1], 64)"},
          "Warps per block that share the loads: 2 with"),
    Wrong("one warp reads the row", {"range(tidx, mX.shape[1], 128)": "range(tidx if tidx < 32 else mX.shape[1], mX.shape[1], 32)"},
          "Warps per block that share the loads: 1 with"),
    Wrong("two barriers", {BARRIER: BARRIER * 2}, "asks for at most 1 barrier"),
    Wrong("loss as narrow as x", {"mLoss[row] = loss": "mLoss[row] = loss.to(mX.element_type).to(Float32)"}, "float16, the result is wrong"),
    Wrong("terms in float16", {"cute.math.exp(value - m_new, fastmath=True)": "cute.math.exp(value - m_new, fastmath=True).to(cutlass.Float16).to(Float32)"},
          "With m = 1, n = 1,001, float16, the result is wrong. WRONG mLoss"),
    Wrong("the maximum leaves warp 2 out", {"cute.arch.fmax(sM[2], sM[3])": "sM[3]"}, "mLse: 1 of 4 elements differs"),
    Wrong("the maximum leaves warp 3 out", {"cute.arch.fmax(sM[2], sM[3])": "sM[2]"}, "the result is wrong"),
    Wrong("x at the target loaded by all threads", {
        "    if tidx == 0:\n": "    x_t = mX[row, max(Int32(mT[row]), 0)].to(Float32)\n    if tidx == 0:\n",
        "mX[row, target].to(Float32)": "x_t",
    }, "in addition to those that may be read again, threads load 2 elements"),
)  # fmt: skip

EQUIVALENT = {
    "line 20: no predicate": "after both reductions all lanes of a warp hold its m and s, and store them",
}
