"""Other correct solutions to week2/cross_entropy_backward."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the target's 1 selected", {
        "        if n == target:\n            p -= 1.0\n        mdX[row, n] = (g * p)":
            "        one = Float32(1.0) if n == target else Float32(0.0)\n"
            "        mdX[row, n] = (g * (p - one))",
    }),
    Wrong("a second store in the same step, which the compiler merges with the first", {
        "        if n == target:\n            p -= 1.0\n": "",
        "(g * p).to(mdX.element_type)\n":
            "(g * p).to(mdX.element_type)\n        if n == target:\n"
            "            mdX[row, n] = (g * (p - 1.0)).to(mdX.element_type)\n",
    }),
    Wrong("the target added to its column's lane first", {
        "    target, lse, g = Int32(mT[row]), mLse[row], mG[row]\n    if target == -100:\n"
        "        g = Float32(0.0)\n":
            "    target, lse = Int32(mT[row]), mLse[row]\n"
            "    g = Float32(0.0) if target == -100 else mG[row]\n",
    }),
)  # fmt: skip
