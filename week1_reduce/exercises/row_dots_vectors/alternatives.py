"""Other correct solutions to week1/row_dots_vectors."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("two vectors per turn", {
        "        for i in range(lane, cute.size(gA, mode=[1]), 32):\n":
            "        n = cute.size(gA, mode=[1])\n        for i in range(lane, n, 64):\n",
        "            total += product.reduce(cute.ReductionOp.ADD, 0.0, 0)\n":
            "            total += product.reduce(cute.ReductionOp.ADD, 0.0, 0)\n            if i + 32 < n:\n"
            "                a, b = gA[(None, i + 32)].load(), gB[(None, i + 32)].load()\n"
            "                product = a.to(Float32) * b.to(Float32)\n"
            "                total += product.reduce(cute.ReductionOp.ADD, 0.0, 0)\n",
    }),
    Wrong("shuffles by hand", {"        total = cute.arch.warp_reduction(total, operator.add)\n":
          "        for k in cutlass.range_constexpr(5):\n            total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n"}),
    Wrong("eight rows per block", {"bidx * 4": "bidx * 8", "mA.shape[0], 4)": "mA.shape[0], 8)", "(128, 1, 1)": "(256, 1, 1)"}),
)  # fmt: skip
