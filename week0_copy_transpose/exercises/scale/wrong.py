"""Wrong solutions to week0/scale."""

from forgekit.lessons.wrong import Wrong

GRID = "grid=(blocks, 1, 1)"
BODY = """    if i < mX.shape[0]:
        mY[i] = 3.0 * mX[i] + 1.0"""
ONE = """    if i == 0:
        for j in range(mX.shape[0]):
            mY[j] = 3.0 * mX[j] + 1.0"""
ONE_BLOCK = """    for j in range(tidx, mX.shape[0], 128):
        mY[j] = 3.0 * mX[j] + 1.0"""

WRONG = (
    Wrong("adds first", {"3.0 * mX[i] + 1.0": "3.0 * (mX[i] + 1.0)"}, "before the multiplication"),
    Wrong("no addition", {"3.0 * mX[i] + 1.0": "3 * mX[i]"}, "y is 3 * x, without the 1"),
    Wrong("no store", {"mY[i] = 3.0 * mX[i] + 1.0": "y = 3 * mX[i] + 1"},
          "nothing is stored: no thread writes to global memory"),
    Wrong("still copies", {"3.0 * mX[i] + 1.0": "mX[i] "}, "y is equal to x, as after a copy"),
    Wrong("in place", {"mY[i] = 3.0 * mX[i] + 1.0": "mX[i] = 3.0 * mX[i] + 1.0"},
          "the kernel changed its input"),
    Wrong("no predicate", {"if i < mX.shape[0]:": "if i >= 0:"}, "every thread beyond the last element accesses memory"),
    Wrong("bound one too large", {"i < mX.shape[0]": "i <= mX.shape[0]"}, "the predicate admits thread 8,"),
    Wrong("reads the neighbour", {"3.0 * mX[i] + 1.0": "3.0 * mX[i + 1] + 1.0"},
          "thread i accesses element i + 1"),
    Wrong("predicate off by one", {"i < mX.shape[0]": "i < mX.shape[0] - 1"},
          "a single element differs"),
    Wrong("blocks rounded down", {"cute.ceil_div(mX.shape[0], 128)": "mX.shape[0] // 128"},
          "round counts up with cute.ceil_div"),
    Wrong("eight blocks always", {"cute.ceil_div(mX.shape[0], 128)": "8"},
          "The launch has only 1,024 threads"),
    Wrong("a thousand blocks always", {GRID: "grid=(1000, 1, 1)"},
          "launch fewer threads. Either some have nothing to do"),
    Wrong("block index forgotten", {"bidx * 128 + tidx": "tidx"},
          "in the last 2,372 elements (128 to 2499)"),
    Wrong("launched twice", {"    blocks = cute.ceil": "    scale_kernel(mX, mY).launch(grid=(cute.ceil_div(mX.shape[0], 128), 1, 1), block=(128, 1, 1))\n    blocks = cute.ceil"}, "Launches: 2 with"),
    Wrong("twice the threads", {"(128, 1, 1)": "(256, 1, 1)"}, "elements are stored more than once"),
    Wrong("one thread does it all", {BODY: ONE, GRID: "grid=(1, 1, 1)"}, "as long with one active lane"),
    Wrong("one block strides over all", {BODY: ONE_BLOCK, GRID: "grid=(1, 1, 1)"},
          "launch more threads, each of which does less"),
    Wrong("at most the largest number", {"3.0 * mX[i] + 1.0": "min(3.0 * mX[i] + 1.0, 3.0e38)"}, "pattern: every wrong element is 3e+38"),
    Wrong("at most 1,024 blocks", {"cute.ceil_div(mX.shape[0], 128)": "min(cute.ceil_div(mX.shape[0], 128), 1024)"},
          "The launch has only 131,072 threads"),
    Wrong("twice the grid", {GRID: "grid=(2 * blocks, 1, 1)"}, "Threads launched"),
)  # fmt: skip
