"""Wrong solutions of week0/reverse_in_place."""

from forgekit.lessons.wrong import Wrong

STORES = """        mX[i] = back
        mX[n - 1 - i] = front"""
LOADS = "front, back = mX[i], mX[n - 1 - i]"

BLOCKS = "cute.ceil_div(mX.shape[0], 2 * 128)"
ALL = {"i < n // 2": "i < n", BLOCKS: "cute.ceil_div(mX.shape[0], 128)"}
NO_REGISTER = """        mX[i] = mX[n - 1 - i]
        mX[n - 1 - i] = mX[i]"""
IN_A_LOOP = """            front, back = mX[k], mX[n - 1 - k]
            mX[k] = back
            mX[n - 1 - k] = front"""

WRONG = (
    Wrong("every thread exchanges", ALL, "wrote at wrong.py, line 15"),
    Wrong(
        "every thread writes one",
        {**ALL, LOADS: "back = mX[n - 1 - i]", STORES: "        mX[i] = back"},
        "an element has two threads",
    ),
    Wrong("no register", {LOADS: "pass", STORES: NO_REGISTER}, "overwritten before it was read"),
    Wrong("half only", {"        mX[n - 1 - i] = front\n": ""}, "the front half is right"),
    Wrong("middle twice", {"i < n // 2": "i <= n // 2"}, "elements are stored more than once"),
    Wrong(
        "off by one",
        {LOADS: "front, back = mX[i], mX[n - i]", "mX[n - 1 - i] = front": "mX[n - i] = front"},
        "the last one is number n - 1",
    ),
    Wrong(
        "no blocks",
        {BLOCKS: "cute.ceil_div(mX.shape[0] // 2, 128)"},
        "With n = 1, float32 the kernel was stopped",
    ),
    Wrong(
        "one pair too few",
        {BLOCKS: "mX.shape[0] // 256 + 1", "i < n // 2": "i < n // 2 - 1"},
        "all mismatches lie between elements 2 and 4",
    ),
    Wrong(
        "one thread",
        {"i < n // 2": "i == 0", LOADS: "for k in range(n // 2):", STORES: IN_A_LOOP},
        "as long for one lane",
    ),
    Wrong("nothing", {LOADS: "pass", STORES: "        pass"}, "x is as it was"),
    Wrong(
        "within the block",
        {LOADS: "front, back = mX[i], mX[bidx * 128 + 127 - tidx]"},
        "not of each block by itself",
    ),
)
