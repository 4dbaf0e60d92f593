"""Wrong solutions to week1/abs_sums."""

from forgekit.lessons.wrong import Wrong

TAIL = """    if j < n and j // 1024 == piece:
        value = mX[j].to(Float32)
        total += cute.arch.fmax(value, -value)
"""

WRONG = (
    Wrong("with their signs", {"cute.where(values < 0.0, -values, values)": "values + 0.0",
                               "total += cute.arch.fmax(value, -value)": "total += value"},
          "with their signs"),
    Wrong("tail ignored", {TAIL: ""}, "after the last whole vector"),
    Wrong("a tail of at most 3", {"if j < n and": "if lane < 3 and j < n and"}, "With n = 1,031, float16"),
    Wrong("tail in every warp", {"if j < n and j // 1024 == piece:": "if j < n:"},
          "a single element differs"),
    Wrong("vectors rounded up", {"if i < n // vec:": "if i < cute.ceil_div(n, vec):"},
          "12 bytes past the tensor's end"),
    Wrong("a vector added up in its own type", {"values.reduce(cute.ReductionOp.ADD, 0.0, 0)":
        "Float32(values.to(mX.element_type).reduce(cute.ReductionOp.ADD, 0.0, 0))"},
          "float16, the result is wrong"),
    Wrong("every lane stores", {"if lane == 0 and": "if lane >= 0 and"}, "stored more than once"),
    Wrong("8 bytes per load in float16", {"128 // mX": "(128 if mX.element_type is Float32 else 64) // mX"},
          "Bytes per load (mean, weighted by bytes): 8"),
    Wrong("the root of the square", {"cute.where(values < 0.0, -values, values)": "cute.math.sqrt(values * values)"}, "the result is wrong"),
    Wrong("no piece is full", {"piece < mY.shape[0]": "piece < n // 1024 + 1"}, "writes mY[1]"),
    Wrong("at most 64 blocks", {"blocks = cute.ceil_div(mY.shape[0], 4)": "blocks = cutlass.min(cute.ceil_div(mY.shape[0], 4), 64)"},
          "With n = 1,048,576"),
    Wrong("tail times 0 for other pieces", {
        "    if j < n and j // 1024 == piece:\n        value = mX[j].to(Float32)\n        total += cute.arch.fmax(value, -value)": "    if j < n:\n        mine = Float32(0.0)\n        if j // 1024 == piece:\n            mine = Float32(1.0)\n        value = mX[j].to(Float32)\n        total += cute.arch.fmax(value, -value) * mine",
    }, "NaN: 2 in actual, 0 in expected"),
    Wrong("tail added in the type of x", {TAIL: """    if lane == 0 and n // 1024 == piece and n % vec > 0:
        rest = mX.element_type(0.0)
        for j in range(n // vec * vec, n):
            value = mX[j]
            if value < mX.element_type(0.0):
                value = -value
            rest = rest + value
        total += rest.to(Float32)
"""}, "With n = 1,030, float16, the result is wrong"),
)  # fmt: skip
