"""Other correct solutions to week2/online_columns."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a maximum of the eight, then a sum", {
        "    m, s = -Float32.inf, Float32(0.0)\n    for k in cutlass.range_constexpr(8):\n"
        "        m, s = of_both((m, s), (sMax[k, lane], sSum[k, lane]))\n":
            "    m = -Float32.inf\n    for k in cutlass.range_constexpr(8):\n"
            "        m = cute.arch.fmax(m, sMax[k, lane])\n"
            "    shift, s = Float32(0.0) if m == -Float32.inf else m, Float32(0.0)\n"
            "    for k in cutlass.range_constexpr(8):\n"
            "        s += sSum[k, lane] * cute.math.exp(sMax[k, lane] - shift, fastmath=True)\n",
    }),
    Wrong("rescales where the maximum grows", {
        "            m, s = of_both((m, s), (mX[k, col].to(Float32), Float32(1.0)))\n":
            "            value = mX[k, col].to(Float32)\n            if value > m:\n"
            "                s = s * cute.math.exp(m - value, fastmath=True) + 1.0\n"
            "                m = value\n            elif value > -Float32.inf:\n"
            "                s += cute.math.exp(value - m, fastmath=True)\n",
    }),
    Wrong("neighbouring rows for each warp", {
        "        for k in range(warp, mX.shape[0], 8):\n            m, s": "        part = cute.ceil_div(mX.shape[0], 8)\n        for k in range(warp * part, min((warp + 1) * part, mX.shape[0])):\n            m, s",
        "        for k in range(warp, mX.shape[0], 8):\n            e": "        part = cute.ceil_div(mX.shape[0], 8)\n        for k in range(warp * part, min((warp + 1) * part, mX.shape[0])):\n            e",
    }),
)  # fmt: skip
