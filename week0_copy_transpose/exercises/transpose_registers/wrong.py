"""Wrong solutions to week0/transpose_registers."""

from forgekit.lessons.wrong import Wrong

_PREDICATE = "if i * 8 < M and j * 8 < N:"
_LOAD = "            cute.autovec_copy(gX[r, None], rX[r, None])\n"
_STORE = "            cute.autovec_copy(rY[c, None], gY[c, None])\n"
_TURN = "rY[c, r] = rX[r, c]"
_LOOPS = """        for r in cutlass.range_constexpr(8):
            for c in cutlass.range_constexpr(8):
"""
_SHARED = """        smem = cutlass.memory.SmemAllocator()
        squares = cute.make_layout((32, 8, 8), stride=(64, 8, 1))
        sS = smem.allocate_tensor(mX.element_type, squares, 16)
        for r in cutlass.range_constexpr(8):
            for c in cutlass.range_constexpr(8):
                sS[tidx, c, r] = rX[r, c]
        for r in cutlass.range_constexpr(8):
            for c in cutlass.range_constexpr(8):
                rY[c, r] = sS[tidx, c, r]
"""

WRONG = (
    Wrong("not turned", {_TURN: "rY[r, c] = rX[r, c]"}, "the kernel transposes nothing inside them"),
    Wrong(
        "turned in place",
        {_TURN: "rX[c, r] = rX[r, c]", _STORE: _STORE.replace("rY", "rX")},
        "each square of the result is symmetric",
    ),
    Wrong(
        "a view that is turned",
        {
            "rY = cute.make_rmem_tensor(square, ": "turned = cute.make_layout((8, 8), "
            "stride=(1, 8))\n        rY = cute.make_rmem_tensor(turned, "
        },
        "contiguous in registers",
    ),
    Wrong(
        "loads column by column",
        {_LOAD: "            cute.autovec_copy(gX[None, r], rX[None, r])\n"},
        "each lane reads 2 bytes at a time",
    ),
    Wrong(
        "a loop at run time",
        {_LOOPS: _LOOPS.replace("range_constexpr(8)", "range(8, unroll=1)")},
        "the compiler has put the square into local memory",
    ),
    Wrong("through shared memory", {_LOOPS + "                " + _TURN + "\n": _SHARED},
          "transposes its own square in registers"),
    Wrong("no predicate", {_PREDICATE: "if True:"}, "threads load squares that do not exist"),
    Wrong("sizes exchanged", {_PREDICATE: "if i * 8 < N and j * 8 < M:"}, "Are M and N swapped"),
    Wrong(
        "a barrier outside of the if",
        {_PREDICATE: "cute.arch.sync_threads()\n    " + _PREDICATE},
        "so there is nothing to wait for",
    ),
    Wrong(
        "squares side by side only",
        {
            "by * 4 + tidx // 8, bx * 8 + tidx % 8": "by, bx * 32 + tidx",
            "mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32)": "mX.shape[1], 256), "
            "cute.ceil_div(mX.shape[0], 8)",
        },
        "some requests use only half of a sector",
    ),
    Wrong(
        "a doubled grid",
        {"cute.ceil_div(mX.shape[0], 32)": "2 * cute.ceil_div(mX.shape[0], 32)"},
        "a thread moves",
    ),
    Wrong(
        "the lowest blocks element by element",
        {
            _LOAD: "            for c in cutlass.range_constexpr(8):\n"
            "                if by * 32 + 32 > M:\n"
            "                    rX[r, c] = mX[i * 8 + r, j * 8 + c]\n"
            "            if by * 32 + 32 <= M:\n"
            "                cute.autovec_copy(gX[r, None], rX[r, None])\n"
        },
        "with 40×72 bfloat16",
    ),
    Wrong("a grid 1.4 times as large", {"cute.ceil_div(mX.shape[0], 32)": "cute.ceil_div(mX.shape[0], 23)"},
          "with 1000×1096 float16; the limit is"),
)  # fmt: skip
