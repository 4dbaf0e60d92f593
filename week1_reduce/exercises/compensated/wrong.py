"""Wrong solutions of week1/compensated."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("not added", {"mX[row, n] + lost": "mX[row, n]"}, "not kept, or not added"),
    Wrong(
        "wrong sign",
        {"lost = value - (s - total)": "lost = (s - total) - value"},
        "worst relative difference",
    ),
    Wrong("subtracted", {"mX[row, n] + lost": "mX[row, n] - lost"}, "first mismatches"),
    Wrong("sum replaced", {"s = total + value": "s = value"}, "the result is wrong"),
    Wrong("no predicate", {"if row < mX.shape[0]:": "if row >= 0:"}, "reads mX[2, 0]"),
    Wrong(
        "one column short", {"range(mX.shape[1])": "range(mX.shape[1] - 1)"}, "With m = 2, n = 3"
    ),
    Wrong("one block", {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"}, "With m = 300, n = 200"),
)
