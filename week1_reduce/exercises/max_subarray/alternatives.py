"""Other correct solutions to week1/max_subarray."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("a butterfly from the smallest step", {
        "shuffle_sync_down(v, offset=1 << k)": "shuffle_sync_bfly(v, offset=1 << k)",
    }),
)  # fmt: skip
