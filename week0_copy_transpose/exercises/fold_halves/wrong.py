"""Wrong solutions of week0/fold_halves."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("no predicate", {"if i < half:": "if i >= 0:"}, "away from memory"),
    Wrong("one vector more", {"if i < half:": "if i <= half:"}, "Out of bounds"),
    Wrong("elements for vectors", {"mY.shape[0] // vec": "mY.shape[0]"}, "Out of bounds"),
    Wrong("half left out", {" + gX[(None, half + i)].load()": ""}, "the second half is left out"),
    Wrong("to itself", {"half + i": "i"}, "added to itself"),
    Wrong("one vector further", {"half + i)": "half + i + 1)"}, "Out of bounds"),
    Wrong("a fixed grid", {"grid=(blocks": "grid=(500"}, "Threads launched"),
    Wrong("blocks for elements", {"128 * vec)": "128)"}, "Threads launched"),
    Wrong("element by element",
          {"gY[(None, i)].store(gX[(None, i)].load() + gX[(None, half + i)].load())":
           "for k in range(vec):\n            mY[i * vec + k] = mX[i * vec + k] + "
           "mX[(half + i) * vec + k]"},
          "needs"),
    Wrong("blocks rounded down", {"cute.ceil_div(mY.shape[0], 128 * vec)":
                                  "mY.shape[0] // (128 * vec)"}, "use cute.ceil_div for the grid"),
)  # fmt: skip
