"""Wrong solutions to week0/mirror_rows."""

from forgekit.lessons.wrong import Wrong

_MOVE = """        rX = cute.make_rmem_tensor(8, mX.element_type)
        rY = cute.make_rmem_tensor(8, mX.element_type)
        cute.autovec_copy(gX[(0, None), (row, v)], rX)
        for k in cutlass.range_constexpr(8):
            rY[k] = rX[7 - k]
        cute.autovec_copy(rY, gY[(0, None), (row, vectors - 1 - v)])
"""
_FIND = """    gX = cute.zipped_divide(mX, (1, 8))  # ((1,8),(M,N/8))
    gY = cute.zipped_divide(mY, (1, 8))  # ((1,8),(M,N/8))
    M, vectors = gX.shape[1]
    i = bidx * 256 + tidx
    if i < M * vectors:
        row, v = i // vectors, i % vectors
"""
_ELEMENT = """    M, N = mX.shape
    i = bidx * 1024 + tidx
    if i < M * N:
        row, col = i // N, i % N
        mY[row, N - 1 - col] = mX[row, col]
"""
_ROWS = """    N = mX.shape[1]
    for col in range(tidx, N, 256):
        mY[bidx, N - 1 - col] = mX[bidx, col]
"""
_LAUNCH = "(blocks, 1, 1), block=(256, 1, 1)"
WRONG = (
    Wrong("another block size", {_FIND: _ELEMENT, _MOVE: "", "8 * 256": "1024",
                                 _LAUNCH: "(blocks, 1, 1), block=(1024, 1, 1)"},
          "still moves one element of 2 bytes"),
    Wrong("one block per row", {_FIND: _ROWS, _MOVE: "", "grid=(blocks,": "grid=(mX.shape[0],"},
          "a thread moves several elements now"),
    Wrong("single stores", {"        cute.autovec_copy(rY, gY[(0, None), (row, vectors - 1 - v)])\n":
                            "        for k in cutlass.range_constexpr(8):\n"
                            "            mY[row, (vectors - 1 - v) * 8 + k] = rY[k]\n",
                            "    i = bidx * 256 + tidx\n    if i":
                            "    mY = cute.make_tensor(mY.iterator.align(2), mY.layout)\n"
                            "    i = bidx * 256 + tidx\n    if i"},
          "the loads are wider than the stores now"),
    Wrong("turned in place", {"vectors - 1 - v": "v"}, "each vector is reversed but not moved"),
    Wrong("old order inside", {"rX[7 - k]": "rX[k]"}, "keep their old order"),
    Wrong("right at small sizes", {"    if i < M * vectors:": "    if i < M * vectors and i < 500_000:"},
          "their part of the result has"),
    Wrong("a block in y per row", {"bidx, _, _ = cute.arch.block_idx()": "bidx, row, _ = cute.arch.block_idx()",
                                   "    i = bidx * 256 + tidx\n    if i < M * vectors:\n        row, v = i // vectors, i % vectors\n":
                                   "    v = bidx * 256 + tidx\n    if v < vectors:\n",
                                   "    blocks = cute.ceil_div(cute.size(mX), 8 * 256)\n": "    blocks = cute.ceil_div(mX.shape[1], 8 * 256)\n",
                                   "grid=(blocks, 1, 1)": "grid=(blocks, mX.shape[0], 1)"},
          "put the longest dimension in x"),
)  # fmt: skip
