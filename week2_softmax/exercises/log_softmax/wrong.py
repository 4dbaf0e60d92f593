"""Wrong solutions to week2/log_softmax."""

from forgekit.lessons.wrong import Wrong

LOOP = """            m_new = cute.arch.fmax(m, value)
            s = s * cute.math.exp(m - m_new, fastmath=True)
            s += cute.math.exp(value - m_new, fastmath=True)
            m = m_new
"""
RESCALE = "            s = s * cute.math.exp(m - m_new, fastmath=True)\n"
STORE = "mX[row, n].to(Float32) - m_row - log_s"
MERGE = "s * cute.math.exp(m - m_row, fastmath=True)"

WRONG = (
    Wrong("log-sum-exp first", {STORE: "mX[row, n].to(Float32) - (m_row + log_s)"}, "once that is rounded to float32"),
    Wrong("softmax", {STORE: "cute.math.exp(mX[row, n].to(Float32) - m_row - log_s, fastmath=True)"}, "its logarithm is not taken"),
    Wrong("log of a rounded 0", {STORE: "cute.math.log(cute.math.exp(mX[row, n].to(Float32) - m_row, fastmath=True) / s, fastmath=True)"},
          "a logarithm of the quotient"),
    Wrong("base 2", {"cute.math.log(s": "cute.math.log2(s"}, "to the base 2 here"),
    Wrong("no log s", {STORE: "mX[row, n].to(Float32) - m_row"}, "log s is missing"),
    Wrong("no rescaling in the loop", {RESCALE: ""}, "relative to an older maximum"),
    Wrong("no rescaling in the merge", {MERGE: "s"}, "relative to its own maximum"),
    Wrong("the maximum begins at 0", {"m, s = -Float32.inf": "m, s = Float32(0.0)"}, "a number far above them is subtracted"),
    Wrong("a guard for masked rows with a threshold", {"        log_s = cute": "        if m_row < -10000.0:\n            m_row, s = Float32(0.0), Float32(0.0)\n        log_s = cute"},
          "Does a maximum start at a finite number"),
    Wrong("the maximum of half the lanes", {"warp_reduction_max(m)": "shuffle_sync(cute.arch.warp_reduction_max(m, threads_in_group=16), 0)"},
          "Inf: 24 in actual, 0 in expected"),
    Wrong("the first element for the maximum", {"m, s = -Float32.inf": "m, s = mX[row, 0].to(Float32)", "m_new = cute.arch.fmax(m, value)": "m_new = m"},
          "Inf: 4 in actual, 0 in expected"),
    Wrong("results of at least -1000", {STORE: f"cute.arch.fmax({STORE}, -1000.0)"}, "got -1000, expected"),
    Wrong("three passes", {LOOP: "            m = cute.arch.fmax(m, value)\n",
          "        s = cute.arch.warp_reduction_sum(" + MERGE + ")\n":
          "        for n in range(lane, mX.shape[1], 32):\n            s += cute.math.exp(mX[row, n].to(Float32) - m_row, fastmath=True)\n"
          "        s = cute.arch.warp_reduction_sum(s)\n"}, "Sectors loaded"),
    Wrong("the maximum begins with the lane's first element", {"m, s = -Float32.inf, Float32(0.0)": "m, s = -Float32.inf, Float32(0.0)\n        if lane < mX.shape[1]:\n            m = mX[row, lane].to(Float32)"}, "elements of mX more than twice"),
)  # fmt: skip
