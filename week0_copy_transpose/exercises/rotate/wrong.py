"""Wrong solutions to week0/rotate."""

from forgekit.lessons.wrong import Wrong

LOOP = "for _ in cutlass.range_constexpr(2):"
FIXED = """        value = sRow[(tidx + 1) % 64]
        cute.arch.sync_threads()
"""
BARRIERS = """        sRow[tidx] = value
        cute.arch.sync_threads()
        value = sRow[(tidx + 1) % 64]
        cute.arch.sync_threads()
"""
WHOLE = f"    value = mX[bidx, tidx]\n    {LOOP}\n{BARRIERS}"

WRONG = (
    Wrong("barrier moved", {BARRIERS: """        sRow[tidx] = value
        value = sRow[(tidx + 1) % 64]
        cute.arch.sync_threads()
"""}, "the barrier between write and read is missing"),
    Wrong("barrier of a warp", {FIXED: FIXED.replace("sync_threads", "sync_warp")},
          "an element that another thread has not read yet"),
    Wrong("some threads wait", {FIXED: """        value = sRow[(tidx + 1) % 64]
        if tidx < 63:
            cute.arch.sync_threads()
"""}, "not all threads of the block reach this barrier"),
    Wrong("a barrier for more threads than there are", {FIXED: """        value = sRow[(tidx + 1) % 64]
        cute.arch.barrier(barrier_id=1, number_of_threads=96)
"""}, "waits for threads that never arrive"),
    Wrong("barriers everywhere", {LOOP: f"{LOOP}\n        cute.arch.sync_threads()"},
          "A thread waits 6 times at a barrier"),
    Wrong("three barriers in a loop at run time", {"cutlass.range_constexpr(2)": "cutlass.range(2, unroll=1)",
          FIXED: FIXED + "        cute.arch.sync_threads()\n"}, "even one that orders nothing"),
    Wrong("no barrier between the second write and its read", {LOOP: "for k in cutlass.range_constexpr(2):",
          "        sRow[tidx] = value\n        cute.arch.sync_threads()\n": "        sRow[tidx] = value\n"
          "        if k == 0:\n            cute.arch.sync_threads()\n"},
          "before another thread has written it"),
    Wrong("most elements by shuffles", {BARRIERS: """        sRow[tidx] = value
        left = cute.arch.shuffle_sync(value, (tidx + 1) % 32)
        cute.arch.sync_threads()
        if tidx % 32 == 31:
            left = sRow[(tidx + 1) % 64]
        value = left
        cute.arch.sync_threads()
"""}, "another thread wrote 16 times; with 4 × 64, two rounds make 512 such reads. Next:"),
    Wrong("one round", {LOOP: LOOP.replace("2", "1")}, "as after one round"),
    Wrong("the other way", {"(tidx + 1)": "(tidx + 63)"}, "in the other direction"),
    Wrong("one round by two", {LOOP: LOOP.replace("2", "1"), "(tidx + 1)": "(tidx + 2)"},
          "as if there were only one round"),
    Wrong("around shared memory", {
        WHOLE: "    value = mX[bidx, (tidx + 2) % 64]\n"},
          "no thread accesses shared memory"),
    Wrong("every row twice", {"grid=(mX.shape[0], 1, 1)": "grid=(mX.shape[0], 1, 2)"},
          "Threads read a word of shared memory that another thread wrote 1024 times"),
    Wrong("one thread does it all", {
        WHOLE + "    mY[bidx, tidx] = value\n": """    for j in cutlass.range(64, unroll=1):
        sRow[j] = mX[bidx, j]
    for _ in cutlass.range_constexpr(2):
        first = sRow[0]
        for j in cutlass.range(63, unroll=1):
            sRow[j] = sRow[j + 1]
        sRow[63] = first
    for j in cutlass.range(64, unroll=1):
        mY[bidx, j] = sRow[j]
""", "block=(64, 1, 1)": "block=(1, 1, 1)"},
          "only one thread of the block accesses"),
    Wrong("through one's own place", {BARRIERS: """        sRow[tidx] = value
        cute.arch.sync_threads()
        value = sRow[tidx]
""", "value = mX[bidx, tidx]": "value = mX[bidx, (tidx + 2) % 64]"},
          "no thread reads an element that another thread has written"),
    Wrong("both elements in one round", {WHOLE + "    mY[bidx, tidx] = value\n": """    sRow[tidx] = mX[bidx, tidx]
    cute.arch.sync_threads()
    value = sRow[(tidx + 1) % 64]
    mY[bidx, tidx] = sRow[(tidx + 2) % 64] + 0.0 * value
"""}, "Threads write 256 words of shared memory"),
    Wrong("a tile of integers", {"allocate_tensor(Float32": "allocate_tensor(cutlass.Int32",
          "sRow[tidx] = value": "sRow[tidx] = value.to(cutlass.Int32)",
          "sRow[(tidx + 1) % 64]": "sRow[(tidx + 1) % 64].to(Float32)"}, "got 2, expected 2.25"),
    Wrong("48 kB of shared memory", {"make_layout(64)": "make_layout(12288)"}, "one block occupies is unavailable"),
    Wrong("stored after each round", {"        cute.arch.sync_threads()\n    mY": "        cute.arch.sync_threads()\n        mY[bidx, tidx] = value\n    mY"},
          "Bytes stored: 2,048"),
    Wrong("at most 4,000 rows", {"(mX.shape[0], 1, 1)": "(cutlass.min(mX.shape[0], 4000), 1, 1)"}, "With 16384 × 64"),
)  # fmt: skip
