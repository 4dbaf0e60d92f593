"""Other right solutions of week0/lower_triangle."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of (32, 4)", {"bidy * 8": "bidy * 4", "mX.shape[0], 8)": "mX.shape[0], 4)", "(32, 8, 1)": "(32, 4, 1)"}),
)  # fmt: skip
