"""Wrong solutions of week0/reverse."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("off by one", {"mX[n - 1 - i]": "mX[n - i]"}, "off by one"),
    Wrong("from the end", {"mX[n - 1 - i]": "mX[-i]"}, "there is no counting from the end"),
    Wrong("last from the end", {"mX[n - 1 - i]": "mX[-1 - i]"}, "index -1 lies before the array"),
    Wrong("two too few", {"mX[n - 1 - i]": "mX[n - 2 - i]"}, "number n - 1, not n"),
    Wrong("of eight", {"mX[n - 1 - i]": "mX[7 - i]"}, "7 is n − 1 for eight elements only"),
    Wrong("no store", {"mY[i] = mX[n - 1 - i]": "y = mX[n - 1 - i]"}, "nothing is stored"),
    Wrong("as in torch", {"mX[n - 1 - i]": "mX.flip(0)[i]"}, "a CuTe tensor has no such methods"),
    Wrong("still copies", {"mX[n - 1 - i]": "mX[i] "}, "the kernel still copies"),
    Wrong("within the block", {"mX[n - 1 - i]": "mX[bidx * 128 + 127 - tidx]"}, "of the whole"),
    Wrong("eight blocks always", {"cute.ceil_div(mX.shape[0], 128)": "8"},
          "1,024 threads are launched whatever the length"),
    Wrong("one block only", {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"},
          "only the first block's 128 elements are written"),
    Wrong("one block only, written backwards",
          {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)",
           "mY[i] = mX[n - 1 - i]": "mY[n - 1 - i] = mX[i]"},
          "is the grid big enough for n"),
    Wrong("block index forgotten", {"bidx * 128 + tidx": "tidx"}, "does `i` count across blocks"),
    Wrong("every thread does it all", {"""    if i < n:
        mY[i] = mX[n - 1 - i]""": """    for j in range(n):
        mY[j] = mX[n - 1 - j]"""}, "each element is stored again and again"),
    Wrong("one thread does it all", {"""    if i < n:
        mY[i] = mX[n - 1 - i]""": """    if i == 0:
        for j in range(n):
            mY[j] = mX[n - 1 - j]"""}, "leaves 31 of every 32 threads idle"),
)  # fmt: skip
