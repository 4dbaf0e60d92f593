"""Wrong solutions to week0/fix_the_turn."""

from forgekit.lessons.wrong import Wrong

_STORED = """    row, col = bidy * 32 + tidx, bidx * 32 + tidy
    if row < M and col < N:
        mY[col, M - 1 - row] = sT[tidx, tidy]
"""
_ALONE = """    for c in cutlass.range(cute.ceil_div(N, 32)):
        for r in cutlass.range(cute.ceil_div(M, 32)):
            row, col = r * 32 + tidy, c * 32 + tidx
            cute.arch.sync_threads()
            if row < M and col < N:
                sT[tidy, tidx] = mX[row, col]
            cute.arch.sync_threads()
            row, col = r * 32 + tidx, c * 32 + tidy
            if row < M and col < N:
                mY[col, M - 1 - row] = sT[tidx, tidy]
"""
_LOADED = """    row, col = bidy * 32 + tidy, bidx * 32 + tidx
    if row < M and col < N:
        sT[tidy, tidx] = mX[row, col]
    cute.arch.sync_threads()
"""
_STRIDED = """    row, col = bidy * 32 + tidx, bidx * 32 + tidy
    if row < M and col < N:
        sT[tidx, tidy] = mX[row, col]
    cute.arch.sync_threads()
"""
_LANES = """    value = Float32(0.0)
    row, col = bidy * 32 + tidx, bidx * 32 + tidy
    for lane in cutlass.range(32, unroll=1):
        if tidx == lane and row < M and col < N:
            value = sT[tidx, tidy]
    if row < M and col < N:
        mY[col, M - 1 - row] = value
"""
_PREDICATE = "    row, col = bidy * 32 + tidx, bidx * 32 + tidy\n    if row < M and col < N:"
_KEPT = """    if row < M and col < N:
        row, col = bidy * 32 + tidx, bidx * 32 + tidy"""
WRONG = (
    Wrong(
        "no predicate of the load",
        {
            "    if row < M and col < N:\n        sT[tidy, tidx] = mX": "    sT[tidy, tidx] = mX",
        },
        "threads load whose element does not exist",
    ),
    Wrong("unchanged", {_STORED: """    if row < M and col < N:
        mY[col, M - 1 - row] = sT[tidy, tidx]
"""}, "still store to neighbouring *rows*"),
    Wrong("not padded", {"stride=(33, 1)": "stride=(32, 1)"}, "so all lanes access one bank"),
    Wrong("padded by two", {"stride=(33, 1)": "stride=(34, 1)"}, "different words of one bank"),
    Wrong("stored twice", {_STORED: _STORED.replace("        mY", "        mY[col, M - 1 - row] = Float32(0.0)\n        cute.arch.fence_acq_rel_cta()\n        mY")},
          "stored more than once"),
    Wrong("transposed", {"M - 1 - row": "row"}, "the result is the transpose"),
    Wrong("to the left", {"mY[col, M - 1 - row]": "mY[N - 1 - col, row]"}, "is rotated counterclockwise"),
    Wrong("mirrored in tiles", {"M - 1 - row": "bidy * 32 + 31 - tidx"}, "within each tile are mirrored"),
    Wrong("read as stored", {"= sT[tidx, tidy]": "= sT[tidy, tidx]"}, "not turned into columns"),
    Wrong("no NaN", {"= sT[tidx, tidy]": "= cute.arch.fmax(sT[tidx, tidy], -Float32.inf)"}, "NaN: 0 in actual, 1 in expected"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "that *another* thread stored"),
    Wrong("strided load", {_LOADED: _STRIDED}, "now the load is strided"),
    Wrong("one block", {_LOADED: "", _STORED: _ALONE, "grid=grid": "grid=(1, 1, 1)"},
          "a few blocks do all the work"),
    Wrong("lane by lane", {"stride=(33, 1)": "stride=(32, 1)", _STORED: _LANES},
          "read sT in several requests"),
    Wrong("each element read twice", {"        mY[col, M - 1 - row] = sT[tidx, tidy]": "        value = sT[tidx, tidy]\n"
          "        cute.arch.fence_acq_rel_cta()\n        mY[col, M - 1 - row] = 0.5 * (value + sT[tidx, tidy])"},
          "reads some elements of sT more than once"),
    Wrong("a tile in float64", {"allocate_tensor(Float32, ": "allocate_tensor(cutlass.Float64, ", "sT[tidy, tidx] = mX[row, col]": "sT[tidy, tidx] = mX[row, col].to(cutlass.Float64)",
          "= sT[tidx, tidy]": "= sT[tidx, tidy].to(Float32)"}, "a lane reads more than 4 bytes of sT"),
    Wrong("predicate of the load", {_PREDICATE: _KEPT}, "the row and the column that the thread *stores* both exist"),
    Wrong("no predicate on the load", {_LOADED: _LOADED.replace("if row < M and col < N", "if True")},
          "Keep the predicate of the load"),
    Wrong("barrier in the if", {_LOADED: _LOADED.replace("    cute.arch", "        cute.arch")},
          "outside every `if`"),
    Wrong("a tile of 198 kB", {"make_layout((32, 32)": "make_layout((1500, 32)"},
          "not counting 48 per thread: 11,907,520"),
    Wrong("loaded once more", {"= sT[tidx, tidy]": "= mX[row, col]"},
          "some elements are loaded more than once"),
)  # fmt: skip
