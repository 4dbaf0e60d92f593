"""Wrong solutions to week0/transpose_batch."""

from forgekit.lessons.wrong import Wrong

_LOADED = "if row0 + ty + k < M and col0 + tx < N:"
_PREDICATE = "if col0 + ty + k < N and row0 + tx < M:"
_STORE = "mY[b, col0 + ty + k, row0 + tx] = sX[tx, ty + k]"
_BARRIER = "    cute.arch.sync_threads()\n"
WRONG = (
    Wrong("the first matrix for all", {"mX[b, row0": "mX[0, row0"}, "the transpose of the first matrix of x"),
    Wrong("batches reversed", {"mX[b, row0": "mX[mX.shape[0] - 1 - b, row0"}, "the opposite order"),
    Wrong("one matrix only", {"cute.ceil_div(M, 32), B)": "cute.ceil_div(M, 32), 1)"},
          "a block for every tile"),
    Wrong("at most 64 matrices", {"cute.ceil_div(M, 32), B)": "cute.ceil_div(M, 32), cutlass.min(B, 64))"},
          "m = 1, n = 40, float16, the result is wrong"),
    Wrong("no barrier", {_BARRIER: ""}, "between the two lines"),
    Wrong("not turned", {_STORE: "mY[b, col0 + ty + k, row0 + tx] = sX[ty + k, tx]"},
          "an element of the tile that no thread has stored"),
    Wrong("called coalesced",
          {_PREDICATE: _LOADED + " ", _STORE: "mY[b, col0 + tx, row0 + ty + k] = sX[ty + k, tx]"},
          "Sectors stored"),
    Wrong("no padding", {"stride=(33, 1)": "stride=(32, 1)"}, "asks for no bank conflicts"),
    Wrong("all into the first matrix", {"mY[b, col0": "mY[0, col0"}, "or add atomically (cute.arch.atomic_add). Next:"),
    Wrong("at most 32,767 matrices", {"cute.ceil_div(M, 32), B)": "cute.ceil_div(M, 32), cutlass.min(B, 32767))"},
          "in the last 27,233 elements (32767 to"),
    Wrong("loads from 32,768 matrices", {"mX[b, row0": "mX[b % 32768, row0"}, "With b = 60,000, m = 1, n = 1, float32, of which 16 blocks ran"),
    Wrong("stores to 32,768 matrices", {"mX[b, row0": "mX[b % 32768, row0", "mY[b, col0": "mY[b % 32768, col0"},
          "in the last 27,232 elements (32768 to"),
    Wrong("tiles and matrices in one size of the grid", {
        "bx, by, b = cute.arch.block_idx()\n": "bx, by, _ = cute.arch.block_idx()\n"
        "    down = cute.ceil_div(mX.shape[1], 32)\n    by, b = by % down, by // down\n",
        "cute.ceil_div(M, 32), B)": "cute.ceil_div(M, 32) * B, 1)",
    }, "With b = 65,535, m = 33, n = 1, float32, the launch was refused"),
    Wrong("one launch per matrix", {
        "bx, by, b = cute": "bx, by, _ = cute",
        "mY: cute.Tensor):\n    tx": "mY: cute.Tensor, b: cutlass.Int32):\n    tx",
        "    grid = (cute.ceil_div(N, 32), cute.ceil_div(M, 32), B)\n    batch_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))": "    grid = (cute.ceil_div(N, 32), cute.ceil_div(M, 32), 1)\n    for b in range(B):\n        batch_kernel(mX, mY, b).launch(grid=grid, block=(32, 8, 1))",
    }, "more than 2,000 launches in one call"),
)  # fmt: skip
