"""Wrong solutions of week0/add_predicated."""

from forgekit.lessons.wrong import Wrong

_PREDICATE = "cute.elem_less(tXcX[(0, v), 0, 0], shape)"
_LOAD_X = "cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)"
_LOAD_Y = "cute.copy(tiled_copy, tXgY, tXrY, pred=tXpX)"
_STORE = "cute.copy(tiled_copy, tXrX, tXgZ, pred=tXpX)"
_SUM = "a * tXrX.load().to(Float32) + tXrY.load().to(Float32)"

WRONG = (
    Wrong("store without predicate", {_STORE: _STORE.replace(", pred=tXpX", "")},
          "the store has no predicate"),
    Wrong("load without predicate", {_LOAD_Y: _LOAD_Y.replace(", pred=tXpX", "")},
          "this load has no predicate"),
    Wrong("columns alone", {_PREDICATE: "tXcX[(0, v), 0, 0][1] < shape[1]"},
          "not look at the row"),
    Wrong("rows alone", {_PREDICATE: "tXcX[(0, v), 0, 0][0] < shape[0]"}, "not look at the column"),
    Wrong("a forgotten", {"z = a * ": "z = "}, "`a` is left out"),
    Wrong("y forgotten", {" + tXrY.load().to(Float32)": ""}, "`y` is not added"),
    Wrong(
        "rounded twice",
        {f"z = {_SUM}": "tXrX.store((a * tXrX.load().to(Float32)).to(gZ.element_type))\n"
         "    z = tXrX.load().to(Float32) + tXrY.load().to(Float32)"},
        "rounded to float16",
    ),
    Wrong(
        "element by element",
        {f"    {_LOAD_X}\n": "    for v in range(cute.size(tXcX)):\n"
         "        if cute.elem_less(tXcX[v], shape):\n            tXrX[v] = tXgX[v]\n"},
        "one by one",
    ),
)  # fmt: skip
