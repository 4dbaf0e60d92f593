"""Wrong solutions of week0/reverse."""

from forgekit.lessons.wrong import Wrong

INDEX = "mX[n - 1 - i]"
ONE_BLOCK = """    for j in range(tidx, n, 128):
        mY[j] = mX[n - 1 - j]"""
BODY = """    if i < n:
        mY[i] = mX[n - 1 - i]"""

WRONG = (
    Wrong("still copies", {INDEX: "mX[i]"}, "the kernel still copies"),
    Wrong("off by one", {INDEX: "mX[n - i]"}, "thread i reads element n - i,"),
    Wrong("off by one below", {INDEX: "mX[n - 2 - i]"}, "thread i reads element n - 2 - i"),
    Wrong("as in a list", {INDEX: "mX[-1 - i]"}, "no counting from the end"),
    Wrong("of eight", {INDEX: "mX[7 - i]"}, "With n = 1, float32 the kernel was stopped"),
    Wrong("each block by itself", {INDEX: "mX[bidx * 128 + 127 - tidx]"},
          "of block (0, 0, 0) reads mX[127]"),
    Wrong("no predicate", {"if i < n:": "if i >= 0:"}, "nothing keeps the threads"),
    Wrong("bound too large", {"if i < n:": "if i <= n:"}, "lets thread 8 through"),
    Wrong("blocks rounded down", {"cute.ceil_div(mX.shape[0], 128)": "mX.shape[0] // 128"},
          "cute.ceil_div for the grid"),
    Wrong("one block only", {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"},
          "128 threads are launched for"),
    Wrong("nothing stored", {f"mY[i] = {INDEX}": f"y = {INDEX}"}, "no thread writes to global"),
    Wrong("twenty blocks always", {"grid=(blocks, 1, 1)": "grid=(20, 1, 1)"},
          "Threads launched: 2,560"),
    Wrong("one block strides over all", {BODY: ONE_BLOCK, "grid=(blocks, 1, 1)": "grid=(1, 1, 1)"},
          "has to grow with the length"),
)  # fmt: skip
