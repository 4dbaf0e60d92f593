"""Wrong solutions to week1/block_prefix."""

from forgekit.lessons.wrong import Wrong

TOTALS = """    for w in cutlass.range_constexpr(7):
        if w < warp:
            value += sTotal[w]
"""

WRONG = (
    Wrong("totals missing", {TOTALS: ""}, "each warp restarts at 0"),
    Wrong(
        "exclusive",
        {"mY[row, tidx] = value": "mY[row, tidx] = value - mX[row, tidx]"},
        "*exclusive* prefix sum",
    ),
    Wrong("one total", {"if w < warp:": "if w == warp - 1:"}, "of *one* earlier warp"),
    Wrong("own total as well", {"if w < warp:": "if w <= warp:"}, "mismatches"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong(
        "shuffle in the if",
        {
            "        left = cute.arch.shuffle_sync_up(value, offset=1 << k)\n        if lane >= 1 << k:\n            value += left": "        if lane >= 1 << k:\n            value += cute.arch.shuffle_sync_up(value, offset=1 << k, mask_and_clamp=0)"
        },
        "Deadlock: every remaining thread waits",
    ),
    Wrong(
        "adds in float16",
        {"value += left": "value = (value + left).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong",
    ),
    Wrong(
        "all through shared memory",
        {
            "cute.make_layout(8)": "cute.make_layout(256)",
            "    for k in cutlass.range_constexpr(5):\n        left = cute.arch.shuffle_sync_up(value, offset=1 << k)\n        if lane >= 1 << k:\n            value += left\n    if lane == 31:\n        sTotal[warp] = value\n    cute.arch.sync_threads()\n": "    for k in cutlass.range_constexpr(8):\n        sTotal[tidx] = value\n        cute.arch.sync_threads()\n        if tidx >= 1 << k:\n            value += sTotal[tidx - (1 << k)]\n        cute.arch.sync_threads()\n",
            TOTALS: "",
        },
        "the task asks for at most 128 bytes of shared memory",
    ),
    Wrong(
        "rows in y of the grid",
        {
            "row, _, _ = cute.arch.block_idx()": "_, row, _ = cute.arch.block_idx()",
            "grid=(mX.shape[0], 1, 1)": "grid=(1, mX.shape[0], 1)",
        },
        "got a grid of (1, 66052, 1) blocks",
    ),
)
