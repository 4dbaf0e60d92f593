"""Wrong solutions to week0/interleave."""

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
    Wrong(
        "at most 1,024 blocks",
        {"grid=(blocks, 1, 1)": "grid=(min(blocks, 1024), 1, 1)"},
        "the first of them is mZ[262144]",
    ),
    Wrong("exchanged", {"mA[i], mB[i]": "mB[i], mA[i]"}, "a and b are swapped"),
    Wrong("behind each other", {VECTOR: BEHIND}, "b follows a instead"),
    Wrong("b never read", {"mA[i], mB[i]": "mA[i], mA[i]"}, "in place of b[i]"),
    Wrong(
        "24 KiB of shared memory per block",
        {
            VECTOR: VECTOR
            + """
    sZ = cutlass.memory.SmemAllocator().allocate_tensor(mA.element_type, cute.make_layout(6144), 16)
    sZ[tidx] = mA.element_type(0)""",
            "@cute.kernel": "import cutlass\n\n\n@cute.kernel",
        },
        "not counting 48 per thread",
    ),
)
