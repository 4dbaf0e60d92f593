"""Other correct solutions to week2/row_distances."""

from forgekit.lessons.wrong import Wrong

SHUFFLES = """        for offset in (16, 8, 4, 2, 1):
            total += prims.shfl_sync(0xFFFFFFFF, total, offset, 0x1F, prims.Shfl.BFLY)
"""

ALTERNATIVES = (
    Wrong("shuffles down", {"prims.Shfl.BFLY": "prims.Shfl.DOWN"}),
    Wrong("CuTe's reduction", {SHUFFLES: """        total = cute.arch.warp_reduction_sum(total)
"""}),
    Wrong("eight rows per block", {"bidx * 4": "bidx * 8", "mX.shape[0], 4)": "mX.shape[0], 8)", "(128, 1, 1)": "(256, 1, 1)"}),
    Wrong("a view of the row", {"d = x.load((row, i), 4) - z.load((row, i), 4)": "d = x[row, i:].load(0, 4, alignment=16) - z[row, i:].load(0, 4, alignment=16)"}),
)  # fmt: skip
