"""Other correct solutions to week0/reverse."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("writes backwards", {
        "mY[i] = mX[n - 1 - i]": "mY[n - 1 - i] = mX[i]",
    }),
    Wrong("a view of the end", {
        "mX[n - 1 - i]": "mX[(n - i) - 1]",
    }),
    Wrong("two elements a thread", {
        "    if i < n:\n        mY[i] = mX[n - 1 - i]":
            "    gdim, _, _ = cute.arch.grid_dim()\n    for j in range(i, n, gdim * 128):\n"
            "        mY[j] = mX[n - 1 - j]",
        "cute.ceil_div(mX.shape[0], 128)": "cute.ceil_div(mX.shape[0], 256)",
    }),
    Wrong("a pair per thread", {"if i < n:": "if i < (n + 1) // 2:",
          "mY[i] = mX[n - 1 - i]": "mY[i] = mX[n - 1 - i]\n        mY[n - 1 - i] = mX[i]"}),
)  # fmt: skip
