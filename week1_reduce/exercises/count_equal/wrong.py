"""Wrong solutions of week1/count_equal."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("not equal", {"mX[row, n] == v": "mX[row, n] != v"}, "*not* equal to v"),
    Wrong("zeros", {"mX[row, n] == v": "mX[row, n] == 0"}, "the zeros, not v"),
    Wrong(
        "adds the elements",
        {
            "                found += 1": "                found += 0\n            found += mX[row, n]"
        },
        "added up, not counted",
    ),
    Wrong(
        "one step of the butterfly less",
        {"range_constexpr(5)": "range_constexpr(4)"},
        "With m = 5, n = 31",
    ),
    Wrong(
        "one step more",
        {"range_constexpr(5)": "range_constexpr(6)"},
        "5 of 5 elements differ",
    ),
    Wrong(
        "first 32 only",
        {"for n in range(lane, mX.shape[1], 32):": "for n in range(lane, mX.shape[1], 1 << 20):"},
        "only the first 32 elements",
    ),
    Wrong(
        "no predicate at the store",
        {"if row < mX.shape[0] and lane == 0:": "if lane == 0:"},
        "writes mY",
    ),
    Wrong(
        "no predicate at the load",
        {"    if row < mX.shape[0]:\n        for": "    if row >= 0:\n        for"},
        " reads mX[",
    ),
    Wrong("every lane stores", {" and lane == 0:": ":"}, "elements are stored more than once"),
    Wrong(
        "rows rounded down",
        {"cute.ceil_div(mX.shape[0], 4)": "mX.shape[0] // 4"},
        "cute.ceil_div for the grid",
    ),
    Wrong(
        "a block a row",
        {"blocks = cute.ceil_div(mX.shape[0], 4)": "blocks = mX.shape[0]"},
        "Threads launched: 25,984",
    ),
)
