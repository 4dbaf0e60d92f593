"""Wrong solutions of week0/add_arrays."""

from forgekit.lessons.wrong import Wrong

GRID = "grid=(blocks, 1, 1)"
BODY = """    if i < mZ.shape[0]:
        mZ[i] = mA[i] + mB[i]"""
ONE_THREAD = """    if i == 0:
        for j in range(mZ.shape[0]):
            mZ[j] = mA[j] + mB[j]"""
EVERY_BLOCK = """    for k in range(cute.ceil_div(mZ.shape[0], 128)):
        j = k * 128 + tidx
        if j < mZ.shape[0]:
            mZ[j] = mA[j] + mB[j]"""
ONE_BLOCK = """    for j in range(tidx, mZ.shape[0], 128):
        mZ[j] = mA[j] + mB[j]"""

WRONG = (
    Wrong("no predicate", {"if i < mZ.shape[0]:": "if i >= 0:"}, "nothing keeps the threads"),
    Wrong("bound too large", {"i < mZ.shape[0]": "i <= mZ.shape[0]"}, "lets thread 8 through"),
    Wrong("a fixed bound", {"i < mZ.shape[0]": "i < 64"}, "lets threads 8 to 63 through"),
    Wrong("shifted", {"mA[i] +": "mA[i + 1] +"}, "thread i reaches element i + 1"),
    Wrong("b forgotten", {"mA[i] + mB[i]": "mA[i]"}, "b is not added"),
    Wrong("blocks rounded down", {"cute.ceil_div(mZ.shape[0], 128)": "mZ.shape[0] // 128"},
          "use cute.ceil_div for the grid"),
    Wrong("one block", {GRID: "grid=(1, 1, 1)"}, "what is missing begins where they end"),
    Wrong("a fixed grid", {GRID: "grid=(20_000, 1, 1)"}, "their number follows from the length"),
    Wrong("nothing stored", {"mZ[i] = mA": "z = mA"}, "no thread writes to global memory"),
    Wrong("one thread", {BODY: ONE_THREAD, GRID: "grid=(1, 1, 1)"}, "as long for one lane"),
    Wrong("every block does it all", {BODY: EVERY_BLOCK}, "elements are stored more than once"),
    Wrong("one block strides over all", {BODY: ONE_BLOCK, GRID: "grid=(1, 1, 1)"},
          "has to grow with the length"),
)  # fmt: skip
