"""Other correct solutions to week2/padded_backward."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles by hand", {
        "        dot = cute.arch.warp_reduction(dot, operator.add)\n":
            "        for offset in (16, 8, 4, 2, 1):\n"
            "            dot += cute.arch.shuffle_sync_bfly(dot, offset=offset)\n",
    }),
    Wrong("the padding in a loop of its own", {
        "        for n in range(lane, mY.shape[1], 32):\n            dx = Float32(0.0)\n"
        "            if n < length:\n"
        "                dx = (mdY[row, n].to(Float32) - dot) * mY[row, n].to(Float32)\n"
        "            mdX[row, n] = dx.to(mdX.element_type)\n":
            "        for n in range(lane, length, 32):\n"
            "            dx = (mdY[row, n].to(Float32) - dot) * mY[row, n].to(Float32)\n"
            "            mdX[row, n] = dx.to(mdX.element_type)\n"
            "        for n in range(length + lane, mY.shape[1], 32):\n"
            "            mdX[row, n] = mdX.element_type(0)\n",
    }),
)  # fmt: skip
