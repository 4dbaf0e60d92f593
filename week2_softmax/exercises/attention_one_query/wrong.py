"""Wrong solutions to week2/attention_one_query."""

from forgekit.lessons.wrong import Wrong

RESCALE_O = "rO[d] = rO[d] * old + new * mV"
STEP = "m, s = m_new, s * old + new"
SCORE = "        score = cute.arch.warp_reduction(score, operator.add)\n"
LARGEST = "m = cute.arch.fmax(cute.arch.fmax(sM[0], sM[1]), cute.arch.fmax(sM[2], sM[3]))"
MERGE = """        for w in cutlass.range_constexpr(4):
            factor = cute.math.exp2(sM[w] - m, fastmath=True)
            s += sS[w] * factor
            o += sO[w, tidx] * factor
"""
IN_A_TREE = """        m, s, o = -Float32.inf, Float32(0.0), Float32(0.0)
        for w in cutlass.range_constexpr(2):
            m_pair = cute.arch.fmax(sM[2 * w], sM[2 * w + 1])
            left = cute.math.exp2(sM[2 * w] - m_pair, fastmath=True)
            right = cute.math.exp2(sM[2 * w + 1] - m_pair, fastmath=True)
            s_pair = sS[2 * w] * left + sS[2 * w + 1] * right
            o_pair = sO[2 * w, tidx] * left + sO[2 * w + 1, tidx] * right
            m_new = cute.arch.fmax(m, m_pair)
            old = cute.math.exp2(m - m_new, fastmath=True)
            new = cute.math.exp2(m_pair - m_new, fastmath=True)
            m, s, o = m_new, s * old + s_pair * new, o * old + o_pair * new
"""
NEW_MAXIMUM = "m_new = cute.arch.fmax(m, score)"
LOOP = "for i in range(warp, mK.shape[1], 4):"
FIRST_PASS = f"""    {LOOP}
        score = Float32(0.0)
        for d in cutlass.range_constexpr(each):
            score += rQ[d] * mK[head, i, lane + 32 * d].to(Float32)
        m = cute.arch.fmax(m, cute.arch.warp_reduction(score, operator.add))
    {LOOP}"""
QUOTIENT = "(o / s).to(mO.element_type)"
KEEP_O = "        sO[warp, lane + 32 * d] = rO[d]"
BARRIER = "    cute.arch.sync_threads()\n"

