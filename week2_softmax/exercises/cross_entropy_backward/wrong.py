"""Wrong solutions to week2/cross_entropy_backward."""

from forgekit.lessons.wrong import Wrong

P = "p = cute.math.exp(mX[row, n].to(Float32) - lse, fastmath=True)"
CHOSEN = "        if n == target:\n            p -= 1.0\n"
STORE = "        mdX[row, n] = (g * p).to(mdX.element_type)\n"
IGNORED = "    if target == -100:\n        g = Float32(0.0)\n"
AFTERWARDS = """    if tidx == 0 and target != -100:
        p = cute.math.exp(mX[row, target].to(Float32) - lse, fastmath=True)
        mdX[row, target] = (g * (p - 1.0)).to(mdX.element_type)
"""

WRONG = (
    Wrong("nothing subtracted", {CHOSEN: ""}, "nothing is subtracted at the target"),
    Wrong("ignored rows as others", {IGNORED: ""}, "rows whose target is −100"),
    Wrong("class 100 ignored too", {"if target == -100:": "if target * target == 10_000:"}, "every element of actual is 0"),
    Wrong("no g", {"(g * p).to": "p.to", CHOSEN: CHOSEN + "        if target == -100:\n            p = Float32(0.0)\n"}, "g has no effect"),
    Wrong("g only for the softmax", {"(g * p).to": "p.to", P: P.replace("p = ", "p = g * ")}, "With m = 2, n = 4"),
    Wrong("a target of 16 bits", {"Int32(mT[row])": "Int32(mT[row].to(Int16))", "@cute.kernel": "from cutlass import Int16\n\n\n@cute.kernel"}, "a single element differs"),
    Wrong("two warps", {"range(tidx, mX.shape[1], 128)": "range(tidx if tidx < 64 else mX.shape[1], mX.shape[1], 64)"},
          "Warps per block that share the loads: 2 with"),
    Wrong("sign", {"(g * p).to": "(-g * p).to"}, "the sign is reversed"),
    Wrong("overflow", {P: "p = cute.math.exp(mX[row, n].to(Float32), fastmath=True) / cute.math.exp(lse, fastmath=True)"}, "not of their difference"),
    Wrong("a product of exponentials", {P: "p = cute.math.exp(mX[row, n].to(Float32), fastmath=True) * cute.math.exp(-lse, fastmath=True)"}, "and ∞ · 0 are NaN"),
    Wrong("lse of row 0", {"mLse[row], mG": "mLse[0], mG"}, "with the lse of row 0"),
    Wrong("target corrected afterwards", {CHOSEN: "", STORE: STORE + AFTERWARDS}, "Race in global memory"),
    Wrong("target stored twice by its thread", {CHOSEN: "", STORE: STORE + AFTERWARDS.replace("tidx == 0 and target != -100", "tidx == target % 128 and target >= 0")}, "elements are stored more than once"),
    Wrong("lse computed again", {"    for n in range(tidx": """    lse = Float32(0.0)
    for n in range(mX.shape[1]):
        lse += cute.math.exp(mX[row, n].to(Float32) - mLse[row], fastmath=True)
    lse = mLse[row] + cute.math.log(lse, fastmath=True)
    for n in range(tidx"""}, "Each element of the largest input is loaded at least as many times as a block has warps."),
    Wrong("the target's element read in advance", {
        IGNORED: IGNORED + "    at = mX[row, target if target >= 0 else 0].to(Float32)\n",
        CHOSEN: "        if n == target:\n            p = cute.math.exp(at - lse, fastmath=True) - 1.0\n",
    }, "threads load 5 elements of mX more than once"),
)  # fmt: skip
