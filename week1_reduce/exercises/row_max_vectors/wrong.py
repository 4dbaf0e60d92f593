"""Wrong solutions of week1/row_max_vectors."""

from forgekit.lessons.wrong import Wrong

LOAD = "values = gX[(None, i)].load().to(Float32)"
BEST = "best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))"
LOOP = f"""        for i in range(lane, cute.size(gX, mode=[1]), 32):
            {LOAD}
            {BEST}
"""
SCALAR = """        for n in range(lane, mX.shape[1], 32):
            best = cute.arch.fmax(best, mX[row, n].to(Float32))
"""
EVERY_LANE = LOOP.replace(
    "range(lane, cute.size(gX, mode=[1]), 32)", "range(cute.size(gX, mode=[1]))"
)

WRONG = (
    Wrong("begins at 0", {"best = -Float32.inf": "best = Float32(0.0)"}, "never below 0"),
    Wrong("the smallest", {"best = -Float32.inf": "best = Float32.inf",
                           "cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -":
                           "cute.arch.fmin(best, values.reduce(cute.ReductionOp.MIN, ",
                           "(best, cute.arch.fmax)": "(best, cute.arch.fmin)"},
          "it is the smallest"),
    Wrong("no shuffle", {"        best = cute.arch.warp_reduction(best, cute.arch.fmax)\n": ""},
          "elements differ"),
    Wrong("no predicate", {"if row < mX.shape[0]:": "if row >= 0:"}, "reads mX[3, 0] and the 3 after it"),
    Wrong("one element a load", {LOOP: SCALAR}, "Load requests: 10"),
    Wrong("every lane reads all", {LOOP: EVERY_LANE}, "or more often than it needs them"),
    Wrong("half a vector", {"    vec = cutlass.const_expr(128 // mX.element_type.width)":
                            "    vec = 2"}, "Load requests: 1,610"),
    Wrong("every lane stores", {"if lane == 0:": "if lane >= 0:"}, "stored more than once"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(500, 1, 1)"},
          "their number follows from the length"),
)  # fmt: skip
