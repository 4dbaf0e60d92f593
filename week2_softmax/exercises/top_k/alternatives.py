"""Other correct solutions to week2/top_k."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("the largest step first", {
        "v = [cute.arch.shuffle_sync_bfly(rV[k], offset=1 << step)":
            "v = [cute.arch.shuffle_sync_bfly(rV[k], offset=16 >> step)",
        "i = [cute.arch.shuffle_sync_bfly(rI[k], offset=1 << step)":
            "i = [cute.arch.shuffle_sync_bfly(rI[k], offset=16 >> step)",
    }),
)  # fmt: skip
