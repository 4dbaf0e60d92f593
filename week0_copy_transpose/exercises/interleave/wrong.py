"""Wrong solutions of week0/interleave."""

from forgekit.lessons.wrong import Wrong

VECTOR = """        rZ = cute.make_rmem_tensor(2, mA.element_type)
        rZ[0], rZ[1] = mA[i], mB[i]
        cute.autovec_copy(rZ, gZ[(None, i)])"""
TWO_STORES = """        gZ[(0, i)] = mA[i]
        gZ[(1, i)] = mB[i]"""
BEHIND = """        gZ[i] = mA[i]
        gZ[mA.shape[0] + i] = mB[i]"""

WRONG = (
    Wrong("two stores", {VECTOR: TWO_STORES}, "neighbouring threads are 8 bytes apart"),
    Wrong("exchanged", {"mA[i], mB[i]": "mB[i], mA[i]"}, "a and b have changed places"),
    Wrong("behind each other", {VECTOR: BEHIND}, "b stands behind a"),
    Wrong("b never read", {"mA[i], mB[i]": "mA[i], mA[i]"}, "b is never read"),
    Wrong("no predicate", {"if i < mA.shape[0]:": "if i >= 0:"}, "nothing keeps the threads"),
    Wrong("bound of z", {"i < mA.shape[0]": "i < 2 * mA.shape[0]"}, "lets threads 4 to 7 through"),
    Wrong(
        "pairs of a", {"mA[i], mB[i]": "mA[2 * i], mB[2 * i + 1]"}, "block (0, 0, 0) reads mA[4]"
    ),
    Wrong(
        "rounded down",
        {"cute.ceil_div(mA.shape[0], 128)": "mA.shape[0] // 128"},
        "use cute.ceil_div for the grid",
    ),
    Wrong(
        "not stored",
        {"        cute.autovec_copy(rZ, gZ[(None, i)])\n": ""},
        "no thread writes to global memory",
    ),
    Wrong(
        "one block",
        {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"},
        "all mismatches lie in the last 1,744 elements",
    ),
)
