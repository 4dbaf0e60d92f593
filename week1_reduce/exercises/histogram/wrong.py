"""Wrong solutions of week1/histogram."""

from forgekit.lessons.wrong import Wrong

ZERO = "    sH[tidx] = Int32(0)\n    cute.arch.sync_threads()\n"
LAST = "    cute.arch.sync_threads()\n    mH[row, tidx] = sH[tidx]"

WRONG = (
    Wrong("not zeroed", {ZERO: ""}, "Uninitialised shared memory"),
    Wrong(
        "no barrier after the zeros",
        {ZERO: "    sH[tidx] = Int32(0)\n"},
        "updates shared memory, byte 148",
    ),
    Wrong(
        "no barrier before the stores",
        {LAST: "    mH[row, tidx] = sH[tidx]"},
        "mH[row, tidx] = sH[tidx] (×",
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
    Wrong(
        "atomics on global memory",
        {
            "cute.arch.atomic_add(sH.iterator + byte, Int32(1))": "cute.arch.atomic_add(mH.iterator + row * 256 + byte, Int32(1))"
        },
        "result is wrong",
    ),
    Wrong(
        "counts twice",
        {"Int32(1))": "Int32(2))"},
        "every byte is counted twice",
    ),
    Wrong(
        "128 threads",
        {"block=(256, 1, 1)": "block=(128, 1, 1)"},
        "the last 128 elements (128 to 255)",
    ),
)
