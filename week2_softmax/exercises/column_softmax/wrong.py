"""Wrong solutions to week2/column_softmax."""

from forgekit.lessons.wrong import Wrong

MAXIMUM = """        for k in range(mX.shape[0]):
            m = cute.arch.fmax(m, mX[k, col].to(Float32))
"""
SECOND = "s += cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)"
THIRD = "e = cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)"
LAUNCH = "column_softmax_kernel(mX, mY).launch(grid=(blocks, 1, 1)"

WRONG = (
    Wrong("no maximum", {MAXIMUM: "", SECOND: SECOND.replace(" - m", ""), THIRD: THIRD.replace(" - m", "")},
          "as if nothing were subtracted"),
    Wrong("the maximum begins at 0", {"m, s = -Float32.inf,": "m, s = Float32(0.0),"},
          "a number far above them is subtracted"),
    Wrong("the maximum of every second row", {MAXIMUM: MAXIMUM.replace("(mX.shape[0])", "(0, mX.shape[0], 2)")},
          "NaN: 5 in actual, 4 in expected"),
    Wrong("not divided", {"(e / s)": "e"}, "not divided by their sum"),
    Wrong("subtracted once only", {THIRD: THIRD.replace(" - m", "")}, "not in the numerator"),
    Wrong("not converted", {"(e / s).to(mY.element_type)": "e / s"}, "of type Float32 into a tensor of Float16"),
    Wrong("one row short", {MAXIMUM: MAXIMUM.replace("mX.shape[0]", "mX.shape[0] - 1")},
          "With m = 1, n = 1"),
    Wrong("a fixed grid", {LAUNCH: LAUNCH.replace("blocks, 1", "300, 1")}, "no thread stores"),
    Wrong("the maximum begins at -1e38", {
        "m, s = -Float32.inf,": "m, s = Float32(-1e38),"}, "float32, the result is wrong"),
    Wrong("twice the grid", {"grid=(blocks, 1, 1)": "grid=(2 * blocks, 1, 1)"}, "Blocks: 2 with"),
    Wrong("first row not stored", {"        for k in range(mX.shape[0]):\n            e": "        for k in range(1, mX.shape[0]):\n            e"}, "no thread stores 3 of the 12 elements of mY, all in row 0"),
)  # fmt: skip
