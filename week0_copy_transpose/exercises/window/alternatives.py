"""Other correct solutions to week0/window."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of (32, 4)", {
        "by * 8 + ty": "by * 4 + ty",
        "ceil_div(mY.shape[0], 8)": "ceil_div(mY.shape[0], 4)",
        "block=(32, 8, 1)": "block=(32, 4, 1)",
    }),
    Wrong("blocks of 128 in one row", {
        "i, j = by * 8 + ty, bx * 32 + tx": "i, j = by, bx * 128 + tx",
        "(cute.ceil_div(mY.shape[1], 32), cute.ceil_div(mY.shape[0], 8), 1)":
            "(cute.ceil_div(mY.shape[1], 128), mY.shape[0], 1)",
        "block=(32, 8, 1)": "block=(128, 1, 1)",
    }),
    Wrong("blocks of 256 in one row", {
        "i, j = by * 8 + ty, bx * 32 + tx": "i, j = by, bx * 256 + tx",
        "(cute.ceil_div(mY.shape[1], 32), cute.ceil_div(mY.shape[0], 8), 1)":
            "(cute.ceil_div(mY.shape[1], 256), mY.shape[0], 1)",
        "block=(32, 8, 1)": "block=(256, 1, 1)",
    }),
    Wrong("blocks of 256 in one line", {
        "tx, ty, _ = cute.arch.thread_idx()":
            "tidx, _, _ = cute.arch.thread_idx()\n    tx, ty = tidx % 32, tidx // 32",
        "block=(32, 8, 1)": "block=(256, 1, 1)",
    }),
)  # fmt: skip
