"""Wrong solutions to week1/row_prefix."""

from forgekit.lessons.wrong import Wrong

CARRY = "        carry = cute.arch.shuffle_sync(value, 31)"

WRONG = (
    Wrong("nothing carried", {CARRY: "        carry = Float32(0.0)"}, "no sum is carried over"),
    Wrong(
        "carry added up",
        {CARRY: "        carry += cute.arch.shuffle_sync(value, 31)"},
        "With m = 1, n = 65",
    ),
    Wrong(
        "exclusive",
        {"            mY[row, n] = value": "            mY[row, n] = value - mX[row, n]"},
        "*exclusive* prefix sum",
    ),
    Wrong(
        "a block too many", {"cute.ceil_div(mX.shape[0], 4)": "mX.shape[0] // 4 + 1"}, "Blocks: 25"
    ),
    Wrong(
        "pieces of 16",
        {
            "ceil_div(mX.shape[1], 32)": "ceil_div(mX.shape[1], 16)",
            "n = piece * 32 + lane": "n = piece * 16 + lane if lane < 16 else mX.shape[1]",
            "shuffle_sync(value, 31)": "shuffle_sync(value, 15)",
        },
        "16 of a warp's 32 lanes",
    ),
    Wrong(
        "adds in float16",
        {"value += left": "value = (value + left).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong",
    ),
)
