"""Other correct solutions to week2/column_softmax."""

from forgekit.lessons.wrong import Wrong

ONLINE = """        for k in range(mX.shape[0]):
            x = mX[k, col].to(Float32)
            both = cute.arch.fmax(m, x)
            shift = Float32(0.0) if both == -Float32.inf else both
            s = s * cute.math.exp(m - shift, fastmath=True) + cute.math.exp(x - shift, fastmath=True)
            m = both
"""

BRANCHES = """        for k in range(mX.shape[0]):
            x = mX[k, col].to(Float32)
            if x > m:
                s = s * cute.math.exp(m - x) + 1.0
                m = x
            elif x > -Float32.inf:
                s += cute.math.exp(x - m)
"""

ALTERNATIVES = (
    Wrong("online, in two loops", {"        for k in range(mX.shape[0]):\n            m = cute.arch.fmax(m, mX[k, col].to(Float32))\n"
          "        for k in range(mX.shape[0]):\n            s += cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)\n": ONLINE}),
    Wrong("online, with branches, blocks of 32", {"        for k in range(mX.shape[0]):\n            m = cute.arch.fmax(m, mX[k, col].to(Float32))\n"
          "        for k in range(mX.shape[0]):\n            s += cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)\n": BRANCHES, "bidx * 128": "bidx * 32", "mX.shape[1], 128": "mX.shape[1], 32", "(128, 1, 1)": "(32, 1, 1)"}),
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "(128, 1, 1)": "(256, 1, 1)",
        "ceil_div(mX.shape[1], 128)": "ceil_div(mX.shape[1], 256)",
    }),
)  # fmt: skip
