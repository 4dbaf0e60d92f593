"""Wrong solutions of week0/reverse."""

from tests.lessons.bank import Wrong

WRONG = (
    Wrong("off by one", {"mX[n - 1 - i]": "mX[n - i]"}, "off by one"),
    Wrong("still copies", {"mX[n - 1 - i]": "mX[i] "}, "the kernel still copies"),
    Wrong("within the block", {"mX[n - 1 - i]": "mX[bidx * 128 + 127 - tidx]"}, "of the whole"),
    Wrong("eight blocks always", {"cute.ceil_div(mX.shape[0], 128)": "8"},
          "1,024 threads are launched whatever the length"),
    Wrong("one thread does it all", {"""    if i < n:
        mY[i] = mX[n - 1 - i]""": """    if i == 0:
        for j in range(n):
            mY[j] = mX[n - 1 - j]"""}, "leaves 31 of a warp's 32 threads idle"),
)  # fmt: skip
