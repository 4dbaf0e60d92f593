"""Wrong solutions to week2/rms_norm_residual."""

from forgekit.lessons.wrong import Wrong

SUM = "s = gX[None, i].load().to(Float32) + gR[None, i].load().to(Float32)"
STORE_S = "gS[None, i].store(s.to(mS.element_type))"
KEEP = "rS[None, k].store(s)"
TOTAL = "total = (s * s).reduce(cute.ReductionOp.ADD, 0.0, 0)"
Y = "y = rS[None, k].load() * scale * gW[None, i].load().to(Float32)"

WRONG = (
    Wrong("residual forgotten", {SUM: "s = gX[None, i].load().to(Float32)"}, "the residual is not added"),
    Wrong("subtracted", {SUM: SUM.replace("+", "-")}, "the residual is subtracted"),
    Wrong("norm of x", {KEEP: "rS[None, k].store(gX[None, i].load().to(Float32))"},
          "y is the norm of x without the residual"),
    Wrong("sum not stored", {f"                {STORE_S}\n": ""}, "mS: 16 of 16 elements"),
    Wrong("sum stored normalised", {f"                {STORE_S}\n": "", Y: f"""{Y}
                gS[None, i].store(y.to(mS.element_type))"""}, "the next residual is the sum itself"),
    Wrong("not normalised", {Y: "y = rS[None, k].load()"}, "it is not normalised"),
    Wrong("no weight", {Y: "y = rS[None, k].load() * scale"}, "not multiplied by the weight"),
    Wrong("no eps", {" + eps": ""}, "eps is missing, or is not added before the root."),
    Wrong("eps written in", {" + eps": " + 1e-5"}, "very small eps, such as 0.00001"),
    Wrong("a smaller eps written in", {" + eps": " + 1e-6"}, "With m = 1, n = 8, float32, the result is wrong"),
    Wrong("the scale in the input's type", {Y: Y.replace("scale", "scale.to(mX.element_type).to(Float32)")},
          "float16, the result is wrong"),
    Wrong("eps in float16", {" + eps": " + eps.to(cutlass.Float16).to(Float32)"}, "float32, the result is wrong"),
    Wrong("mean of the registers", {"Float32(mX.shape[1])": "512.0"}, "the number of registers that a warp has"),
    Wrong("registers begin at 1", {"rS.fill(0.0)": "rS.fill(1.0)"}, "each adds 1 to the sum"),
    Wrong("squares in the input's type", {TOTAL: "h = s.to(mX.element_type)\n        total = (h * h).to("
          "Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)"}, "the square of 400 is 160,000"),
    Wrong("sum read again", {Y: Y.replace("rS[None, k].load()", "gS[None, i].load().to(Float32)")},
          "y is computed from sums rounded"),
    Wrong("shuffle forgotten", {"        total = cute.arch.warp_reduction(total, operator.add)\n": ""},
          "those of the other lanes are missing"),
    Wrong("registers never filled", {"        rS.fill(0.0)\n": ""}, "a register that was never written contains noise"),
    Wrong("the sum from y", {f"                {STORE_S}\n": "", Y: f"""{Y}
                gS[None, i].store((y / scale / gW[None, i].load().to(Float32)).to(mS.element_type))"""}, "all mismatches are in column 5"),
)  # fmt: skip
