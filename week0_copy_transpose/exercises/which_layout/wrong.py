"""Wrong answers to week0/which_layout; `test_layout_mistakes.py` has all misconceptions."""

from forgekit.lessons.wrong import Wrong

B = "((4, 16), (1, 8))"
WRONG = (
    Wrong("no gap", {"(8, 1)": "(6, 1)"}, "Where does row 1 begin?"),
    Wrong("no gap between columns", {"(8, 1)": "(1, 4)"}, "Where does column 1 begin?"),
    Wrong("rows for columns", {"(4, 6), (8, 1)": "(6, 4), (1, 8)"}, "mode 0 goes down"),
    Wrong("too small", {"(4, 6)": "(4, 5)"}, "modes have the sizes 4 and 5"),
    Wrong("within mode 0", {B: "((16, 4), (1, 8))"}, "Within mode 0 the strides are swapped"),
    Wrong("flat", {"((2, 2), (4, 2))": "(2, 2, 4, 2)", B: "(4, 16, 1, 8)"},
          "Your layout has 4 modes"),
    Wrong("a number", {"((4, 6), (8, 1))": "24"}, "Expected (shape, stride), got 24"),
    Wrong("close", {B: "((4, 16), (1, 9))"}, "At (0,4) your layout gives 9"),
)  # fmt: skip
