"""Other correct solutions to week0/interleave."""

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
    Wrong("through shared memory", {"""    if i < mA.shape[0]:
        rZ = cute.make_rmem_tensor(2, mA.element_type)
        rZ[0], rZ[1] = mA[i], mB[i]
        cute.autovec_copy(rZ, gZ[(None, i)])""": """    sZ = cute.arch.alloc_smem(mA.element_type, 256)
    if i < mA.shape[0]:
        sZ[2 * tidx], sZ[2 * tidx + 1] = mA[i], mB[i]
    cute.arch.sync_threads()
    for k in range(2):
        z = bidx * 256 + k * 128 + tidx
        if z < mZ.shape[0]:
            mZ[z] = sZ[k * 128 + tidx]""", "    gZ = cute.zipped_divide(mZ, (2,))  # ((2),(Rest))\n": ""}),
    Wrong("a thread per element of z", {"""        rZ = cute.make_rmem_tensor(2, mA.element_type)
        rZ[0], rZ[1] = mA[i], mB[i]
        cute.autovec_copy(rZ, gZ[(None, i)])""": "        mZ[i] = mA[i // 2] if i % 2 == 0 else mB[i // 2]",
          "if i < mA.shape[0]": "if i < mZ.shape[0]", "mA.shape[0], 128": "mZ.shape[0], 128"}),
)  # fmt: skip
