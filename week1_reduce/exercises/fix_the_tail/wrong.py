"""Wrong solutions to week1/fix_the_tail."""

from forgekit.lessons.wrong import Wrong

FILL = "        tXrX.fill(0.0)\n"
COPY = "        cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)\n"
LOOP = "    for tile in range(gX.shape[1][1]):\n"
ADD = "        total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)\n"
SCALAR = """        for v in cutlass.range_constexpr(4):
            if tXpX[0, 0, 0]:
                total += tXgX[v, 0, 0]
"""

WRONG = (
    Wrong("as given", {FILL: "", LOOP: "    tXrX.fill(0.0)\n" + LOOP}, "previous tile left in their registers"),
    Wrong("after the copy", {FILL: "", COPY: COPY + FILL}, "every sum is 0"),
    Wrong("after the addition", {FILL: "", ADD: ADD + FILL}, "only because the compiler chose 0"),
    Wrong("an old vector times 0", {FILL: "", LOOP: "    tXrX.fill(0.0)\n" + LOOP,
          ADD: ADD.replace("tXrX.load()", "(tXrX.load() * tXpX[0, 0, 0].to(Float32))")}, "A factor of 0 does not"),
    Wrong("the first old element times 0", {FILL: "", LOOP: "    tXrX.fill(0.0)\n" + LOOP,
          ADD: "        total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0) if tXpX[0, 0, 0] else 0.0 * tXrX[0, 0, 0]\n"},
          "NaN: 4 in actual, 0 in expected"),
    Wrong("another identity", {"tXrX.fill(0.0)": "tXrX.fill(1.0)"}, "a value other than 0"),
    Wrong("the last tile left out", {"range(gX.shape[1][1])": "range(shape[1] // 128)"},
          "misses the last tile, which is not full"),
    Wrong("the first tile alone", {"range(gX.shape[1][1])": "range(1)"}, "contains only the first tile"),
    Wrong("unloaded registers times 0", {FILL: "", ADD: ADD.replace("tXrX.load()", "(tXrX.load() * tXpX[0, 0, 0].to(Float32))")},
          "0 · ∞ and ∞ − ∞ are NaN"),
    Wrong("one by one", {FILL: "", COPY: "", ADD: SCALAR}, "Bytes per load (mean, weighted by bytes): 4"),
    Wrong("sums of at least 0", {"        mY[row] = total": "        mY[row] = cute.arch.fmax(total, 0.0)"}, "got 0, expected -5012.414"),
    Wrong("sums of at least -1e30", {"        mY[row] = total": "        mY[row] = cute.arch.fmax(total, -1e30)"}, "every wrong element is -1e+30"),
    Wrong("at most 1,024 tiles", {"range(gX.shape[1][1])": "range(cutlass.min(gX.shape[1][1], 1024))"}, "n = 300,000"),
    Wrong("filled in odd tiles alone", {
        "        tXrX.fill(0.0)\n": "        if tile % 2 == 1:\n            tXrX.fill(0.0)\n",
        "    total = Float32(0.0)\n": "    total = Float32(0.0)\n    tXrX.fill(0.0)\n",
    }, "With m = 3, n = 300"),
)  # fmt: skip
