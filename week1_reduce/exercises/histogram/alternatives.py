"""Other correct solutions to week1/histogram."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("counted from the end", {"        byte = mX[row, n].to(Int32)": "        byte = mX[row, mX.shape[1] - 1 - n].to(Int32)"}),
    Wrong("two bytes per turn", {
        "    for n in range(tidx, mX.shape[1], 256):\n        byte = mX[row, n].to(Int32)\n"
        "        cute.arch.atomic_add(sH.iterator + byte, Int32(1))\n":
            "    for n in range(tidx, mX.shape[1], 512):\n        byte = mX[row, n].to(Int32)\n"
            "        cute.arch.atomic_add(sH.iterator + byte, Int32(1))\n"
            "        if n + 256 < mX.shape[1]:\n            byte = mX[row, n + 256].to(Int32)\n"
            "            cute.arch.atomic_add(sH.iterator + byte, Int32(1))\n",
    }),
)  # fmt: skip
