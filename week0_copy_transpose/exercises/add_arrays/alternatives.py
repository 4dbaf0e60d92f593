"""Other right solutions of week0/add_arrays."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {"bidx * 128": "bidx * 256", "mZ.shape[0], 128)": "mZ.shape[0], 256)", "(128, 1, 1)": "(256, 1, 1)"}),
)  # fmt: skip
