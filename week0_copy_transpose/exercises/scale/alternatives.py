"""Other correct solutions to week0/scale."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("by additions", {
        "3.0 * mX[i] + 1.0": "mX[i] + mX[i] + mX[i] + 1",
    }),
    Wrong("blocks of 64", {
        "bidx * 128": "bidx * 64",
        "mX.shape[0], 128": "mX.shape[0], 64",
        "(128, 1, 1)": "(64, 1, 1)",
    }),
    Wrong("an early predicate", {
        "    if i < mX.shape[0]:": "    n = cute.size(mX)\n    if n > i:",
    }),
)  # fmt: skip
