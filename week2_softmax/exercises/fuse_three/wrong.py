"""Wrong solutions to week2/fuse_three."""

from forgekit.lessons.wrong import Wrong

_FUSED = """        x = rY.load() * scale + read(mBias, 0).load()
"""
_BIASED = """@cute.kernel
def biased_kernel(mX: cute.Tensor, mBias: cute.Tensor, scale: Float32, mY: cute.Tensor):
    row, _, _ = cute.arch.block_idx()
    rY = read(mX, row)
    rY.store(rY.load() * scale + read(mBias, 0).load())
    write(rY, mY, row)


@cute.jit
def fuse_three("""
_LAUNCH = "    fused_kernel(mX, mBias, scale, mY).launch(grid=grid, block=block)\n"
_FIRST = (
    "    biased_kernel(mX, mBias, scale, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))\n"
)
_DIVIDED = """@cute.kernel
def divided_kernel(mY: cute.Tensor):
    row, _, _ = cute.arch.block_idx()
    rY = read(mY, row)
    s = rY.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    rY.store(rY.load() * (1.0 / cute.arch.warp_reduction(s, operator.add)))
    write(rY, mY, row)


"""
_LAST = "    divided_kernel(mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))\n"
_SECOND = _LAUNCH.replace("(mX,", "(mY,")
WRONG = (
    Wrong("one bias per row", {"read(mBias, 0)": "read(mBias, row)"}, "reads mBias["),
    Wrong("the maximum of half of the lanes", {"        m = cute.arch.warp_reduction(m, cute.arch.fmax)": "        m = cute.arch.shuffle_sync(cute.arch.warp_reduction_max(m, threads_in_group=16), 0)"}, "With 4×512, the result is wrong"),
    Wrong("only larger blocks", {"@cute.jit\ndef fuse_three(": _DIVIDED + _BIASED,
                                 _FUSED: "        x = rY.load()\n", "rY.store(e * (1.0 / s))":
                                 "rY.store(e)", _LAUNCH: _FIRST + _SECOND + _LAST},
          "there are three launches"),
    Wrong("two of three fused", {"@cute.jit\ndef fuse_three(": _BIASED,
                                 _FUSED: "        x = rY.load()\n", _LAUNCH: _FIRST + _SECOND},
          "One more step can stay in registers"),
    Wrong("blocks of one warp", {"row = bidx * 4 + tidx // 32": "row = bidx", "(cute.ceil_div(mX.shape[0], 4), 1, 1), (128, 1, 1)":
                                 "(mX.shape[0], 1, 1), (32, 1, 1)"}, "share it in L1"),
    Wrong("no scale", {" * scale +": " +"}, "the scale is missing"),
    Wrong("no bias", {" + read(mBias, 0).load()": ""}, "the bias is missing"),
    Wrong("the bias scaled", {"rY.load() * scale + read(mBias, 0).load()":
                              "(rY.load() + read(mBias, 0).load()) * scale"},
          "the bias is scaled as well"),
    Wrong("a scale of 1/8", {" * scale +": " * 0.125 +"}, "512 of 512 elements differ (all, float32) tolerance"),
    Wrong("the scale in bfloat16", {" * scale +": " * scale.to(cutlass.BFloat16).to(Float32) +"}, "With 1×512, the result is wrong"),
    Wrong("the smallest of the maxima", {"m = cute.arch.warp_reduction(m, cute.arch.fmax)":
          "m = cute.arch.warp_reduction(m, cutlass.min)"}, "NaN: 1 in actual, 0 in expected"),
    Wrong("a maximum from 0", {"cute.ReductionOp.MAX, -Float32.inf": "cute.ReductionOp.MAX, Float32(0.0)"},
          "NaN: 512 in actual, 0 in expected pattern"),
    Wrong("the grid for 16,384 rows", {"(cute.ceil_div(mX.shape[0], 4), 1, 1)": "(4096, 1, 1)"}, "With 24,000×512, the sampled blocks write"),
    Wrong("at most 1e4 is subtracted", {"        e = cute": "        m = cute.arch.fmin(m, Float32(1e4))\n        e = cute"},
          "With 8×512, the result is wrong"),
    Wrong("no maximum", {"cute.math.exp(x - m,": "cute.math.exp(x,"}, "NaN: 512 in actual"),
    Wrong("the maximum before the scale", {"m = x.reduce(": "m = rY.load().reduce(", "warp_reduction(m, cute.arch.fmax)": "warp_reduction(m, cute.arch.fmax) * scale"},
          "With 4×512, the result is wrong. WRONG mY: 1 of 2,048"),
    Wrong("the maximum without the bias", {"m = x.reduce(": "m = (rY.load() * scale).reduce("}, "With 33×512, the result is wrong"),
)  # fmt: skip
