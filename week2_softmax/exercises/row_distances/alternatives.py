"""Other correct solutions to week2/row_distances."""

from forgekit.lessons.wrong import Wrong

SHUFFLES = """        for offset in (16, 8, 4, 2, 1):
            total += prims.shfl_sync(0xFFFFFFFF, total, offset, 0x1F, prims.Shfl.BFLY)
"""

ALTERNATIVES = (
    Wrong("shuffles down", {"prims.Shfl.BFLY": "prims.Shfl.DOWN"}),
    Wrong("CuTe's reduction", {SHUFFLES: """        total = cute.arch.warp_reduction_sum(total)
"""}),
    Wrong("a decorator with parentheses", {"@cute.kernel\n": "@cute.kernel()\n"}),
    Wrong("a comment under the decorator", {"@cute.kernel\n": "@cute.kernel\n# defined for arrays\n"}),
    Wrong("the length first", {"(x: cutlass.Array, z": "(n: cutlass.Int32, x: cutlass.Array, z", "(mX, mZ, mY).launch": "(mX.shape[1], mX, mZ, mY).launch"}),
    Wrong("eight rows per block", {"bidx * 4": "bidx * 8", "mX.shape[0], 4)": "mX.shape[0], 8)", "(128, 1, 1)": "(256, 1, 1)"}),
    Wrong("a view of the row", {"d = x.load((row, i), 4) - z.load((row, i), 4)": "d = x[row, i:].load(0, 4, alignment=16) - z[row, i:].load(0, 4, alignment=16)"}),
)  # fmt: skip
