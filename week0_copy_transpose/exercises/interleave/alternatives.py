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
)  # fmt: skip
