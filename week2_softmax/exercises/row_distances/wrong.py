"""Wrong solutions to week2/row_distances."""

from forgekit.lessons.wrong import Wrong

LOADS = "d = x.load((row, i), 4) - z.load((row, i), 4)  # (4) from (row, i)"
SUM = 'total += (d * d).reduce("add")'
LOOP = "for i in range(4 * lane, N, 128):"
OFFSETS = "for offset in (16, 8, 4, 2, 1):"
SHUFFLE = "            total += prims.shfl_sync(0xFFFFFFFF, total, offset, 0x1F, prims.Shfl.BFLY)\n"
CUTE = """        gX, gZ = (cute.zipped_divide(mT[row, None], (4,)) for mT in (x, z))
        for i in range(lane, cute.size(gX, mode=[1]), 32):
            d = gX[None, i].load() - gZ[None, i].load()
            total += (d * d).reduce(cute.ReductionOp.ADD, 0.0, 0)
"""

WRONG = (
    Wrong("a slice of a row", {LOADS: "d = x[row, i:4] - z[row, i:4]"}, "both indices are in one tuple"),
    Wrong("no shuffles", {f"        {OFFSETS}\n{SHUFFLE}": ""}, "the result is the sum of lane 0"),
    Wrong("four shuffles", {OFFSETS: "for offset in (8, 4, 2, 1):"}, "the offset 16 is missing"),
    Wrong("no squares", {SUM: "total += d.reduce(\"add\")"}, "not their squares"),
    Wrong("z added", {"(row, i), 4) - z": "(row, i), 4) + z"}, "z is added to x"),
    Wrong("the root", {"y[row] = total": "y[row] = cute.math.sqrt(total)"}, "the result is the root"),
    Wrong("one vector per lane", {LOOP: "for i in range(4 * lane, cutlass.min(N, 128), 128):"},
          "as if each lane loaded one vector"),
    Wrong("the last vector, if their number is odd", {LOOP: "for i in range(4 * lane, cutlass.max(N // 8 * 8, 4), 128):"}, "in this call, columns from 128 on are missing"),
    Wrong("one element per load", {LOOP: "for i in range(lane, N, 32):",
          LOADS: "d = x[row, i] - z[row, i]", SUM: "total += d * d"}, "asks for 16 bytes per load"),
    Wrong("a kernel of tensors", {"x: cutlass.Array, z: cutlass.Array, y: cutlass.Array":
          "x: cute.Tensor, z: cute.Tensor, y: cute.Tensor",
          f"        {LOOP}\n            {LOADS}\n            {SUM}\n": CUTE}, "takes arrays"),
    Wrong("a kernel of arrays that is not launched", {"x: cutlass.Array, z: cutlass.Array, y: cutlass.Array":
          "x: cute.Tensor, z: cute.Tensor, y: cute.Tensor",
          f"        {LOOP}\n            {LOADS}\n            {SUM}\n": CUTE,
          "@cute.jit\n": "@cute.kernel\ndef other(x: cutlass.Array):\n    pass\n\n\n@cute.jit\n"}, "No kernel that is launched"),
    Wrong("a tensor for the result", {"y: cutlass.Array": "y: cute.Tensor"}, "takes 2 arrays, needed 3"),
    Wrong("no predicate", {"if row < M:": "if row >= 0:"}, "Out of bounds"),
    Wrong(
        "squares and products",
        {"            d = x.load((row, i), 4) - z.load((row, i), 4)  # (4) from (row, i)\n            total += (d * d).reduce(\"add\")": "            a, b = x.load((row, i), 4), z.load((row, i), 4)\n            total += (a * a - a * b - a * b + b * b).reduce(\"add\")"},
        "WRONG mY: 1 of 2 elements differs",
    ),
    Wrong(
        "vectors of 8",
        {"range(4 * lane, N, 128)": "range(8 * lane, N // 8 * 8, 256)", "x.load((row, i), 4) - z.load((row, i), 4)": "x.load((row, i), 8) - z.load((row, i), 8)"},
        "The PTX contains loads, but each thread's `if` or loop skips them",
    ),
    Wrong("only lanes with a vector shuffle", {f"        {OFFSETS}\n{SHUFFLE}": f"        if 4 * lane < N:\n          {OFFSETS}\n{SHUFFLE}"},
          "from an inactive lane"),
    Wrong("sums down, stored by all lanes", {"prims.Shfl.BFLY": "prims.Shfl.DOWN", "        if lane == 0:\n            y": "        y"},
          ": y[row] = total (×2)"),
    Wrong("tensors as further parameters", {"y: cutlass.Array": "y: cutlass.Array, mX, mZ", "(mX, mZ, mY).launch": "(mX, mZ, mY, mX, mZ).launch",
          f"        {LOOP}\n            {LOADS}\n            {SUM}\n": CUTE.replace("(x, z)", "(mX, mZ)")}, "A launched kernel takes tensors"),
)  # fmt: skip
