"""Other correct solutions to week1/few_columns."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("parts added from the last", {
        "        for k in range(1, deep):\n            total += sSum[tidx + k * N]\n":
            "        total = Float32(0.0)\n        for k in range(deep):\n"
            "            total += sSum[tidx + (deep - 1 - k) * N]\n",
    }),
    Wrong("a thread counts its elements through the block's rows", {
        "        for m in range(tidx // N, 256, deep):\n            if part * 256 + m < M:\n"
        "                total += mX[part * 256 + m, tidx % N].to(Float32)\n":
            "        last = cutlass.min(M - part * 256, 256) * N\n"
            "        for i in range(tidx, last, deep * N):\n"
            "            total += mX[part * 256 + i // N, i % N].to(Float32)\n",
    }),
)  # fmt: skip
