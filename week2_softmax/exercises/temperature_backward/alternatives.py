"""Other correct solutions to week2/temperature_backward."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("divided at the end", {
        "dx = (mdY[row, n] - dot) * mY[row, n] / t": "dz = (mdY[row, n] - dot) * mY[row, n]",
        "dt += dx * mX": "dt += dz * mX", "mdX[row, n] = dx": "mdX[row, n] = dz / t", "-dt / t": "-dt / (t * t)",
    }),
    Wrong("lanes count their elements", {
        "        for n in range(lane, mY.shape[1], 32):\n            dot":
            "        for j in range(cute.ceil_div(mY.shape[1] - lane, 32)):\n            n = lane + 32 * j\n            dot",
    }),
    Wrong("shuffles by hand", {
        "        dot = cute.arch.warp_reduction(dot, operator.add)\n":
            "        for offset in (16, 8, 4, 2, 1):\n"
            "            dot += cute.arch.shuffle_sync_bfly(dot, offset=offset)\n",
        "        dt = cute.arch.warp_reduction(dt, operator.add)\n":
            "        for offset in (16, 8, 4, 2, 1):\n"
            "            dt += cute.arch.shuffle_sync_bfly(dt, offset=offset)\n",
    }),
)  # fmt: skip
