"""Wrong solutions of week0/reverse."""

from tests.lessons.bank import Wrong

WRONG = (
    Wrong("off by one", {"mX[n - 1 - i]": "mX[n - i]"}, "off by one"),
    Wrong("still copies", {"mX[n - 1 - i]": "mX[i] "}, "the kernel still copies"),
    Wrong("within the block", {"mX[n - 1 - i]": "mX[bidx * 128 + 127 - tidx]"}, "of the whole"),
)