WRONG = (
    Wrong("the first score for the maximum", {"m_new = cute.arch.fmax(m, score)": "m_new = m if m > -Float32.inf else score"}, "With heads = 3, length = 8, dim = 32, float32"),
    Wrong("o not rescaled", {RESCALE_O: "rO[d] = rO[d] + new * mV"}, "o is not rescaled when"),
    Wrong("s not rescaled", {STEP: "m, s = m_new, s + new"}, "s is not rescaled when"),
    Wrong("warps added as they are", {"factor = cute.math.exp2(sM[w] - m, fastmath=True)":
          "factor = Float32(1.0)"}, "each is relative to its warp's maximum"),
    Wrong("mean of the warps", {KEEP_O: f"{KEEP_O} / s", "s += sS[w] * factor": "s += 1.0",
          "o += sO[w, tidx] * factor": "o += sO[w, tidx]"}, "the result is the mean of the four"),
    Wrong("only one warp's keys", {MERGE: "        s, o = sS[0], sO[0, tidx]\n"}, "only the keys of warp 0"),
    Wrong("no maximum", {NEW_MAXIMUM: "m_new = Float32(0.0)", "m, s = -Float32.inf": "m, s = Float32(0.0)"},
          "no maximum seems to be subtracted"),
    Wrong("the maximum begins at 0", {"m, s = -Float32.inf": "m, s = Float32(0.0)"},
          "a number far above them is subtracted"),
    Wrong("merged in a tree", {f"{LARGEST}\n        s, o = Float32(0.0), Float32(0.0)\n{MERGE}":
          IN_A_TREE.removeprefix("        ")}, "What is −∞ − (−∞)"),
    Wrong("no scale", {"scale_log2 = scale * 1.4": "scale_log2 = 1.4"}, "not multiplied by scale"),
    Wrong("2 for e", {"scale * 1.4426950408889634": "scale"}, "log2(e) is missing"),
    Wrong("not divided", {QUOTIENT: "o.to(mO.element_type)"}, "by the sum of the exponentials"),
    Wrong("score of a lane", {SCORE: ""}, "the warp does not add up"),
    Wrong("last keys left out", {LOOP: "for i in range(warp, mK.shape[1] // 4 * 4, 4):"},
          "the last L % 4 keys"),
    Wrong("the last key left out", {LOOP: "for i in range(warp, mK.shape[1] - 1, 4):"}, "the last key is missing"),
    Wrong("the maximum of warp 0", {LARGEST: "m = sM[0]"}, "subtracts less than the largest of the four maxima"),
    Wrong("a scale of its own", {
        "scale_log2 = scale * 1.44": "scale_log2 = 0.75 / dim**0.5 * 1.44"},
        "length = 6, dim = 32, float32, the result"),
    Wrong("a quarter of the keys for each warp", {LOOP: "part = cute.ceil_div(mK.shape[1], 4)\n    for i in range(warp * part, cutlass.min(warp * part + part, mK.shape[1])):"},
          "reads key 1; needed warp 1"),
    Wrong("the maximum leaves warp 1 out", {"cute.arch.fmax(sM[0], sM[1])": "sM[0]"}, "all mismatches are in row 0"),
    Wrong("scaled after the maximum", {" * scale_log2\n": "\n", "(m - m_new,": "((m - m_new) * scale_log2,", "(score - m_new,": "((score - m_new) * scale_log2,",
          "(sM[w] - m,": "((sM[w] - m) * scale_log2,"}, "heads = 3, length = 64, dim = 32, float32 is also wrong"),
    Wrong("a sum in float64", {"    if lane == 0:": "    s = (s.to(cutlass.Float64) + cutlass.Float64(1e-30)).to(Float32)\n    if lane == 0:"}, "the task asks for no float64"),
    Wrong("no barrier", {BARRIER: ""}, "m = cute.arch.fmax(cute.arch.fmax(sM[0]"),
    Wrong("two passes over K", {f"    {LOOP}": FIRST_PASS}, "Bytes requested by loads: 31,744"),
    Wrong("one warp a head", {"block=(128, 1, 1)": "block=(32, 1, 1)", LOOP: "for i in range(mK.shape[1]):",
          "    if tidx < dim:\n": "", f"        {LARGEST}\n        s, o = Float32(0.0), Float32(0.0)\n{MERGE}        mO[head, tidx] = {QUOTIENT}":
          """    for d in cutlass.range_constexpr(each):
        mO[head, lane + 32 * d] = (rO[d] / s).to(mO.element_type)"""}, "asks for 128 threads per block"),
    Wrong("257 keys", {
        "range(warp, mK.shape[1], 4)": "range(warp, cutlass.min(mK.shape[1], 257), 4)"},
        "The result with heads = 8, length = "),
    Wrong("the maximum begins at -1e30", {
        "m, s = -Float32.inf": "m, s = Float32(-1e30)"},
        "length = 31, dim = 64, float32, the result"),
    Wrong("0 times the distance from -inf", {"sM[w] - m,": "(sM[w] - m) * size,", "(m - m_new,": "((m - m_new) * size,", "(score - m_new,": "((score - m_new) * size,",
          "    rO.fill(0.0)\n": "    rO.fill(0.0)\n    size = cute.arch.fmax(scale_log2, -scale_log2)\n    sign = Float32(1.0) if scale_log2 > 0.0 else Float32(-1.0)\n",
          "* scale_log2\n": "\n", SCORE: SCORE.replace(")\n", ") * sign\n")},
          "heads = 5, length = 9, dim = 64"),
    Wrong("s in the type of o", {"sS = smem.allocate_tensor(Float32,": "sS = smem.allocate_tensor(mO.element_type,", "sM[warp], sS[warp] = m, s": "sM[warp], sS[warp] = m, s.to(mO.element_type)",
          "s += sS[w] * factor": "s += sS[w].to(Float32) * factor"}, "float16, the result is wrong"),
    Wrong("a quarter of the keys of 64 components for each warp", {LOOP: """L = mK.shape[1]
    part = cute.ceil_div(L, 4) if cutlass.const_expr(dim == 64) else L
    begin, step = (warp * part, 1) if cutlass.const_expr(dim == 64) else (warp, 4)
    for i in range(begin, cutlass.min(L, begin + part), step):"""}, "dim = 64, float32, warp 0 reads key 1"),
    Wrong("8,192 scores in shared memory", {"    sO = smem": "    sScores = smem.allocate_tensor(Float32, cute.make_layout(8192), 16)\n    sO = smem",
          f"{SCORE}        {NEW_MAXIMUM}\n": f"""{SCORE}        if lane == 0:
            sScores[i] = score
        m = cute.arch.fmax(m, score)
    cute.arch.sync_warp()
    {LOOP}
        score = sScores[i]
        {NEW_MAXIMUM}
"""}, "at most 2,048 bytes of shared memory"),
    Wrong("each score in shared memory", {SCORE: f"""{SCORE}        if lane == 0:
            sS[warp] = score
        cute.arch.sync_warp()
        score = sS[warp]
        cute.arch.sync_warp()
"""}, "keeps m, s and o in registers"),
    Wrong("the maximum leaves warp 3 out", {"cute.arch.fmax(sM[2], sM[3])": "sM[2]"}, "all mismatches are in row 2"),
    Wrong(
        "a kernel for each scale",
        {"    scale: Float32,\n    dim": "    scale: cutlass.Constexpr,\n    dim"},
        "each value of scale compiles another kernel",
    ),
    Wrong("the last L % 4 keys by warp 0", {LOOP: """L = mK.shape[1]
    for k in range(L // 4 + (L % 4 if warp == 0 else 0)):
        i = warp + 4 * k if k < L // 4 else L // 4 * 3 + k"""}, "warp 0 reads key 41; needed warp 1"),
    Wrong("the first key read in advance", {"    m, s = -Float32.inf, Float32(0.0)\n": """    m, s = -Float32.inf, Float32(0.0)
    if warp < mK.shape[1]:
        score = Float32(0.0)
        for d in cutlass.range_constexpr(each):
            score += rQ[d] * mK[head, warp, lane + 32 * d].to(Float32)
        m = cute.arch.warp_reduction(score, operator.add)
"""}, "elements of mK more than once"),
)  # fmt: skip

EQUIVALENT = {
    "line 24: begins with 1.0": "softmax is the same if every score is larger by one number",
    "line 34: no predicate": "all lanes of a warp hold its m and s",
}
