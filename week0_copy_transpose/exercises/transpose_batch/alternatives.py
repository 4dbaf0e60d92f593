"""Other correct solutions to week0/transpose_batch."""

from forgekit.lessons.wrong import Wrong

STEP = "    for k in cutlass.range_constexpr(0, 32, 16):\n        if "
HALVES = """        for half in cutlass.range_constexpr(0, 64, 32):
            if col0 + ty + k < N and row0 + half + tx < M:
"""

LOOPS = """    for k in cutlass.range_constexpr(0, 32, 8):
        if row0 + ty + k < M and col0 + tx < N:
            sX[ty + k, tx] = mX[b, row0 + ty + k, col0 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        if col0 + ty + k < N and row0 + tx < M:
            mY[b, col0 + ty + k, row0 + tx] = sX[tx, ty + k]
"""
INSIDE = LOOPS.replace("\n", "\n    ").removesuffix("    ")
LOOP = f"    for b in range(mX.shape[0]):\n    {INSIDE}        cute.arch.sync_threads()\n"

ALTERNATIVES = (
    Wrong("blocks of (32, 16)", {"    for k in cutlass.range_constexpr(0, 32, 8):\n        if row0": STEP + "row0",
          "    for k in cutlass.range_constexpr(0, 32, 8):\n        if col0": STEP + "col0", "(32, 8, 1)": "(32, 16, 1)"}),
    Wrong("each block loops over the batch", {"bx, by, b = cute.arch.block_idx()": "bx, by, _ = cute.arch.block_idx()",
          "32), B)": "32), 1)", LOOPS: LOOP}),
    Wrong("padded tiles of 64 x 32", {"by * 32, bx * 32": "by * 64, bx * 32", "((32, 32), stride=(33, 1))": "((64, 32), stride=(33, 1))",
          "    for k in cutlass.range_constexpr(0, 32, 8):\n        if row0": "    for k in cutlass.range_constexpr(0, 64, 8):\n        if row0",
          "        if col0 + ty + k < N and row0 + tx < M:\n": HALVES,
          "            mY[b, col0 + ty + k, row0 + tx] = sX[tx, ty + k]": "                mY[b, col0 + ty + k, row0 + half + tx] = sX[half + tx, ty + k]",
          "cute.ceil_div(M, 32)": "cute.ceil_div(M, 64)"}),
    Wrong("the batch changes fastest in a grid of one dimension", {
        "bx, by, b = cute.arch.block_idx()\n    _, M, N = mX.shape\n":
            "tile, _, _ = cute.arch.block_idx()\n    B, M, N = mX.shape\n"
            "    across = cute.ceil_div(N, 32)\n"
            "    b, bx, by = tile % B, tile // B % across, tile // B // across\n",
        "grid = (cute.ceil_div(N, 32), cute.ceil_div(M, 32), B)":
            "grid = (cute.ceil_div(N, 32) * cute.ceil_div(M, 32) * B, 1, 1)",
    }),
)  # fmt: skip
