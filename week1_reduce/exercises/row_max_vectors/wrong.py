"""Wrong solutions to week1/row_max_vectors."""

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

WRONG = (
    Wrong("begins at 0", {"best = -Float32.inf": "best = Float32(0.0)"}, "start it at −∞"),
    Wrong("the smallest", {"best = -Float32.inf": "best = Float32.inf",
                           "cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -":
                           "cute.arch.fmin(best, values.reduce(cute.ReductionOp.MIN, ",
                           "(best, cute.arch.fmax)": "(best, cute.arch.fmin)"},
          "this is the smallest"),
    Wrong("one element per load", {LOOP: SCALAR}, "Bytes per load (mean, weighted by bytes): 4"),
    Wrong("8 bytes per load in float16", {"128 // mX": "(128 if mX.element_type is Float32 else 64) // mX"},
          "Bytes per load (mean, weighted by bytes): 8"),
    Wrong("at most 1,024 rows", {"    if row < mX.shape[0]:": "    if row < min(mX.shape[0], 1024):"}, "all in the last"),
    Wrong("only lanes with a vector shuffle", {"        best = cute.arch.warp_reduction(":
          "        if lane < cute.size(gX, mode=[1]):\n            best = cute.arch.warp_reduction("}, "from an inactive lane"),
    Wrong("half of the lanes load", {LOOP: """        if lane < 16:
            for i in range(lane, cute.size(gX, mode=[1]), 16):
                values = gX[(None, i)].load().to(Float32)
                best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
"""}, "only 16 of 32 lanes load elements of row 0"),
)  # fmt: skip
