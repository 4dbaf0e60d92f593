"""Wrong solutions of week0/scale_columns."""

from forgekit.lessons.wrong import Wrong

WIDTH = "width = 128 // mX.element_type.width"
WRONG = (
    Wrong("no predicate", {"k * width < mX.shape[1]": "k >= 0"}, "no vector of its row"),
    Wrong("vectors for elements", {"if k * width <": "if k <"}, "to be less than the number of columns"),
    Wrong("one vector more", {"if k * width <": "if k * width <="},
          "thread (2, 0, 0) of block (0, 1, 0)"),
    Wrong("w forgotten", {" * gW.load()": ""}, "`w` is left out"),
    Wrong("added", {"gX.load() * gW": "gX.load() + gW"}, "the factors are added"),
    Wrong("w's first vector", {"mW, (width,), (k,)": "mW, (width,), (0,)"},
          "the factors of the first one"),
    Wrong("one row", {"mX.shape[0], 1)": "1, 1)"}, "what is written is the first 1 of 2 rows"),
    Wrong("four elements in any type", {WIDTH: "width = 4"}, "Instructions executed, once for each warp: 15"),
    Wrong("one element a thread", {WIDTH: "width = 1"}, "with m = 4, n = 256, float16; the solution"),
    Wrong("blocks of 128 elements", {"mX.shape[1], 128 * width": "mX.shape[1], 128"},
          "Threads launched: 65,536"),
    Wrong("tensors multiplied", {"gX.load() * gW.load()": "gX * gW"}, "whole tensor"),
)  # fmt: skip
