"""Wrong solutions to week2/log_softmax_backward."""

from forgekit.lessons.wrong import Wrong

ADD = "total += mdY[row, n].to(Float32)"
P = "p = cute.math.exp(mY[row, n].to(Float32), fastmath=True)"
STORE = "(mdY[row, n].to(Float32) - p * total)"
REDUCED = "        total = cute.arch.warp_reduction(total, operator.add)\n"
OF_P = "mdY[row, n].to(Float32) * cute.math.exp(mY[row, n].to(Float32), fastmath=True)"

WRONG = (
    Wrong("softmax's gradient", {ADD: f"total += {OF_P}", STORE: "((mdY[row, n].to(Float32) - total) * p)"},
          "this is the gradient of softmax, whose sum"),
    Wrong("softmax's formula of y", {ADD: "total += mdY[row, n].to(Float32) * mY[row, n].to(Float32)",
                                     STORE: "((mdY[row, n].to(Float32) - total) * mY[row, n].to(Float32))"},
          "the logarithms in place of the probabilities"),
    Wrong("no exp", {P: "p = mY[row, n].to(Float32)"}, "y is the logarithm of a probability"),
    Wrong("the mean", {REDUCED: REDUCED + "        total /= Float32(mY.shape[1])\n"},
          "divided by the number of columns"),
    Wrong("no sum", {STORE: "mdY[row, n].to(Float32)"}, "exp(y)·Σ dy is missing, or 0"),
    Wrong("probabilities of 0", {P: "p = Float32(0.0)"}, "dx is dy: exp(y)·Σ dy is"),
    Wrong("sum of dy times p", {ADD: f"total += {OF_P}"}, "the sum is Σ dy·p,"),
    Wrong("the size of the sum", {REDUCED: f"{REDUCED}        total = cute.arch.fmax(total, -total)\n"},
          "has lost its sign"),
    Wrong("no shuffles", {REDUCED: ""}, "only the dy of its own lane's columns"),
    Wrong("dx of its own dy alone", {STORE: "(mdY[row, n].to(Float32) * (1.0 - p))"}, "instead of Σ dy, each element uses only"),
    Wrong("down, not a butterfly", {REDUCED: """        for k in range(5):
            total += cute.arch.shuffle_sync_down(total, offset=16 >> k)
"""}, "as shuffles down leave it"),
    Wrong("added up in the type of dy", {ADD: "total = (total + mdY[row, n]).to(mdY.element_type)"
                                         ".to(Float32)"}, "rounded to the type of dy at each addition"),
    Wrong("every lane reads the row", {"""range(lane, mY.shape[1], 32):
            total""": """range(mY.shape[1]):
            total""", REDUCED: ""}, "float32, the result is wrong"),
    Wrong("weights near 1 rounded to 1", {"cute.math.exp(mY[row, n].to(Float32), fastmath=True)": "cute.math.exp(mY[row, n].to(Float32), fastmath=True)\n            if mY[row, n].to(Float32) > -1e-3:\n                p = Float32(1.0)"},
          "With m = 3, n = 2, float32"),
)  # fmt: skip
