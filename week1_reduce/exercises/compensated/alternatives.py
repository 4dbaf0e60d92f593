"""Other correct solutions to week1/compensated."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 64", {
        "bidx * 128 + tidx": "bidx * 64 + tidx",
        "(128, 1, 1)": "(64, 1, 1)",
        "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 64)",
    }),
    Wrong("the lost parts added at the end", {
        "mX[row, n] + lost": "mX[row, n]",
        "lost = value - (s - total)": "lost += value - (s - total)",
        "mY[row] = total": "mY[row] = total + lost",
    }),
    Wrong("the lost part of both summands", {
        "            lost = value - (s - total)\n":
            "            part = s - total\n"
            "            lost = (total - (s - part)) + (value - part)\n",
    }),
    Wrong("blocks of 1,024", {
        "bidx * 128 + tidx": "bidx * 1024 + tidx",
        "(128, 1, 1)": "(1024, 1, 1)",
        "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 1024)",
    }),
)  # fmt: skip
