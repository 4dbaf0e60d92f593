"""Other correct solutions to week1/groups_of_8."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "(128, 1, 1)": "(256, 1, 1)",
        "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 256)",
    }),
    Wrong("shuffles down", {
        "shuffle_sync_bfly(total, offset=4 >> k)": "shuffle_sync_down(total, offset=4 >> k)",
    }),
)  # fmt: skip
