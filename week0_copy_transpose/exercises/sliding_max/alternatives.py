"""Other correct solutions to week0/sliding_max."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 1,024 threads", {"bidx * 128": "bidx * 1024", "make_layout(128 + 3)": "make_layout(1024 + 3)",
          "sX[128 + tidx] = mX[i + 128] if i + 128 < n": "sX[1024 + tidx] = mX[i + 1024] if i + 1024 < n",
          "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 1024)", "(128, 1, 1)": "(1024, 1, 1)"}),
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "make_layout(128 + 3)": "make_layout(256 + 3)",
        "sX[128 + tidx] = mX[i + 128] if i + 128 < n":
            "sX[256 + tidx] = mX[i + 256] if i + 256 < n",
        "mX.shape[0], 128)": "mX.shape[0], 256)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
)  # fmt: skip
