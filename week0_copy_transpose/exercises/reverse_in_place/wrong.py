"""Wrong solutions to week0/reverse_in_place."""

from forgekit.lessons.wrong import Wrong

STORES = """        mX[i] = back
        mX[n - 1 - i] = front"""
LOADS = "front, back = mX[i], mX[n - 1 - i]"

BLOCKS = "cute.ceil_div(mX.shape[0], 2 * 128)"
ALL = {"i < n // 2": "i < n", BLOCKS: "cute.ceil_div(mX.shape[0], 128)"}
NO_REGISTER = """        mX[i] = mX[n - 1 - i]
        mX[n - 1 - i] = mX[i]"""

WRONG = (
    Wrong("every thread exchanges", ALL, "Let one thread swap both elements of a pair"),
    Wrong(
        "no register", {LOADS: "pass", STORES: NO_REGISTER}, "the back half holds its old values"
    ),
    Wrong("middle twice", {"i < n // 2": "i <= n // 2"}, "elements are stored more than once"),
    Wrong(
        "off by one",
        {LOADS: "front, back = mX[i], mX[n - i]", "mX[n - 1 - i] = front": "mX[n - i] = front"},
        "the last element is n - 1",
    ),
    Wrong(
        "the two threads of a pair meet at a barrier",
        {
            "    if i < n // 2:\n        front, back = mX[i], mX[n - 1 - i]\n"
            + STORES: """    half = n // 2
    i = bidx * 64 + tidx % 64
    at = i if tidx < 64 else n - 1 - i
    value = mX[at] if i < half else mX[n // 2]
    cute.arch.sync_threads()
    if i < half:
        mX[n - 1 - at] = value""",
            "i = bidx * 128 + tidx": "pass",
            "2 * 128": "2 * 64",
        },
        "the task asks for no barriers",
    ),
    Wrong(
        "fractions lost",
        {
            "@cute.kernel": "import cutlass\n\n\n@cute.kernel",
            "= back": "= back.to(cutlass.Int32).to(mX.element_type)",
        },
        "With n = 9, float32, the result is wrong",
    ),
    Wrong("nothing", {LOADS: "pass", STORES: "        pass"}, "x is unchanged"),
    Wrong(
        "within the block",
        {LOADS: "front, back = mX[i], mX[bidx * 128 + 127 - tidx]"},
        "or its part for each block, had 128 elements",
    ),
    Wrong(
        "a fixed grid",
        {
            "    if i < n // 2:\n        front, back = mX[i], mX[n - 1 - i]\n"
            + STORES: """    for j in range(i, n // 2, 2048):
        front, back = mX[j], mX[n - 1 - j]
        mX[j] = back
        mX[n - 1 - j] = front""",
            "grid=(blocks,": "grid=(16,",
        },
        "launch fewer threads. Either some have nothing to do",
    ),
    Wrong(
        "two lanes exchange a pair",
        {
            "    if i < n // 2:\n        front, back = mX[i], mX[n - 1 - i]\n"
            + STORES: """    half = n // 2
    for k in range(2):
        i = bidx * 128 + k * 64 + tidx // 2
        at = i if tidx % 2 == 0 else n - 1 - i
        value = mX[at] if i < half else mX[n // 2]
        cute.arch.sync_warp()
        if i < half:
            mX[n - 1 - at] = value""",
            "    i = bidx * 128 + tidx\n": "",
        },
        "two threads load the pair",
    ),
)
