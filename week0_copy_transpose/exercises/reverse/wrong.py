"""Wrong solutions to week0/reverse."""

from forgekit.lessons.wrong import Wrong

INDEX = "mX[n - 1 - i]"

WRONG = (
    Wrong("still copies", {INDEX: "mX[i]"}, "y is equal to x, as after a copy"),
    Wrong("off by one", {INDEX: "mX[n - i]"}, "Thread i reads element n - i,"),
    Wrong("off by one below", {INDEX: "mX[n - 2 - i]"}, "Thread i reads element n - 2 - i"),
    Wrong("as in a list", {INDEX: "mX[-1 - i]"}, "does not count from the end"),
    Wrong("n - i for every x", {INDEX: "(n - i).to(mY.element_type)"}, "no thread reads mX"),
    Wrong("from the first element", {INDEX: "mX[0] + (n - 1 - i).to(mY.element_type)"},
          "With n = 9, float32, the result is wrong"),
    Wrong("of eight", {INDEX: "mX[7 - i]"}, "With n = 1, float32, the kernel was stopped"),
    Wrong("each block by itself", {INDEX: "mX[bidx * 128 + 127 - tidx]"},
          "of block (0, 0, 0) reads mX[127]"),
    Wrong("stored into x as well", {f"mY[i] = {INDEX}": f"mY[i] = {INDEX}\n        mX[n - 1 - i] = mY[i]"},
          "although none is stored twice"),
    Wrong("at most 1,024 blocks", {"grid=(blocks, 1, 1)": "grid=(min(blocks, 1024), 1, 1)"},
          "The launch has only 131,072 threads for"),
    Wrong("300 blocks always", {"grid=(blocks, 1, 1)": "grid=(300, 1, 1)"},
          "The launch has only 38,400"),
    Wrong("stored off by one", {f"mY[i] = {INDEX}": "mY[n - i] = mX[i]"}, "Thread i writes element n - i,"),
    Wrong("stored off by one below", {f"mY[i] = {INDEX}": "mY[n - 2 - i] = mX[i]"},
          "Thread i writes element n - 2 - i"),
)  # fmt: skip
