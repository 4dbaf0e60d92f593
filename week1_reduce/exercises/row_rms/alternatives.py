"""Other correct solutions to week1/row_rms."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles, then four words", {
        "    sSum[tidx] = total\n    for k in cutlass.range_constexpr(7):\n"
        "        cute.arch.sync_threads()\n        half = 64 >> k\n        if tidx < half:\n"
        "            sSum[tidx] += sSum[tidx + half]\n    if tidx == 0:\n        mean = sSum[0]":
            "    for k in cutlass.range_constexpr(5):\n"
            "        total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n"
            "    if tidx % 32 == 0:\n        sSum[tidx // 32] = total\n"
            "    cute.arch.sync_threads()\n    if tidx == 0:\n"
            "        total = sSum[0] + sSum[1] + sSum[2] + sSum[3]\n        mean = total",
    }),
    Wrong("the last five rounds by shuffles", {
        "range_constexpr(7)": "range_constexpr(2)",
        "    if tidx == 0:\n        mean = sSum[0]":
            "    cute.arch.sync_threads()\n    total = sSum[tidx % 32]\n"
            "    for k in cutlass.range_constexpr(5):\n"
            "        total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n"
            "    if tidx == 0:\n        mean = total",
    }),
)  # fmt: skip
