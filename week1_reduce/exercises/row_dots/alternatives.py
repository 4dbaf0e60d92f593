"""Other correct solutions to week1/row_dots."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a tree in shared memory", {
        "cute.make_layout(4)": "cute.make_layout(128)",
        "    total = cute.arch.warp_reduction_sum(total)\n    if lane == 0:\n"
        "        sPart[warp] = total\n    cute.arch.sync_threads()\n    if tidx == 0:\n"
        "        mZ[row] = (sPart[0] + sPart[1] + sPart[2] + sPart[3])":
            "    sPart[tidx] = total\n    for k in cutlass.range_constexpr(7):\n"
            "        cute.arch.sync_threads()\n        half = 64 >> k\n        if tidx < half:\n"
            "            sPart[tidx] += sPart[tidx + half]\n    if tidx == 0:\n"
            "        mZ[row] = sPart[0]",
    }),
    Wrong("four lanes merge", {
        "    if tidx == 0:\n        mZ[row] = (sPart[0] + sPart[1] + sPart[2] + sPart[3])":
            "    total = cute.arch.warp_reduction_sum(sPart[tidx % 4], threads_in_group=4)\n"
            "    if tidx == 0:\n        mZ[row] = total",
    }),
)  # fmt: skip
