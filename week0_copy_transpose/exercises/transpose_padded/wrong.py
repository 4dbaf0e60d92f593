"""Wrong solutions to week0/transpose_padded."""

from forgekit.lessons.wrong import Wrong

_LAYOUT = "cute.make_layout((32, 64), stride=(64 + elements_a_word, 1))"
_STORE = "mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]"
_PREDICATE = "if col0 + ty + k < N and row0 + tx < M:"
_LOADED = "if row0 + ty + k < M and col0 + tx + c < N:"
_ROUNDS = "    for k in cutlass.range_constexpr(0, 64, 8):\n"

WRONG = (
    Wrong("no padding", {_LAYOUT: "cute.make_layout((32, 64), stride=(64, 1))"}, "all 32 lanes"),
    Wrong(
        "padded by two words",
        {"64 + elements_a_word": "64 + 2 * elements_a_word"},
        "a common factor",
    ),
    Wrong("padded by one element", {"64 + elements_a_word": "65"}, "In a 16-bit type that is half"),
    Wrong("rows of the tile read", {"= sX[tx, ty + k]": "= sX[ty + k, tx]"},
          "reads outside the tile"),
    Wrong(
        "a layout chosen at run time",
        {
            "    layout_s = " + _LAYOUT: (
                "    if mX.element_type.width == 32:\n"
                "        layout_s = cute.make_layout((32, 64), stride=(65, 1))\n"
                "    else:\n"
                "        layout_s = cute.make_layout((32, 64), stride=(66, 1))"
            )
        },
        "the compiler knows the width",
    ),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "a thread may load before others have stored"),
    Wrong("half of the rows", {_ROUNDS: _ROUNDS.replace("64", "32")}, "writes only 32 of the 64 rows"),
    Wrong(
        "strided writes, no conflict",
        {
            _ROUNDS: "    for k in cutlass.range_constexpr(0, 64, 8):\n"
            "        r, c = ty + k % 32, tx + k // 32 * 32\n",
            _PREDICATE: "if row0 + r < M and col0 + c < N:",
            _STORE: "mY[col0 + c, row0 + r] = sX[r, c]",
        },
        "now the store is strided",
    ),
    Wrong(
        "no shared memory",
        {
            _LOADED: "if row0 + ty + k < M and col0 + tx + c < N and row0 < 0:",
            _STORE: "mY[col0 + ty + k, row0 + tx] = mX[row0 + tx, col0 + ty + k]",
        },
        "uses no shared memory",
    ),
    Wrong(
        "a tile that no thread reads",
        {_STORE: "mY[col0 + ty + k, row0 + tx] = mX[row0 + tx, col0 + ty + k]"},
        "reads nothing from shared memory",
    ),
    Wrong(
        "half a warp after the other",
        {
            "        " + _PREDICATE + "\n            " + _STORE: (
                "        for half in cutlass.range_constexpr(2):\n"
                "            if tx // 16 == half and col0 + ty + k < N and row0 + tx < M:\n"
                "                " + _STORE
            ),
            "64 + elements_a_word": "64 + 2 * elements_a_word",
        },
        "the lanes of a warp take turns",
    ),
    Wrong("a pitch of 1,024", {"stride=(64 + elements_a_word, 1)": "stride=(1024 + elements_a_word, 1)"}, "one block occupies is unavailable"),
    Wrong("everything twice", {", 32), 1)": ", 32), 2)"}, "makes more than one store of shared memory"),
    Wrong("66 for Float16 alone", {"64 + elements_a_word": "66 if mX.element_type == cutlass.Float16 else 65"},
          "96×128 bfloat16"),
    Wrong("65 for Float32 alone", {"64 + elements_a_word": "65 if mX.element_type == cutlass.Float32 else 66"},
          "96×128 int32"),
    Wrong("a tile of float32 for all types", {"smem.allocate_tensor(mX.element_type,": "smem.allocate_tensor(cutlass.Float32,", "64 + elements_a_word": "65",
          "tx + c] = mX[row0 + ty + k, col0 + tx + c]": "tx + c] = mX[row0 + ty + k, col0 + tx + c].to(cutlass.Float32)",
          "sX[tx, ty + k]": "sX[tx, ty + k].to(mX.element_type)"}, "With 96×128 int32, the result"),
    Wrong("a swizzle for 32 bits", {
        "    layout_s = " + _LAYOUT: "    layout_s = cute.make_composed_layout(\n"
        "        cute.make_swizzle(5, 0, 6), 0, cute.make_layout((32, 64), stride=(64, 1)))",
        }, "several lanes need the same bank Next:"),
    Wrong("the last columns straight from x", {"= sX[tx, ty + k]": "= mX[row0 + tx, col0 + ty + k] if col0 + 64 > N else sX[tx, ty + k]"},
          "with 95×120 float32; the limit is"),
    Wrong("32 × 4 threads", {
        "range_constexpr(0, 32, 8)": "range_constexpr(0, 32, 4)",
        "range_constexpr(0, 64, 8)": "range_constexpr(0, 64, 4)",
        "block=(32, 8, 1)": "block=(32, 4, 1)",
    }, "Threads per block: 128"),
    Wrong("a pitch of 320 and a word", {"64 + elements_a_word": "320 + elements_a_word"}, "with 480×640 float32"),
    Wrong("strided stores of 16 bits", {
        _ROUNDS: "    for k in cutlass.range_constexpr(0, 64, 8):\n        r, c = ty + k % 32, tx + k // 32 * 32\n"
        "        if cutlass.const_expr(elements_a_word == 1):\n            r, c = tx, ty + k\n",
        _PREDICATE: "if row0 + r < M and col0 + c < N:",
        _STORE: "mY[col0 + c, row0 + r] = sX[r, c]",
    }, "with 95×120 float16"),
    Wrong("half a warp of 16 bits after the other", {
        "64 + elements_a_word": "65 if elements_a_word == 1 else 68",
        "        " + _PREDICATE + "\n            " + _STORE: (
            "        for half in cutlass.range_constexpr(elements_a_word):\n"
            "            mine = tx // 16 == half or elements_a_word == 1\n"
            "            if mine and col0 + ty + k < N and row0 + tx < M:\n"
            "                " + _STORE
        ),
    }, "Wavefronts of shared loads: 768"),
)  # fmt: skip
