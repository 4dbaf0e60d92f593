"""Other right solutions of week0/reverse."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a pair per thread", {"if i < n:": "if i < (n + 1) // 2:",
          "mY[i] = mX[n - 1 - i]": "mY[i] = mX[n - 1 - i]\n        mY[n - 1 - i] = mX[i]"}),
)  # fmt: skip
