"""Other right solutions of week1/histogram."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("counted from the end", {"        byte = mX[row, n].to(Int32)": "        byte = mX[row, mX.shape[1] - 1 - n].to(Int32)"}),
)  # fmt: skip
