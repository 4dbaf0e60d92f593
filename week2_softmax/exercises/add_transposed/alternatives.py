"""Other correct solutions to week2/add_transposed."""

from forgekit.lessons.wrong import Wrong

LAYOUT = """    layout = cute.make_layout((32, 32), stride=(32, 1))
    layout = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, layout)  # column ^ row
"""

ALTERNATIVES = (
    Wrong("the columns by XOR", {LAYOUT: "    layout = cute.make_layout((32, 32), stride=(32, 1))\n",
          "sZ[ty + k, tx] =": "sZ[ty + k, tx ^ (ty + k)] =", "+ sZ[tx, ty + k]": "+ sZ[tx, (ty + k) ^ tx]"}),
    Wrong("eight lines at once", {"(32, 8, 1)": "(256, 1, 1)",
          "    tx, ty, _ = cute.arch.thread_idx()\n": """    tidx, _, _ = cute.arch.thread_idx()
    tx, ty = tidx % 32, tidx // 32
"""}),
    Wrong("rows in the grid's x", {
        "bx, by, _ = cute.arch.block_idx()": "by, bx, _ = cute.arch.block_idx()",
        "grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)": "grid = (cute.ceil_div(mX.shape[0], 32), cute.ceil_div(mX.shape[1], 32), 1)",
    }),
)  # fmt: skip
