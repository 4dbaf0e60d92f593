"""Other correct solutions to week0/convolve."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 512 threads", {"bidx * 128": "bidx * 512", "make_layout(128 + 31)": "make_layout(512 + 31)",
          "sX[128 + tidx] = mX[i + 128] if i + 128 < n": "sX[512 + tidx] = mX[i + 512] if i + 512 < n",
          "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 512)", "(128, 1, 1)": "(512, 1, 1)"}),
    Wrong("blocks of 64 threads", {"bidx * 128": "bidx * 64", "make_layout(128 + 31)": "make_layout(64 + 31)",
          "sX[128 + tidx] = mX[i + 128] if i + 128 < n": "sX[64 + tidx] = mX[i + 64] if i + 64 < n",
          "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 64)", "(128, 1, 1)": "(64, 1, 1)"}),
    Wrong("indices clamped, missing elements left out", {"mX[i] if i < n else cutlass.Float32(0)": "mX[min(i, n - 1)]",
          "mX[i + 128] if i + 128 < n else cutlass.Float32(0)": "mX[min(i + 128, n - 1)]",
          "        total += sW[k] * sX[tidx + k]\n": "        if i + k < n:\n            total += sW[k] * sX[tidx + k]\n"}),
    Wrong("blocks of 32 threads", {"bidx * 128": "bidx * 32", "make_layout(128 + 31)": "make_layout(32 + 31)",
          "sX[128 + tidx] = mX[i + 128] if i + 128 < n": "sX[32 + tidx] = mX[i + 32] if i + 32 < n",
          "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 32)", "(128, 1, 1)": "(32, 1, 1)"}),
)  # fmt: skip
