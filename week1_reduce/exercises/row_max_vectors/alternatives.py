"""Other correct solutions to week1/row_max_vectors."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("two vectors per turn", {
        "        for i in range(lane, cute.size(gX, mode=[1]), 32):\n":
            "        n = cute.size(gX, mode=[1])\n        for i in range(lane, n, 64):\n",
        "            best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n":
            "            best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n"
            "            if i + 32 < n:\n                values = gX[(None, i + 32)].load().to(Float32)\n"
            "                best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n",
    }),
    Wrong("element by element in registers", {"            best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n":
          "            for v in cutlass.range_constexpr(vec):\n                best = cute.arch.fmax(best, values[v])\n"}),
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
)  # fmt: skip
