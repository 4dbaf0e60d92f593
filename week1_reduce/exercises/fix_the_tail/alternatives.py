"""Other correct solutions to week1/fix_the_tail."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("filled before the loop and after each addition", {"        tXrX.fill(0.0)\n        cute.copy": "        cute.copy",
          "    for tile in": "    tXrX.fill(0.0)\n    for tile in",
          "ReductionOp.ADD, 0.0, 0)\n    total = cute": "ReductionOp.ADD, 0.0, 0)\n        tXrX.fill(0.0)\n    total = cute"}),
    Wrong("a helper loads", {"@cute.kernel\n": "@cute.jit\ndef sum_of(tXrX):\n    return tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)\n\n\n@cute.kernel\n",
          "total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)": "total += sum_of(tXrX)"}),
    Wrong("loaded registers alone are added", {"        tXrX.fill(0.0)\n": "",
          "        total += tXrX": "        if tXpX[0, 0, 0]:\n            total += tXrX"}),
)  # fmt: skip
