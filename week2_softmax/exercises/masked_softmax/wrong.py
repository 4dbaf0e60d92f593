"""Wrong solutions to week2/masked_softmax."""

from forgekit.lessons.wrong import Wrong

TAKES_PART = """            if mMask[row, n] != 0:
                value = mX[row, n].to(Float32)
"""
EXP = "cute.math.exp2((mX[row, n].to(Float32) - m_row) * scale, fastmath=True)"
LAST = """            y = Float32(0.0)
            if mMask[row, n] != 0:
                e = """
SCALE = "scale = math.log2(math.e) / t"
MERGE = "s * cute.math.exp2((m - m_row) * scale, fastmath=True)"
ONLINE = """            if mMask[row, n] != 0:
                value = mX[row, n].to(Float32)
                m_new = cute.arch.fmax(m, value)
                s = s * cute.math.exp2((m - m_new) * scale, fastmath=True)
                s += cute.math.exp2((value - m_new) * scale, fastmath=True)
                m = m_new
"""
OF_ALL = """            value = mX[row, n].to(Float32)
            m_new = cute.arch.fmax(m, value)
            s = s * cute.math.exp2((m - m_new) * scale, fastmath=True)
            if mMask[row, n] != 0:
                s += cute.math.exp2((value - m_new) * scale, fastmath=True)
            m = m_new
"""

WRONG = (
    Wrong("the maximum of half of the lanes", {"cute.arch.warp_reduction_max(m)": "cute.arch.shuffle_sync(cute.arch.warp_reduction_max(m, threads_in_group=16), 0)"}, "With m = 5, n = 24, float32"),
    Wrong("masked by a factor", {LAST + EXP + "\n                y = e / s": f"            y = {EXP} / s * mMask[row, n].to(Float32)"},
          "not with a factor"),
    Wrong("masked at the end only", {TAKES_PART: """            if n >= 0:
                value = mX[row, n].to(Float32)
"""}, "are included in the maximum or the sum"),
    Wrong("masked elements count 0", {TAKES_PART: """            if n >= 0:
                value = Float32(0.0)
                if mMask[row, n] != 0:
                    value = mX[row, n].to(Float32)
"""}, "exp(0) is 1, which adds"),
    Wrong("masked elements are -inf", {TAKES_PART: """            if n >= 0:
                value = -Float32.inf
                if mMask[row, n] != 0:
                    value = mX[row, n].to(Float32)
"""}, "whose first element is masked"),
    Wrong("uniform where all are masked", {LAST: """            y = 1.0 / Float32(mX.shape[1]) if m_row == -Float32.inf else Float32(0.0)
            if mMask[row, n] != 0:
                e = """}, "all mismatches are in row 3"),
    Wrong("no temperature", {SCALE: "scale = math.log2(math.e)"}, "the temperature has no effect"),
    Wrong("temperature multiplied", {SCALE: "scale = math.log2(math.e) * t"}, "not divided"),
    Wrong("base 2", {SCALE: "scale = 1.0 / t"}, "2 to the power of x"),
    Wrong("mask is 1", {TAKES_PART: TAKES_PART.replace("!= 0", "== 1"), LAST: LAST.replace("!= 0", "== 1")}, "a mask of 1 take part"),
    Wrong("maximum of all", {ONLINE: OF_ALL}, "including the masked ones"),
    Wrong("scaled before the maximum", {ONLINE: ONLINE.replace("value = mX[row, n].to(Float32)", "value = mX[row, n].to(Float32) * scale")
          .replace(") * scale, fast", "), fast"), MERGE: MERGE.replace(" * scale", ""),
          EXP: "cute.math.exp2(mX[row, n].to(Float32) * scale - m_row, fastmath=True)"}, "Subtract first"),
    Wrong("mask negated", {TAKES_PART: TAKES_PART.replace("!=", "=="), LAST: LAST.replace("!=", "==")}, "the mask is inverted"),
    Wrong("lanes not rescaled", {MERGE: "s"}, "relative to its own maximum"),
    Wrong("no rescaling in the loop", {"                s = s * cute.math.exp2((m - m_new) * scale, fastmath=True)\n": ""}, "relative to an older maximum"),
    Wrong("every lane reads the row", {"range(lane, mX.shape[1], 32):\n            if": "range(mX.shape[1]):\n            if",
          f"cute.arch.warp_reduction_sum({MERGE})": "s"}, "Bytes requested by loads"),
    Wrong("the maximum begins at -1e38", {
        "m, s = -Float32.inf": "m, s = Float32(-1e38)"}, "float32, the result is wrong"),
    Wrong("seven bits of the mask", {TAKES_PART: TAKES_PART.replace("mMask[row, n]", "mMask[row, n] % 128"), LAST: LAST.replace("mMask[row, n]", "mMask[row, n] % 128")},
          "float32, the result is wrong. WRONG mY: "),
    Wrong("the mask three times", {LAST: LAST.replace("            y =", "            if mMask[row, mX.shape[1] - 1 - n] == 3:\n                m_row = m\n            y =")},
          "elements of mMask more than twice"),
    Wrong("t in bfloat16", {SCALE: "scale = math.log2(math.e) / t.to(mY.element_type).to(Float32)"}, "bfloat16, the result is wrong"),
    Wrong("NaN in empty rows", {LAST: LAST.replace("Float32(0.0)", "(Float32(0.0) if m_row > -Float32.inf else m_row - m_row)")}, "rows without any element are NaN"),
    Wrong("an even number of blocks", {
        "cute.ceil_div(mX.shape[0], 4)": "cute.ceil_div(mX.shape[0], 8) * 2",
    }, "Blocks: 26 with m = 99"),
    Wrong("t rounded to the type of x", {
        "math.log2(math.e) / t": "math.log2(math.e) / t.to(mX.element_type).to(Float32)",
    }, "With m = 2, n = 814, bfloat16"),
    Wrong("no maximum", {"m_new = cute.arch.fmax(m, value)": "m_new = Float32(0.0)", "m, s = -Float32.inf": "m, s = Float32(0.0)"}, "no maximum is subtracted"),
    Wrong("a factor of 0 in the sum", {ONLINE: """            keep, value, m_new = Float32(0.0), mX[row, n].to(Float32), m
            if mMask[row, n] != 0:
                keep, m_new = Float32(1.0), cute.arch.fmax(m, value)
            if m_new > -Float32.inf:
                s = s * cute.math.exp2((m - m_new) * scale, fastmath=True)
                s += keep * cute.math.exp2((value - m_new) * scale, fastmath=True)
                m = m_new
"""}, "exclude an element from the sum"),
)  # fmt: skip
