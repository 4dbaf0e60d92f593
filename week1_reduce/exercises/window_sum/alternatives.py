"""Other correct solutions to week1/window_sum."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("tile and halo in one loop", {
        "    if i < mX.shape[0]:\n        sX[tidx] = mX[i]\n"
        "    if tidx < 7 and i + 128 < mX.shape[0]:\n        sX[tidx + 128] = mX[i + 128]\n":
            "    for k in range(tidx, 135, 128):\n        if bidx * 128 + k < mX.shape[0]:\n"
            "            sX[k] = mX[bidx * 128 + k]\n",
    }),
    Wrong("sums of pairs, of fours, of eight", {
        "        total = Float32(0.0)\n        for k in cutlass.range_constexpr(8):\n"
        "            total += sX[tidx + k]\n        mY[i] = total":
            "        v = [sX[tidx + k] for k in range(8)]\n"
            "        mY[i] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]))",
    }),
)  # fmt: skip
