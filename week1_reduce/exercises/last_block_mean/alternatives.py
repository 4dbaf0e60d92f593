"""Other correct solutions to week1/last_block_mean."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("one barrier more", {"    cute.arch.sync_threads()\n    if sTicket": "    cute.arch.sync_threads()\n    cute.arch.sync_threads()\n    if sTicket"}),
    Wrong("the counter releases and acquires", {
        "        cute.arch.fence_acq_rel_gpu()\n        sTicket[0] = cute.arch.atomic_add(mCount.iterator + row, Int32(1))\n"
        "        cute.arch.fence_acq_rel_gpu()\n":
            "        pointer = mCount.iterator + row\n"
            '        sTicket[0] = cute.arch.atomic_add(pointer, Int32(1), sem="acq_rel", scope="gpu")\n',
    }),
    Wrong("all threads fence, between barriers", {
        "    if tidx == 0:\n        mPart[row, piece] = total\n        cute.arch.fence_acq_rel_gpu()\n":
            "    if tidx == 32:\n        mPart[row, piece] = total\n    cute.arch.sync_threads()\n"
            "    cute.arch.fence_acq_rel_gpu()\n    if tidx == 0:\n",
        "        cute.arch.fence_acq_rel_gpu()\n    cute.arch.sync_threads()\n":
            "    cute.arch.sync_threads()\n    cute.arch.fence_acq_rel_gpu()\n",
    }),
    Wrong("one warp adds up the parts", {
        "        for k in range(tidx, pieces, 256):\n            total += mPart[row, k]\n        total = sum_of_256(total)\n":
            "        if tidx < 32:\n            for k in range(tidx, pieces, 32):\n                total += mPart[row, k]\n"
            "            total = cute.arch.warp_reduction(total, operator.add)\n",
    }),
    Wrong("shuffles by hand", {
        "    value = cute.arch.warp_reduction(value, operator.add)\n":
            "    for offset in (16, 8, 4, 2, 1):\n"
            "        value += cute.arch.shuffle_sync_bfly(value, offset=offset)\n",
    }),
)  # fmt: skip
