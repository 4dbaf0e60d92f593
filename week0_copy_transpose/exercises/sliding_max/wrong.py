"""Wrong solutions to week0/sliding_max."""

from forgekit.lessons.wrong import Wrong

SYNC = "    cute.arch.sync_threads()\n"
HALO = """    if tidx < 3:
        sX[128 + tidx] = mX[i + 128] if i + 128 < n else -cutlass.Float32.inf
"""
MAX = "max(max(sX[tidx], sX[tidx + 1]), max(sX[tidx + 2], sX[tidx + 3]))"
STORE = f"""    if i < n:
        mY[i] = {MAX}"""
SYNC_INSIDE = f"""    if i < n:
        cute.arch.sync_threads()
        mY[i] = {MAX}"""

WRONG = (
    Wrong("a copy", {MAX: "sX[tidx]"}, "in this call, y is equal to x"),
    Wrong(
        "of three",
        {MAX: "max(max(sX[tidx], sX[tidx + 1]), sX[tidx + 2])"},
        "is the largest of three elements",
    ),
    Wrong(
        "0 beyond the end",
        {"mX[i] if i < n else -cutlass.Float32.inf": "mX[i] if i < n else cutlass.Float32(0)"},
        "is larger than any negative number",
    ),
    Wrong(
        "a halo for each warp",
        {
            "make_layout(128 + 3)": "make_layout(4 * 35)",
            "sX[tidx] = mX[i]": "at = tidx // 32 * 35 + tidx % 32\n    sX[at] = mX[i]",
            HALO: """    if tidx % 32 < 3:
        sX[at + 32] = mX[i + 32] if i + 32 < n else -cutlass.Float32.inf
""",
            MAX: "max(max(sX[at], sX[at + 1]), max(sX[at + 2], sX[at + 3]))",
        },
        "elements more than once",
    ),
    Wrong("no halo", {HALO: ""}, "belongs to the next block"),
    Wrong("no barrier", {SYNC: ""}, "may not have stored yet"),
    Wrong(
        "the result in the tile",
        {STORE: f"    if i < n:\n        sX[tidx] = {MAX}\n        mY[i] = sX[tidx]"},
        "may not have read yet",
    ),
    Wrong("a barrier in the if", {SYNC: "", STORE: SYNC_INSIDE}, "Barrier in divergent code"),
    Wrong(
        "never the last element",
        {
            MAX: "max(max(sX[tidx], sX[tidx + 1] if i + 1 < n - 1 else sX[tidx]), max(sX[tidx + 2] if "
            "i + 2 < n - 1 else sX[tidx], sX[tidx + 3] if i + 3 < n - 1 else sX[tidx]))"
        },
        "n = 129, float32, the result is wrong",
    ),
    Wrong(
        "one element too far in blocks of 1,024",
        {
            "bidx * 128": "bidx * 1024",
            "make_layout(128 + 3)": "make_layout(1024 + 3)",
            "sX[128 + tidx] = mX[i + 128] if i + 128 < n": "sX[1024 + tidx] = mX[i + 1024] if i + 1024 <= n",
            "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 1024)",
            "(128, 1, 1)": "(1024, 1, 1)",
        },
        "n = 1,024, float32, the kernel was stopped",
    ),
    Wrong("two barriers", {SYNC: SYNC + SYNC}, "asks for at most 1 barrier"),
    Wrong(
        "backwards",
        {MAX: "max(max(mX[i], mX[max(i - 1, 0)]), max(mX[max(i - 2, 0)], mX[max(i - 3, 0)]))"},
        "three elements *before* it",
    ),
    Wrong(
        "the least finite number past the end",
        {
            "mX[i] if i < n else -cutlass.Float32.inf": "mX[i] if i < n else cutlass.Float32(-3.4028234e38)"
        },
        "-3.402823e+38*",
    ),
    Wrong(
        "the halo from the other end",
        {"mX[i + 128] if i + 128 < n else -cutlass.Float32.inf": "mX[n - 1 - i]"},
        "before the tensor. [ ] Every order",
    ),
    Wrong(
        "at most the largest number",
        {MAX: f"min({MAX}, cutlass.Float32(3.0e38))"},
        "pattern: every wrong element is 3e+38",
    ),
    Wrong(
        "no halo in blocks of 1,024",
        {
            "bidx * 128": "bidx * 1024",
            "make_layout(128 + 3)": "make_layout(1024)",
            HALO: "",
            STORE: """    if i < n:
        best = sX[tidx]
        for k in cutlass.range_constexpr(1, 4):
            other = -cutlass.Float32.inf
            if tidx + k < 1024:
                other = sX[tidx + k]
            elif i + k < n:
                other = mX[i + k]
            best = max(best, other)
        mY[i] = best""",
            "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 1024)",
            "(128, 1, 1)": "(1024, 1, 1)",
        },
        "With n = 2,500, float32, blocks load",
    ),
)
