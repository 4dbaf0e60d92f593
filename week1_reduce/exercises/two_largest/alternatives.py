"""Other correct solutions to week1/two_largest."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("by comparisons", {
        "            second = cutlass.max(second, cutlass.min(first, value))\n"
        "            first = cutlass.max(first, value)\n":
            "            if value > first:\n                first, second = value, first\n"
            "            elif value > second:\n                second = value\n",
    }),
)  # fmt: skip
