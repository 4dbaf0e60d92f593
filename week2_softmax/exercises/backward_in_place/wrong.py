"""Wrong solutions to week2/backward_in_place."""

from forgekit.lessons.wrong import Wrong

RESULT = "rdY.store(((dy - dot) * y).to(mdY.element_type))"
REDUCED = "        dot = cute.arch.warp_reduction(dot, operator.add)\n"
AGAIN = """        for k in cutlass.range_constexpr(loads):
            i = lane + k * 32
            if i < cute.size(gY, mode=[1]):
                cute.autovec_copy(gY[(None, i)], rY[None, k])
"""

WRONG = (
    Wrong("no sum", {RESULT: "rdY.store((dy * y).to(mdY.element_type))"}, "nothing, or 0, is subtracted from dy"),
    Wrong("not multiplied by y", {RESULT: "rdY.store((dy - dot).to(mdY.element_type))"},
          "not yet multiplied by y"),
    Wrong("stored into y", {"cute.autovec_copy(rdY[None, k], gdY[(None, i)])":
                            "cute.autovec_copy(rdY[None, k], gY[(None, i)])"},
          "changed its input mY"),
    Wrong("nothing stored", {"cute.autovec_copy(rdY[None, k], gdY[(None, i)])": "pass"},
          "the kernel stores nothing, or dy itself"),
    Wrong("dy stored again", {RESULT: "rdY.store(dy.to(mdY.element_type))"}, "or it stores dx elsewhere"),
    Wrong("filled as for a maximum", {"        rdY.fill(0.0)\n        rY.fill(0.0)\n":
                                      "        rdY.fill(-Float32.inf)\n        rY.fill(-Float32.inf)\n"},
          "if nothing was loaded into them"),
    Wrong("no shuffles", {REDUCED: ""}, "its own share of Σ dy·y"),
    Wrong("sum of a group of 16", {"warp_reduction(dot, operator.add)":
                                   "warp_reduction(dot, operator.add, threads_in_group=16)"},
          "worst relative difference"),
    Wrong("y read twice", {REDUCED: REDUCED + AGAIN, "(dy - dot) * y)": "(dy - dot) * rY.load().to(Float32))"},
          "the limit is"),
    Wrong("first elements of y again", {REDUCED: "        dot += 0.0 * mY[row, lane % mY.shape[1]].to(Float32)\n" + REDUCED},
          "Bytes per load (mean, weighted by bytes): 13.6"),
    Wrong("registers never filled", {"        rdY.fill(0.0)\n        rY.fill(0.0)\n": ""}, "a register that was never written contains noise"),
    Wrong("at most 2,048 blocks", {"blocks = cute.ceil_div(mY.shape[0], 4)": "blocks = cutlass.min(cute.ceil_div(mY.shape[0], 4), 2048)"},
          "With m = 90,000"),
    Wrong("the second half of y again", {
        "        rdY.store(": "        for k in cutlass.range_constexpr(loads // 2, loads):\n            i = lane + k * 32\n            if i < cute.size(gY, mode=[1]):\n                cute.autovec_copy(gY[(None, i)], rY[None, k])\n        y = rY.load().to(Float32)\n        rdY.store(",
    }, "elements of mY more than once"),
)  # fmt: skip
