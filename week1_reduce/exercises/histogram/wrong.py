"""Wrong solutions to week1/histogram."""

from forgekit.lessons.wrong import Wrong

ZERO = "    sH[tidx] = Int32(0)\n    cute.arch.sync_threads()\n"

WRONG = (
    Wrong("not zeroed", {ZERO: ""}, "Uninitialised shared memory"),
    Wrong(
        "no barrier after the zeros",
        {ZERO: "    sH[tidx] = Int32(0)\n"},
        "updates shared memory, byte 148",
    ),
    Wrong(
        "no atomic",
        {"cute.arch.atomic_add(sH.iterator + byte, Int32(1))": "sH[byte] = sH[byte] + 1"},
        "sH[byte] = sH[byte] + 1",
    ),
    Wrong(
        "first 256 only",
        {"for n in range(tidx, mX.shape[1], 256):": "for n in range(tidx, mX.shape[1], 1 << 20):"},
        "only the first 256 elements",
    ),
    Wrong("every 257th byte", {"mX.shape[1], 256)": "mX.shape[1], 257)"}, "elements differ"),
    Wrong(
        "counts twice",
        {"Int32(1))": "Int32(2))"},
        "every byte is counted twice",
    ),
    Wrong(
        "counts of 8 bits",
        {"mH[row, tidx] = sH[tidx]": "mH[row, tidx] = sH[tidx] & 255"},
        "1 of 256 elements differs",
    ),
    Wrong(
        "counters in global memory",
        {
            "sH.iterator + byte": "mH.iterator + row * 256 + byte",
            "    sH[tidx] = Int32(0)": "    mH[row, tidx] = Int32(0)",
            "    mH[row, tidx] = sH[tidx]": "    pass",
        },
        "no atomics on global memory",
    ),
    Wrong(
        "counts in 16 bits",
        {"mH[row, tidx] = sH[tidx]": "mH[row, tidx] = sH[tidx] & 65_535"},
        "got 0, expected 65536",
    ),
    Wrong(
        "stored after each 4,096 bytes",
        {
            "    for n in range(tidx, mX.shape[1], 256):\n        byte = mX[row, n].to(Int32)\n"
            "        cute.arch.atomic_add(sH.iterator + byte, Int32(1))\n": (
                "    for begin in range(0, mX.shape[1], 4096):\n"
                "        for n in range(begin + tidx, cutlass.min(mX.shape[1], begin + 4096), 256):\n"
                "            cute.arch.atomic_add(sH.iterator + mX[row, n].to(Int32), Int32(1))\n"
                "        cute.arch.sync_threads()\n        mH[row, tidx] = sH[tidx]\n"
                "        cute.arch.sync_threads()\n"
            ),
            "    cute.arch.sync_threads()\n    mH[row, tidx] = sH[tidx]": "",
        },
        "elements are stored more than once",
    ),
    Wrong(
        "thread 0 counts alone",
        {"range(tidx, mX.shape[1], 256)": "range(0 if tidx == 0 else mX.shape[1], mX.shape[1])"},
        "0 of 5 groups passed [!] Nothing wasted Percentage of idle lanes",
    ),
    Wrong(
        "at most 1,024 blocks",
        {
            "    row, _, _ = cute.arch.block_idx()\n": "    bidx, _, _ = cute.arch.block_idx()\n",
            "    sH[tidx] = Int32(0)\n    cute.arch.sync_threads()\n    for n in range(tidx, mX.shape[1], 256):\n        byte = mX[row, n].to(Int32)\n        cute.arch.atomic_add(sH.iterator + byte, Int32(1))\n    cute.arch.sync_threads()\n    mH[row, tidx] = sH[tidx]\n": "    for row in range(bidx, mX.shape[0], 1024):\n        sH[tidx] = Int32(0)\n        cute.arch.sync_threads()\n        for n in range(tidx, mX.shape[1], 256):\n            byte = mX[row, n].to(Int32)\n            cute.arch.atomic_add(sH.iterator + byte, Int32(1))\n        cute.arch.sync_threads()\n        mH[row, tidx] = sH[tidx]\n",
            "grid=(mX.shape[0], 1, 1)": "grid=(cutlass.min(mX.shape[0], 1024), 1, 1)",
        },
        "Blocks: 1,024 with m = 1,500",
    ),
)
