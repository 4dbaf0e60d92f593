"""Wrong solutions to week1/row_dots_vectors."""

from forgekit.lessons.wrong import Wrong

PRODUCT = "product = gA[(None, i)].load().to(Float32) * gB[(None, i)].load().to(Float32)"
LOOP = f"""        for i in range(lane, cute.size(gA, mode=[1]), 32):
            {PRODUCT}
            total += product.reduce(cute.ReductionOp.ADD, 0.0, 0)
"""
SCALAR = """        for n in range(lane, mA.shape[1], 32):
            total += mA[row, n].to(Float32) * mB[row, n].to(Float32)
"""

WRONG = (
    Wrong("b forgotten", {PRODUCT: "product = gA[(None, i)].load().to(Float32)"}, "the sum of a, without b"),
    Wrong("added", {").to(Float32) *": ").to(Float32) +"}, "instead of multiplying them"),
    Wrong("a by itself", {"* gB[": "* gA["}, "multiplies a by itself"),
    Wrong("begins at 1", {"total = Float32(0.0)": "total = Float32(1.0 / 32)"},
          "1 more than the sum"),
    Wrong("no shuffle", {"        total = cute.arch.warp_reduction(total, operator.add)\n": ""},
          "only the sum of lane 0"),
    Wrong("the last vector left out", {"mode=[1]), 32)": "mode=[1]) - 1, 32)"}, "got 89572.41*"),
    Wrong("the largest share", {"operator.add": "cute.arch.fmax"}, "got 89998.5"),
    Wrong("half a warp", {"(total, operator.add)": "(total, operator.add, threads_in_group=16)"},
          "the sum of only half of the lanes"),
    Wrong("16-bit products", {PRODUCT: "product = (gA[(None, i)].load() * gB[(None, i)].load())"
                                       ".to(Float32)"}, "float16, the result is wrong"),
    Wrong("one element per load", {LOOP: SCALAR}, "Bytes per load (mean, weighted by bytes): 4"),
    Wrong("adds in float16", {
        "total += product.reduce(cute.ReductionOp.ADD, 0.0, 0)": "total = (total + product.reduce(cute.ReductionOp.ADD, 0.0, 0)).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong"),
    Wrong("8 bytes per load in float16", {"128 // mA": "(128 if mA.element_type is Float32 else 64) // mA"},
          "Bytes per load (mean, weighted by bytes): 8"),
    Wrong("a sum in float64", {"total = Float32(0.0)": "total = cutlass.Float64(0.0)", "cute.ReductionOp.ADD, 0.0, 0)": "cute.ReductionOp.ADD, 0.0, 0) * cutlass.Float64(1.0)"},
          "the task asks for no float64"),
    Wrong("b through bfloat16", {"gB[(None, i)].load().to(Float32)": "gB[(None, i)].load().to(cutlass.BFloat16).to(Float32)"},
          "got -798.5078, expected -798.3447"),
    Wrong("sums as large as float16 allows", {
        "            mY[row] = total": "            total = cute.arch.fmin(total, 65504.0)\n            mY[row] = total"}, "got 65504"),
    Wrong("24 lanes", {"range(lane, cute.size(gA, mode=[1]), 32)": "range(lane if lane < 24 else cute.size(gA, mode=[1]), cute.size(gA, mode=[1]), 24)"},
          "24 of a warp's 32 lanes"),
    Wrong("twice the grid", {"grid=(blocks": "grid=(2 * blocks"}, "asks for one warp per row"),
    Wrong("only lanes with a vector shuffle", {"        total = cute.arch.warp_reduction(":
          "        if lane < cute.size(gA, mode=[1]):\n            total = cute.arch.warp_reduction("}, "from an inactive lane"),
)  # fmt: skip
