"""Other correct solutions to week1/few_columns."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("halves the rows, of any number", {
        "    if tidx < N:\n        for k in range(1, deep):\n            total += sSum[tidx + k * N]\n":
            "    while deep > 1:\n        half = (deep + 1) // 2\n        if tidx + half * N < deep * N:\n"
            "            total += sSum[tidx + half * N]\n            sSum[tidx] = total\n"
            "        cute.arch.sync_threads()\n        deep = half\n    if tidx < N:\n",
    }),
    Wrong("a warp per column adds the parts", {
        "    if tidx < N:\n        for k in range(1, deep):\n            total += sSum[tidx + k * N]\n"
        "        mY[part, tidx] = total.to(mY.element_type)\n":
            "    for column in range(tidx // 32, N, 8):\n        total = Float32(0.0)\n"
            "        for k in range(tidx % 32, deep, 32):\n            total += sSum[column + k * N]\n"
            "        for offset in (16, 8, 4, 2, 1):\n"
            "            total += cute.arch.shuffle_sync_bfly(total, offset=offset)\n"
            "        if tidx % 32 == 0:\n            mY[part, column] = total.to(mY.element_type)\n",
    }),
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
    Wrong("stages the strip in shared memory", {
        "cute.make_layout(256), 16)\n    deep = 256 // N  # rows that the block reads at a time, by deep * N threads\n": "cute.make_layout(256 * 32), 16)\n",
        "    total = Float32(0.0)\n    if tidx < deep * N:\n        for m in range(tidx // N, 256, deep):\n            if part * 256 + m < M:\n"
        "                total += mX[part * 256 + m, tidx % N].to(Float32)\n    sSum[tidx] = total\n":
            "    rows = cutlass.min(256, M - part * 256)\n    for k in range(tidx, rows * N, 256):\n"
            "        sSum[k] = mX[part * 256 + k // N, k % N].to(Float32)\n",
        "        for k in range(1, deep):\n            total += sSum[tidx + k * N]\n":
            "        total = Float32(0.0)\n        for k in range(rows):\n            total += sSum[tidx + k * N]\n",
    }),
)  # fmt: skip
