"""Other correct solutions to week2/column_softmax."""

from forgekit.lessons.wrong import Wrong

ONLINE = """        for k in range(mX.shape[0]):
            x = mX[k, col].to(Float32)
            both = cute.arch.fmax(m, x)
            shift = Float32(0.0) if both == -Float32.inf else both
            s = s * cute.math.exp(m - shift, fastmath=True) + cute.math.exp(x - shift, fastmath=True)
            m = both
"""

ALTERNATIVES = (
    Wrong("online, in two loops", {"        for k in range(mX.shape[0]):\n            m = cute.arch.fmax(m, mX[k, col].to(Float32))\n"
          "        for k in range(mX.shape[0]):\n            s += cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)\n": ONLINE}),
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "(128, 1, 1)": "(256, 1, 1)",
        "ceil_div(mX.shape[1], 128)": "ceil_div(mX.shape[1], 256)",
    }),
)  # fmt: skip
