"""Other correct solutions to week0/three_sums."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("neighbours by shuffles, the edges of warps from shared memory", {
        "    if tidx > 0:\n        total += sRow[tidx - 1]\n    if tidx < 127:\n"
        "        total += sRow[tidx + 1]\n":
            "    value = total\n    left = cute.arch.shuffle_sync_up(value, offset=1)\n"
            "    right = cute.arch.shuffle_sync_down(value, offset=1)\n    if tidx > 0:\n"
            "        if tidx % 32 == 0:\n            left = sRow[tidx - 1]\n        total += left\n"
            "    if tidx < 127:\n        if tidx % 32 == 31:\n            right = sRow[tidx + 1]\n"
            "        total += right\n",
    }),
    Wrong("0 beside the row", {
        "    if tidx > 0:\n        total += sRow[tidx - 1]\n    if tidx < 127:\n"
        "        total += sRow[tidx + 1]\n":
            "    left, right = Float32(0.0), Float32(0.0)\n    if tidx > 0:\n"
            "        left = sRow[tidx - 1]\n    if tidx < 127:\n        right = sRow[tidx + 1]\n"
            "    total = left + total + right\n",
    }),
)  # fmt: skip
