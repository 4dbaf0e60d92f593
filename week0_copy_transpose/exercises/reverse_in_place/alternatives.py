"""Other correct solutions to week0/reverse_in_place."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "2 * 128": "2 * 256",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("while the first index is below the last", {
        "    if i < n // 2:\n        front, back = mX[i], mX[n - 1 - i]\n        mX[i] = back\n"
        "        mX[n - 1 - i] = front\n":
            "    j = n - 1 - i\n    if i < j:\n        front = mX[i]\n        mX[i] = mX[j]\n"
            "        mX[j] = front\n",
    }),
    Wrong("the middle element as well", {"if i < n // 2:": "if i < (n + 1) // 2:"}),
)  # fmt: skip
