"""Wrong solutions of week0/scale."""

from tests.lessons.bank import Wrong

WRONG = (
    Wrong("adds first", {"3.0 * mX[i] + 1.0": "3.0 * (mX[i] + 1.0)"}, "before the multiplication"),
    Wrong("still copies", {"3.0 * mX[i] + 1.0": "mX[i] "}, "the kernel still copies"),
    Wrong("no predicate", {"if i < mX.shape[0]:": "if i >= 0:"}, "no predicate keeps"),
    Wrong("predicate off by one", {"i < mX.shape[0]": "i < mX.shape[0] - 1"}, "last element"),
    Wrong("wrong block size", {"bidx * 128": "bidx * 64"}, "blocks overlap"),
)
