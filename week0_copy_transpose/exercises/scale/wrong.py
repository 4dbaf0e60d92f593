"""Wrong solutions of week0/scale."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("adds first", {"3.0 * mX[i] + 1.0": "3.0 * (mX[i] + 1.0)"}, "before the multiplication"),
    Wrong("no addition", {"3.0 * mX[i] + 1.0": "3 * mX[i]"}, "the + 1 is missing"),
    Wrong("no store", {"mY[i] = 3.0 * mX[i] + 1.0": "y = 3 * mX[i] + 1"},
          "nothing is stored: assign to `mY[i]`"),
    Wrong("still copies", {"3.0 * mX[i] + 1.0": "mX[i] "}, "the kernel still copies"),
    Wrong("no predicate", {"if i < mX.shape[0]:": "if i >= 0:"}, "no predicate keeps"),
    Wrong("predicate off by one", {"i < mX.shape[0]": "i < mX.shape[0] - 1"}, "last element"),
    Wrong("blocks rounded down", {"cute.ceil_div(mX.shape[0], 128)": "mX.shape[0] // 128"},
          "cute.ceil_div for the grid"),
    Wrong("eight blocks always", {"cute.ceil_div(mX.shape[0], 128)": "8"},
          "1,024 threads are launched whatever the length"),
    Wrong("one block only", {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"},
          "only the first block's 128 elements are written"),
    Wrong("block index forgotten", {"bidx * 128 + tidx": "tidx"}, "does `i` count across blocks"),
    Wrong("every thread does it all", {"""    if i < mX.shape[0]:
        mY[i] = 3.0 * mX[i] + 1.0""": """    for j in range(mX.shape[0]):
        mY[j] = 3.0 * mX[j] + 1.0"""}, "each element is stored again and again"),
    Wrong("one thread does it all", {"""    if i < mX.shape[0]:
        mY[i] = 3.0 * mX[i] + 1.0""": """    if i == 0:
        for j in range(mX.shape[0]):
            mY[j] = 3.0 * mX[j] + 1.0"""}, "leaves 31 of every 32 threads idle"),
    Wrong("wrong block size", {"bidx * 128": "bidx * 64"}, "blocks overlap"),
)  # fmt: skip
