"""Wrong solutions of week1/prefix_any."""

from forgekit.lessons.wrong import Wrong

CARRY = "        carry = cute.arch.shuffle_sync(value, 31)"

WRONG = (
    Wrong("nothing carried", {CARRY: "        carry = Float32(0.0)"}, "nothing is carried over"),
    Wrong("own value carried", {CARRY: "        carry = value"}, "With m = 3, n = 33"),
    Wrong(
        "carry of lane 0",
        {"cute.arch.shuffle_sync(value, 31)": "cute.arch.shuffle_sync(value, 0)"},
        "pattern: all mismatches lie in column 32",
    ),
    Wrong(
        "carry added up",
        {CARRY: "        carry += cute.arch.shuffle_sync(value, 31)"},
        "With m = 5, n = 1,000",
    ),
    Wrong(
        "no predicate at the load",
        {
            "        if row < mX.shape[0] and n < mX.shape[1]:\n            value = mX[row, n]": "        value = mX[row, n]"
        },
        " reads mX[",
    ),
    Wrong(
        "no predicate at the store",
        {
            "        if row < mX.shape[0] and n < mX.shape[1]:\n            mY[row, n] = value": "        mY[row, n] = value"
        },
        "writes mY",
    ),
    Wrong(
        "exclusive",
        {"            mY[row, n] = value": "            mY[row, n] = value - mX[row, n]"},
        "*exclusive* prefix sum",
    ),
    Wrong(
        "pieces rounded down",
        {"cute.ceil_div(mX.shape[1], 32)": "mX.shape[1] // 32"},
        "nothing is stored",
    ),
    Wrong(
        "four steps", {"range_constexpr(5)": "range_constexpr(4)"}, "the last 17 columns (16 to 32)"
    ),
)
