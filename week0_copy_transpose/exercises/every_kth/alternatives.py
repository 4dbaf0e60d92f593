"""Other correct solutions to week0/every_kth."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a row of blocks per row", {"i, j = by * 8 + ty, bx * 32 + tx": "i, j = bx, by * 128 + tx",
          "(cute.ceil_div(columns, 32), cute.ceil_div(mX.shape[0], 8), 1)": "(mX.shape[0], cute.ceil_div(columns, 128), 1)",
          "(32, 8, 1)": "(128, 1, 1)"}),
    Wrong("a vector for one element, too", {"cutlass.const_expr(k < vec)": "cutlass.const_expr(k <= vec)"}),
)  # fmt: skip
