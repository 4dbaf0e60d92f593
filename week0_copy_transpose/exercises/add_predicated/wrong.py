"""Wrong solutions to week0/add_predicated."""

from forgekit.lessons.wrong import Wrong

_PREDICATE = "cute.elem_less(tXcX[(0, v), 0, 0], shape)"
_LOAD_X = "cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)"
_LOAD_Y = "cute.copy(tiled_copy, tXgY, tXrY, pred=tXpX)"
_STORE = "cute.copy(tiled_copy, tXrX, tXgZ, pred=tXpX)"
_SUM = "a * tXrX.load().to(Float32) + tXrY.load().to(Float32)"

WRONG = (
    Wrong(
        "computes in Float64",
        {"z = a * tXrX.load().to(Float32)": "z = a.to(cutlass.Float64) * tXrX.load()", " + tXrY.load().to(Float32)": " + tXrY.load().to(cutlass.Float64)"},
        "Float64 instructions per warp",
    ),
    Wrong("store without predicate", {_STORE: _STORE.replace(", pred=tXpX", "")},
          "the store has no predicate"),
    Wrong("no predicate at all", {c: c.replace(", pred=tXpX", "") for c in (_LOAD_X, _LOAD_Y, _STORE)},
          "this load has no predicate"),
    Wrong("columns alone", {_PREDICATE: "tXcX[(0, v), 0, 0][1] < shape[1]"},
          "lets rows beyond the last one through"),
    Wrong("one of the two", {_PREDICATE: "tXcX[(0, v), 0, 0][0] < shape[0] or tXcX[(0, v), 0, 0][1] < shape[1]"},
          "only where the row is less than the number of rows"),
    Wrong("the gap is stored too", {_PREDICATE: f"{_PREDICATE} or (tXcX[(0, v), 0, 0][0] + 1 < shape[0] and tXcX[(0, v), 0, 0][1] < shape[1] + 16)"},
          "elements between the rows of mZ"),
    Wrong("tensors, not values", {_SUM: "a * tXrX + tXrY"}, "read its values with `tXrX.load()`"),
    Wrong("half of it values", {_SUM: "a * tXrX.load() + tXrY"}, "its values with `tXrY.load()`"),
    Wrong("not converted back", {".to(gZ.element_type)": ""}, "value.to(tXrX.element_type)"),
    Wrong("tuples compared", {_PREDICATE: "tXcX[(0, v), 0, 0] < shape"},
          "`<` compares tuples from the left"),
    Wrong("predicates never filled",
          {f"    for v in cutlass.range_constexpr(4):\n        tXpX[v, 0, 0] = {_PREDICATE}\n": ""},
          "nothing is stored in `tXpX`"),
    Wrong("x never loaded", {f"    {_LOAD_X}\n": ""}, "no thread reads mX or mY"),
    Wrong("of another vector", {"tXcX[(0, v), 0, 0]": "tXcX[(0, 0), 0, 0]"},
          "must check the coordinate of vector"),
    Wrong("exchanged", {"0, 0], shape)": "0, 0], (shape[1], shape[0]))"}, "the sizes are swapped"),
    Wrong("threads with one number", {"stride=(32, 1)": "stride=(16, 1)"},
          "a different index for each thread"),
    Wrong("the other way round", {_PREDICATE: "cute.elem_less(shape, tXcX[(0, v), 0, 0])"},
          "each thread's `if` or loop skips them"),
    Wrong("one row too many",
          {_PREDICATE: "cute.elem_less(tXcX[(0, v), 0, 0], (shape[0] + 1, shape[1]))"},
          "lets the row after the last one through"),
    Wrong("a predicate for each element",
          {"(4, 1, 1), cutlass.Boolean": "tXcX.shape, cutlass.Boolean",
           "tXpX[v, 0, 0] =": "tXpX[(0, v), 0, 0] ="},
          "one predicate per vector"),
    Wrong("a doubled grid", {"grid = (rest_n,": "grid = (2 * rest_n,"},
          "Threads launched: 8,192 with 64×1024"),
    Wrong("a typed", {"z = a * ": "z = Float32(3.0) * "}, "a = 3.00098) is also wrong."),
    Wrong("a rounded to bfloat16", {"z = a * ": "z = a.to(cutlass.BFloat16).to(Float32) * "}, "worst relative difference"),
    Wrong("the product rounded to bfloat16", {f"z = {_SUM}": """p = a * tXrX.load().to(Float32)
    if cutlass.const_expr(gZ.element_type is cutlass.BFloat16):
        p = p.to(cutlass.BFloat16).to(Float32)
    z = p + tXrY.load().to(Float32)"""}, "bfloat16 (rows"),
    Wrong("columns alone, in a copy of four lines", {_PREDICATE: "tXcX[(0, v), 0, 0][1] < shape[1]",
          _LOAD_X: "cute.copy(\n        tiled_copy, tXgX, tXrX,\n        pred=tXpX,\n    )"},
          "the columns of this matrix fill the tiles"),
    Wrong("y as far apart as x", {"zipped_divide(mY, tiler_mn)": "zipped_divide(cute.make_tensor(mY.iterator, mX.layout), tiler_mn)"},
          "pattern: all mismatches are in row 1"),
    Wrong("z as far apart as x", {"zipped_divide(mZ, tiler_mn)": "zipped_divide(cute.make_tensor(mZ.iterator, mX.layout), tiler_mn)"},
          "elements of mZ"),
    Wrong("the magnitude of a", {"z = a * ": "z = cute.arch.fmax(a, -a) * "}, "a = -3.50122)"),
    Wrong("a in steps of 1/1,024", {"z = a * ": "z = Float32(cutlass.Int32(a * 1024.0)) / 1024.0 * "}, "a = -3.50122), the result is wrong"),
    Wrong("at most 65,504", {"    tXrX.store(": "    z = cute.where(z > 65504.0, cute.full_like(z, 65504.0), z)\n    tXrX.store("}, "got 65504, expected"),
    Wrong("0 for NaN", {"    tXrX.store(": "    z = cute.where(z == z, z, cute.full_like(z, 0.0))\n    tXrX.store("}, "NaN: 0 in actual, 2 in expected"),
    Wrong("no x where a is 0", {f"    z = {_SUM}\n": "    z = tXrY.load().to(Float32)\n    if a != 0.0:\n        z = a * tXrX.load().to(Float32) + z\n"},
          "a = 0), the result is wrong"),
    Wrong("bfloat16 stored element by element", {f"    {_STORE}": "    if cutlass.const_expr(gZ.element_type is cutlass.BFloat16):\n        for e in cutlass.range_constexpr(cute.size(tXcX)):\n"
          f"            if cute.elem_less(tXcX[e], shape):\n                tXgZ[e] = tXrX[e]\n    else:\n        {_STORE}"}, "with 37×200 bfloat16"),
    Wrong("a forgotten", {"z = a * ": "z = "}, "z is `x + y`, without `a`"),
    Wrong("y forgotten", {" + tXrY.load().to(Float32)": ""}, "z is `a * x`, without `y`"),
    Wrong(
        "rounded twice",
        {f"z = {_SUM}": "tXrX.store((a * tXrX.load().to(Float32)).to(gZ.element_type))\n"
         "    z = tXrX.load().to(Float32) + tXrY.load().to(Float32)"},
        "a product rounded to float16",
    ),
    Wrong(
        "element by element",
        {f"    {_LOAD_X}\n": "    for v in range(cute.size(tXcX)):\n"
         "        if cute.elem_less(tXcX[v], shape):\n            tXrX[v] = tXgX[v]\n"},
        "one by one",
    ),
    Wrong(
        "vectors of eight in each type",
        {"elem_less(tXcX[(0, v), 0, 0], shape)": "elem_less(tXcX[(0, v), 0, 0], (shape[0], shape[1] // 8 * 8))"},
        "all in the last 4 columns (256 to 259)",
    ),
    Wrong("vectors that begin with NaN", {
        "    cute.copy(tiled_copy, tXrX, tXgZ, pred=tXpX)\n": "    for v in cutlass.range_constexpr(4):\n        if z[v * 4] != z[v * 4]:\n            tXpX[v, 0, 0] = cutlass.Boolean(False)\n    cute.copy(tiled_copy, tXrX, tXgZ, pred=tXpX)\n",
    }, "mismatches are in 11 of 132 tiles"),
)  # fmt: skip
