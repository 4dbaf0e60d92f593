"""Wrong solutions of week1/compensated."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("not added", {"mX[row, n] + lost": "mX[row, n]"}, "not kept, or not added"),
    Wrong(
        "wrong sign",
        {"lost = value - (s - total)": "lost = (s - total) - value"},
        "worst relative difference",
    ),
    Wrong("one block", {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"}, "fewer threads than elements"),
    Wrong(
        "begins at 0.001",
        {"total, lost = Float32(0.0)": "total, lost = Float32(0.001)"},
        "With m = 2, n = 3",
    ),
)
