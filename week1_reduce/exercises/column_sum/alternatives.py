"""Other right solutions of week1/column_sum."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {"bidx * 128": "bidx * 256", "mX.shape[1], 128)": "mX.shape[1], 256)", "(128, 1, 1)": "(256, 1, 1)"}),
)  # fmt: skip
