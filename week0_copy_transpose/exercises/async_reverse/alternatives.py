"""Other correct solutions to week0/async_reverse."""

from forgekit.lessons.wrong import Wrong

_COPY = "    if tidx < n // vec:\n        cute.copy(atom, gX[(None, tidx)], sX[(None, tidx)])\n"

ALTERNATIVES = (
    Wrong("two vectors per thread of two warps", {
        _COPY: "    if tidx < 64:\n        for v in range(tidx, n // vec, 64):\n"
               "            cute.copy(atom, gX[(None, v)], sX[(None, v)])\n",
    }),
    Wrong("the last vectors first", {
        _COPY: "    v = n // vec - 1 - tidx\n    if v >= 0:\n"
               "        cute.copy(atom, gX[(None, v)], sX[(None, v)])\n",
    }),
)  # fmt: skip
