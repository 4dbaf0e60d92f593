"""Other correct solutions to week0/vector_copy."""

from forgekit.lessons.wrong import Wrong

_REST = """    if i < n % vec:
        mY[n // vec * vec + i] = mX[n // vec * vec + i]
"""

ALTERNATIVES = (
    Wrong("one thread copies the rest", {
        _REST: "    if i == n // vec:\n        for k in range(n // vec * vec, n):\n            mY[k] = mX[k]\n",
    }),
    Wrong("counted from the end", {
        "gY[(None, i)].store(gX[(None, i)].load())": "cute.autovec_copy(gX[(None, i)], gY[(None, i)])",
        _REST: "    if i < n - n // vec * vec:\n        mY[n - 1 - i] = mX[n - 1 - i]\n",
    }),
)  # fmt: skip
