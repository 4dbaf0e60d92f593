"""Other correct solutions to week0/lower_triangle."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of (32, 4)", {"bidy * 8": "bidy * 4", "mX.shape[0], 8)": "mX.shape[0], 4)", "(32, 8, 1)": "(32, 4, 1)"}),
    Wrong("blocks of 256 in one line", {
        "tidx, tidy, _ = cute.arch.thread_idx()":
            "t, _, _ = cute.arch.thread_idx()\n    tidx, tidy = t % 32, t // 32",
        "block=(32, 8, 1)": "block=(256, 1, 1)",
    }),
    Wrong("a block for 128 elements of a row", {"row, col = bidy * 8 + tidy, bidx * 32 + tidx": "row, col = bidx, bidy * 128 + tidx",
          "cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 8)": "mX.shape[0], cute.ceil_div(mX.shape[1], 128)",
          "block=(32, 8, 1)": "block=(128, 1, 1)"}),
)  # fmt: skip
