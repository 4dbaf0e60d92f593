"""Other correct solutions to week1/fix_the_tail."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("filled before the loop and after each addition", {"        tXrX.fill(0.0)\n        cute.copy": "        cute.copy",
          "    for tile in": "    tXrX.fill(0.0)\n    for tile in",
          "ReductionOp.ADD, 0.0, 0)\n    total = cute": "ReductionOp.ADD, 0.0, 0)\n        tXrX.fill(0.0)\n    total = cute"}),
    Wrong("a helper loads", {"@cute.kernel\n": "@cute.jit\ndef sum_of(tXrX):\n    return tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)\n\n\n@cute.kernel\n",
          "total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)": "total += sum_of(tXrX)"}),
    Wrong("filled for the tail alone", {
        "range(gX.shape[1][1])": "range(shape[1] // 128)",
        "        tXrX.fill(0.0)\n": "",
        "    total = cute.arch.warp_reduction": """    if shape[1] % 128 != 0:
        tile = shape[1] // 128
        tXgX = thr_copy.partition_S(gX[(None, None), (bidx, tile)])
        tXcX = thr_copy.partition_S(cX[(None, None), (bidx, tile)])
        tXpX[0, 0, 0] = cute.elem_less(tXcX[0, 0, 0], shape)
        tXrX.fill(0.0)
        cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
        total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction""",
    }),
    Wrong("loaded registers alone are added", {"        tXrX.fill(0.0)\n": "",
          "        total += tXrX": "        if tXpX[0, 0, 0]:\n            total += tXrX"}),
)  # fmt: skip
