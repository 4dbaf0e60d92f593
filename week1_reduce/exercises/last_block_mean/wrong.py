"""Wrong solutions to week1/last_block_mean."""

from forgekit.lessons.wrong import Wrong

FENCE = "        cute.arch.fence_acq_rel_gpu()\n"
COUNT = "        sTicket[0] = cute.arch.atomic_add(mCount.iterator + row, Int32(1))\n"
BARRIER = "    cute.arch.sync_threads()\n    if sTicket"

WRONG = (
    Wrong("no fence before", {FENCE + COUNT: COUNT}, "before it sees the part"),
    Wrong("no barrier", {BARRIER: "    if sTicket"}, "Race in shared memory"),
    Wrong("the block with the last piece", {"if sTicket[0] == pieces - 1:":
                                            "if piece == pieces - 1:"}, "thread (1, 0, 0) of block (4, 0, 0) reads mPart"),
    Wrong("a quarter of a piece", {"range_constexpr(4)": "range_constexpr(1)"},
          "covers only its first 256 columns"),
    Wrong("counts rows together", {"mCount.iterator + row": "mCount.iterator"}, "With m = 3"),
    Wrong("one warp adds up a piece", {"    for k in cutlass.range_constexpr(4):\n        n = piece * 1024 + k * 256 + tidx\n        if n <":
          "    for k in range(32):\n        n = piece * 1024 + k * 32 + tidx\n        if tidx < 32 and n <"},
          "Warps per block that share the loads: 1 with"),
    Wrong("adds in float16", {
        "            total += mX[row, n]": "            total = (total + mX[row, n]).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong"),
    Wrong("at most nine pieces", {
        "range(tidx, pieces, 256)": "range(tidx, cutlass.min(pieces, 9), 256)"},
        "The result with m = 8, n = 1"),
    Wrong("at most 256 pieces", {
        "        for k in range(tidx, pieces, 256):\n": "        k = tidx\n        if k < pieces:\n"},
        "includes only the first 256 pieces"),
    Wrong("a fence that is never executed", {FENCE + COUNT: "        if pieces < 0:\n    " + FENCE + COUNT},
          "before it sees the part: the store"),
    Wrong("thread 0 alone takes the parts", {"        for k in range(tidx, pieces, 256):\n":
          "        for k in range(0 if tidx == 0 else pieces, pieces):\n"},
          "one warp executes"),
    Wrong("another thread stores the part", {"    if tidx == 0:\n        mPart[row, piece] = total\n":
          "    if tidx == 1:\n        mPart[row, piece] = total\n    if tidx == 0:\n"},
          "different threads execute the store of the part"),
    Wrong("thread 0 alone acquires, after the barrier", {COUNT + FENCE: COUNT, BARRIER + "[0] == pieces - 1:\n":
          BARRIER + "[0] == pieces - 1:\n        if tidx == 0:\n    " + FENCE},
          "different threads execute the atomic addition"),
    Wrong("not divided", {"total / mX.shape[1]": "total"}, "divide it by the number of columns"),
    Wrong("no reset", {"            mCount[row] = 0\n": ""}, "mCount[0] was 0 before the call and is 1"),
    Wrong("no block is last", {"if sTicket[0] == pieces - 1:": "if sTicket[0] == pieces:"}, "no thread stores to mY"),
    Wrong("begins with its own part", {"mPart[row, k]": "mPart[row, (k + piece) % pieces]"},
          "added depends on the order of the blocks"),
    Wrong("half of the lanes load", {"    for k in cutlass.range_constexpr(4):\n        n = piece * 1024 + k * 256 + tidx\n        if n <":
          "    for k in cutlass.range_constexpr(8):\n        n = piece * 1024 + k * 128 + tidx // 32 * 16 + tidx % 32\n        if tidx % 32 < 16 and n <"},
          "128 of a block's 256 threads load"),
    Wrong("from the last part if the last block has an odd piece", {
          "mPart[row, k]": "mPart[row, k if piece % 2 == 0 else pieces - 1 - k]"}, "n = 100,000, float32, y["),
    Wrong(
        "an addition with the block's scope",
        {"Int32(1))\n": "Int32(1), scope=\"cta\")\n"},
        "whose scope is one block (`cta`)",
    ),
    Wrong(
        "parts added atomically",
        {
            """        total = Float32(0.0)
        for k in range(tidx, pieces, 256):
            total += mPart[row, k]
        total = sum_of_256(total)
        if tidx == 0:
            mY[row] = total / mX.shape[1]
""": """        if tidx == 0:
            mY[row] = Float32(0.0)
        cute.arch.sync_threads()
        for k in range(tidx, pieces, 256):
            cute.arch.atomic_add(mY.iterator + row, mPart[row, k] / mX.shape[1])
        if tidx == 0:
"""
        },
        "atomic additions of floats happen in any order",
    ),
    Wrong("its own part first", {
        "        total = Float32(0.0)\n        for k in range(tidx, pieces, 256):\n            total += mPart[row, k]": "        if tidx > 0:\n            total = Float32(0.0)\n        for k in range(tidx, pieces, 256):\n            if k != piece:\n                total += mPart[row, k]",
    }, "y[0] is 0.0217278805 in one order"),
)  # fmt: skip
