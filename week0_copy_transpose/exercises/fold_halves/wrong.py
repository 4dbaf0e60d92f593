"""Wrong solutions of week0/fold_halves."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("no predicate", {"if i < half:": "if i >= 0:"}, "away from memory"),
    Wrong("one vector more", {"if i < half:": "if i <= half:"},
          "thread (2, 0, 0) of block (0, 0, 0) reads mX[32]"),
    Wrong("elements for vectors", {"mY.shape[0] // vec": "mY.shape[0]"},
          "not the number of whole vectors"),
    Wrong("half left out", {" + gX[(None, half + i)].load()": ""}, "the second half is left out"),
    Wrong("to itself", {"half + i": "i"}, "added to itself"),
    Wrong("one vector further", {"half + i)": "half + i + 1)"},
          "thread (1, 0, 0) of block (0, 0, 0) reads mX[32]"),
    Wrong("a fixed grid", {"grid=(blocks": "grid=(500"}, "Threads launched: 64,000"),
    Wrong("blocks for elements", {"128 * vec)": "128)"}, "Threads launched: 49,024"),
    Wrong("element by element",
          {"gY[(None, i)].store(gX[(None, i)].load() + gX[(None, half + i)].load())":
           "for k in range(vec):\n            mY[i * vec + k] = mX[i * vec + k] + "
           "mX[(half + i) * vec + k]"},
          "the solution needs"),
    Wrong("blocks rounded down", {"cute.ceil_div(mY.shape[0], 128 * vec)":
                                  "mY.shape[0] // (128 * vec)"}, "use cute.ceil_div for the grid"),
)  # fmt: skip
