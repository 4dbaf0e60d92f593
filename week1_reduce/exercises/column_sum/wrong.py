"""Wrong solutions to week1/column_sum."""

from forgekit.lessons.wrong import Wrong

ADD = "total += mX[m, col].to(Float32)"

WRONG = (
    Wrong("does not begin at 0", {"Float32(0.0)": "Float32(1.0)"}, "1 more than the sum"),
    Wrong(
        "a block too many",
        {"cute.ceil_div(mX.shape[1], 128)": "mX.shape[1] // 128 + 1"},
        "Blocks: 13",
    ),
    Wrong("replaces", {ADD: "total = mX[m, col].to(Float32)"}, "only the last row"),
    Wrong(
        "first row left out",
        {"range(mX.shape[0])": "range(1, mX.shape[0])"},
        "the first row is missing",
    ),
    Wrong("first row alone", {"range(mX.shape[0])": "range(1)"}, "only the first row"),
    Wrong("a row for a column", {"mX[m, col]": "mX[col, m]"}, "Out of bounds"),
    Wrong(
        "the type of the tensor",
        {"Float32(0.0)": "mX.element_type(0.0)", ADD: "total += mX[m, col]"},
        "float16, the result is wrong",
    ),
    Wrong(
        "a fixed grid",
        {"grid=(blocks, 1, 1)": "grid=(500, 1, 1)"},
        "The launch has only 64,000",
    ),
    Wrong(
        "one block",
        {
            "    if col < mX.shape[1]:\n": "    for col in range(col, mX.shape[1], 128):\n",
            "grid=(blocks, 1, 1)": "grid=(1, 1, 1)",
        },
        "asks for one thread per column: 12 blocks for",
    ),
    Wrong(
        "added in the type of x",
        {
            "total = Float32(0.0)": "total = mX.element_type(0.0)",
            ADD: "total = (total + mX[m, col]).to(mX.element_type)",
        },
        "add in float32",
    ),
    Wrong(
        "half of the threads, two columns each",
        {
            "    col = bidx * 128 + tidx\n    if col < mX.shape[1]:\n": "    for col in range(bidx * 128 + tidx, cute.size(mY), 64):\n      if tidx < 64 and col < bidx * 128 + 128:\n"
        },
        "1,024 shares, but the kernel loads it with 512 threads, in",
    ),
)
