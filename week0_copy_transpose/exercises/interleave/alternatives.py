"""Other right solutions of week0/interleave."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "(128, 1, 1)": "(256, 1, 1)",
        "ceil_div(mA.shape[0], 128)": "ceil_div(mA.shape[0], 256)",
    }),
    Wrong("the pair stored as a vector", {
        "cute.autovec_copy(rZ, gZ[(None, i)])": "gZ[(None, i)].store(rZ.load())",
    }),
    Wrong("a thread per element of z", {"""        rZ = cute.make_rmem_tensor(2, mA.element_type)
        rZ[0], rZ[1] = mA[i], mB[i]
        cute.autovec_copy(rZ, gZ[(None, i)])""": "        mZ[i] = mA[i // 2] if i % 2 == 0 else mB[i // 2]",
          "if i < mA.shape[0]": "if i < mZ.shape[0]", "mA.shape[0], 128": "mZ.shape[0], 128"}),
)  # fmt: skip
