"""Wrong solutions to week0/scale_columns."""

from forgekit.lessons.wrong import Wrong

WIDTH = "width = 128 // mX.element_type.width"
WRONG = (
    Wrong("no predicate", {"k * width < mX.shape[1]": "k >= 0"}, "access vectors beyond the end of the row"),
    Wrong("w forgotten", {" * gW.load()": ""}, "`w` has no effect in this call"),
    Wrong("0 wherever w is 0", {"gX.load() * gW.load()": "cute.where(gW.load() == 0.0, cute.full_like(gX.load(), 0.0), gX.load() * gW.load())"},
          "the result is wrong"),
    Wrong("added", {"gX.load() * gW": "gX.load() + gW"}, "the factors are added"),
    Wrong("w's first vector", {"mW, (width,), (k,)": "mW, (width,), (0,)"},
          "the factors of the first one"),
    Wrong("four elements in any type", {WIDTH: "width = 4"}, "Bytes per load (mean, weighted by bytes): 8"),
    Wrong("one element per thread", {WIDTH: "width = 1"}, "Bytes per load (mean, weighted by bytes): 2"),
    Wrong("row and column exchanged", {"mY[row, None]": "mY[None, row]"}, "writes mY["),
    Wrong("tensors multiplied", {"gX.load() * gW.load()": "gX * gW"}, "whole tensor"),
    Wrong("eight elements in any type", {WIDTH: "width = 8"}, "Sectors loaded: "),
    Wrong("at most 40,000 rows", {"128 * width), mX.shape[0], 1)": "128 * width), cutlass.min(mX.shape[0], 40_000), 1)"},
          "With m = 60,000, n = 8, float16, the result"),
)  # fmt: skip
