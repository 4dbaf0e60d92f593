"""Wrong solutions to week2/padded_backward."""

from forgekit.lessons.wrong import Wrong

SUM = "for n in range(lane, length, 32):"
CHECKED = """            dx = Float32(0.0)
            if n < length:
                dx = (mdY[row, n].to(Float32) - dot) * mY[row, n].to(Float32)
"""
REDUCED = "        dot = cute.arch.warp_reduction(dot, operator.add)\n"
TO_THE_END = "for n in range(lane, mY.shape[1], 32):"
DX = "(mdY[row, n].to(Float32) - dot) * mY[row, n].to(Float32)"

WRONG = (
    Wrong("multiplied by the mask", {CHECKED: f"""            valid = Float32(0.0)
            if n < length:
                valid = Float32(1.0)
            dx = {DX} * valid
"""}, "a product of 0 and infinity, give NaN"),
    Wrong("sum of the whole row", {SUM: "for n in range(lane, mY.shape[1], 32):"},
          "whole row, including the columns"),
    Wrong("nothing written beyond", {TO_THE_END: "for n in range(lane, length, 32):"}, "nothing is stored beyond"),
    Wrong("one column too many", {SUM: "for n in range(lane, length + 1, 32):"}, "one column too many"),
    Wrong("no sum", {f"dx = {DX}": "dx = mdY[row, n].to(Float32) * mY[row, n].to(Float32)"},
          "nothing, or 0, is subtracted from dy"),
    Wrong("no shuffles", {REDUCED: ""}, "only the dy·y of its own lane's columns"),
    Wrong("dx of its own y alone", {DX: "mdY[row, n].to(Float32) * mY[row, n].to(Float32) * (1.0 - mY[row, n].to(Float32))"},
          "instead of Σ dy·y, each element uses only"),
    Wrong("a length of 16 bits", {"mLength[row]": "mLength[row].to(Int16).to(Int32)", "@cute.kernel": "from cutlass import Int16, Int32\n\n\n@cute.kernel"}, "With m = 2, n = 32,768"),
    Wrong("the length of a block's first row", {"mLength[row]": "mLength[bidx * 4]"}, "float32, the result is wrong"),
    Wrong("the length of the first row", {"mLength[row]": "mLength[0]"}, "as if it were as long as row 0"),
    Wrong("rows of length 0 left out", {"    if row < mY.shape[0]:\n        length = mLength[row]":
          "    length = Int32(0)\n    if row < mY.shape[0]:\n        length = mLength[row]\n    if length > 0:",
          "@cute.kernel": "from cutlass import Int32\n\n\n@cute.kernel"}, "all between rows 2 and 4"),
    Wrong("loads what it does not need", {CHECKED: f"""            dx = {DX}
            if n >= length:
                dx = Float32(0.0)
"""}, "do not contribute to the result"),
    Wrong("the next column loaded in advance", {f"        {SUM}\n            dot += mdY[row, n].to(Float32) * mY[row, n].to(Float32)\n": f"""        a, b = mdY.element_type(0.0), mY.element_type(0.0)
        if lane < length:
            a, b = mdY[row, lane], mY[row, lane]
        {SUM}
            dot += a.to(Float32) * b.to(Float32)
            if n + 32 < mY.shape[1]:
                a, b = mdY[row, n + 32], mY[row, n + 32]
"""}, "elements of mdY beyond the length are loaded"),
    Wrong("a length of at least 1", {SUM: "for n in range(lane, max(length, 1), 32):"},
          "The first is mdY[2, 0]; length[2] is 0"),
    Wrong("almost 0 beyond the length", {"dx = Float32(0.0)": "dx = Float32(1e-8)"}, "but has to be 0"),
    Wrong("infinity less infinity", {CHECKED: CHECKED.replace("0.0)", "0.0) * Float32.inf")}, "every wrong element is NaN (stored by threads)"),
    Wrong("only lanes with a column shuffle", {"        dot = cute.arch.warp_reduction(":
          "        if lane < mY.shape[1]:\n            dot = cute.arch.warp_reduction("}, "from an inactive lane"),
)  # fmt: skip
