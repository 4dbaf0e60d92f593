"""Other correct solutions to week0/fold_halves."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("through registers", {"gY[(None, i)].store(gX[(None, i)].load() + gX[(None, half + i)].load())":
          "rX = cute.make_rmem_tensor(vec, mX.element_type)\n        rY = cute.make_rmem_tensor(vec, mX.element_type)\n"
          "        cute.autovec_copy(gX[(None, i)], rX)\n        cute.autovec_copy(gX[(None, half + i)], rY)\n"
          "        rY.store(rX.load() + rY.load())\n        cute.autovec_copy(rY, gY[(None, i)])"}),
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "mY.shape[0], 128 * vec": "mY.shape[0], 256 * vec",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("adds in float32", {"gX[(None, i)].load() + gX[(None, half + i)].load()": "(gX[(None, i)].load().to(cutlass.Float32)"
          " + gX[(None, half + i)].load().to(cutlass.Float32)).to(mY.element_type)"}),
)  # fmt: skip
