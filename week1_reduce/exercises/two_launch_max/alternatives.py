"""Other correct solutions to week1/two_launch_max."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles by hand", {
        "    best = cute.arch.warp_reduction(best, cute.arch.fmax)\n":
            "    for offset in (16, 8, 4, 2, 1):\n"
            "        best = cute.arch.fmax(best, cute.arch.shuffle_sync_bfly(best, offset=offset))\n",
    }),
    Wrong("one warp merges", {
        "    best = max_of_block(best)\n    if tidx == 0:\n        mY[row] = best":
            "    best = cute.arch.warp_reduction(best, cute.arch.fmax)\n    if tidx == 0:\n"
            "        mY[row] = best",
        "range(tidx, mPart.shape[1], 256)": "range(tidx, mPart.shape[1], 32)",
        "grid=(rows, 1, 1), block=(256, 1, 1)": "grid=(rows, 1, 1), block=(32, 1, 1)",
    }),
    Wrong("1,024 threads merge", {
        "range(tidx, mPart.shape[1], 256)": "range(tidx, mPart.shape[1], 1024)",
        "grid=(rows, 1, 1), block=(256, 1, 1)": "grid=(rows, 1, 1), block=(1024, 1, 1)",
        "def max_of_block(best: Float32)": "def max_of_block(best: Float32, warps: cutlass.Constexpr = 8)",
        "make_layout(8)": "make_layout(warps)",
        "sMax[tidx % 8], cute.arch.fmax, threads_in_group=8)": "sMax[tidx % warps], cute.arch.fmax, threads_in_group=warps)",
        "    best = max_of_block(best)\n    if tidx == 0:\n        mY": "    best = max_of_block(best, 32)\n    if tidx == 0:\n        mY",
    }),
)  # fmt: skip
