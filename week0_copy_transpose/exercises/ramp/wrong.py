"""Wrong solutions of week0/ramp."""

from forgekit.lessons.wrong import Wrong

GRID = "grid=(blocks, 1, 1)"

WRONG = (
    Wrong("not converted", {"cutlass.Float32(5 + 3 * i)": "5 + 3 * i"}, "does not compile"),
    Wrong("5 forgotten", {"5 + 3 * i": "3 * i"}, "5 is not added"),
    Wrong("3 forgotten", {"5 + 3 * i": "5 + i"}, "not multiplied by 3"),
    Wrong("thread for element", {"5 + 3 * i": "5 + 3 * tidx"}, "every block begins again at 5"),
    Wrong("nothing stored", {"mY[i] = ": "y = "}, "what was there is stored again"),
    Wrong("no predicate", {"if i < mY.shape[0]:": "if i >= 0:"}, "nothing keeps the threads"),
    Wrong("bound too large", {"i < mY.shape[0]": "i <= mY.shape[0]"}, "lets thread 8 through"),
    Wrong("blocks rounded down", {"cute.ceil_div(mY.shape[0], 128)": "mY.shape[0] // 128"},
          "cute.ceil_div for the grid"),
    Wrong("one block", {GRID: "grid=(1, 1, 1)"}, "the last 872 elements (128 to 999)"),
    Wrong("blocks of 64", {"(128, 1, 1)": "(64, 1, 1)"}, "last 64 elements (64 to 127)"),
    Wrong("a fixed grid", {GRID: "grid=(1000, 1, 1)"}, "their number follows from the length"),
)  # fmt: skip
