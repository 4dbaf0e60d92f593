"""Wrong solutions to week1/row_energy."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("another block size", {"(4, 8)": "(4, 1)", "range_constexpr(8)": "range_constexpr(1)",
                                 "vectors, 256": "vectors, 32", "tile * 256": "tile * 32",
                                 "bidx * 4 + tidx": "bidx * 8 + tidx", "shape[0], 4)": "shape[0], 8)",
                                 "block=(128, 1, 1)": "block=(256, 1, 1)"},
          "The size of a block changes neither"),
    Wrong("two vectors", {"(4, 8)": "(4, 2)", "range_constexpr(8)": "range_constexpr(2)",
                          "vectors, 256": "vectors, 64", "tile * 256": "tile * 64"},
          "waiting still bounds it"),
    Wrong("the tail left out", {"cute.ceil_div(vectors, 256)": "vectors // 256"},
          "after the last full tile of 1,024"),
    Wrong("half of the tiles", {"cute.ceil_div(vectors, 256)": "cute.ceil_div(vectors, 512)"},
          "With 1×3,080 the result is wrong"),
    Wrong("the last vector left out", {"                if i < vectors": "                if i + 1 < vectors"}, "1×3,080 the result is wrong. WRONG mY: 1 of 1 element differs"),
    Wrong("the copy is dropped", {"cute.autovec_copy(gX[(None, i)], rX[None, k])": "pass"}, "no thread reads mX"),
    Wrong("not squared", {"(rX.load() * rX.load())": "rX.load()"}, "adds the elements, not their squares"),
    Wrong("lane 0 alone", {"        total = cute.arch.warp_reduction(total, operator.add)\n": ""},
          "the sums of the other 31 lanes are missing"),
)  # fmt: skip
