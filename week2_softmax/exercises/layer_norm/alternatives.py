"""Other correct solutions to week2/layer_norm."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("four lanes add the words", {
        "    return sPart[0] + sPart[1] + sPart[2] + sPart[3]\n":
            "    return cute.arch.warp_reduction(sPart[lane % 4], operator.add, threads_in_group=4)\n",
    }),
    Wrong("a division by the root", {
        "cute.math.rsqrt(variance + eps, fastmath=True)":
            "1.0 / cute.math.sqrt(variance + eps)",
    }),
    Wrong("words of the two sums in turn", {"cute.make_layout((4, 2)), 16)": "cute.make_layout((4, 2), stride=(2, 1)), 16)"}),
)  # fmt: skip
