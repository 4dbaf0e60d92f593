"""Wrong solutions to week0/fold_halves."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("no predicate", {"if i < half:": "if i >= 0:"}, "every thread beyond the last vector accesses memory"),
    Wrong("elements for vectors", {"mY.shape[0] // vec": "mY.shape[0]"},
          "the number of whole vectors, and false for all others"),
    Wrong("half left out", {" + gX[(None, half + i)].load()": ""}, "the second half is missing"),
    Wrong("to itself", {"half + i": "i"}, "added to itself"),
    Wrong("a fixed grid", {"grid=(blocks": "grid=(500"}, "Threads launched: 64,000"),
    Wrong("eight elements in any type", {"vec = cutlass.const_expr(128 // mX.element_type.width)\n    gX":
          "vec = 8\n    gX", "vec = cutlass.const_expr(128 // mX.element_type.width)\n    blocks": "vec = 8\n    blocks"},
          "Sectors loaded: "),
    Wrong("an index of 16 bits", {"= bidx * 128 + tidx, ": "= (bidx * 128 + tidx).to(cutlass.Int16).to(cutlass.Int32), "},
          "Out of bounds"),
    Wrong("single elements", {"gY[(None, i)].store(gX[(None, i)].load() + gX[(None, half + i)].load())": "mY[i] = mX[i] + mX[half + i]", "mY.shape[0] // vec\n    if": "mY.shape[0]\n    if", "128 * vec)": "128)"}, "the task asks for 16 bytes per load"),
)  # fmt: skip
