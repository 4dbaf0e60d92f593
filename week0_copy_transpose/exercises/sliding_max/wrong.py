"""Wrong solutions of week0/sliding_max."""

from forgekit.lessons.wrong import Wrong

SYNC = "    cute.arch.sync_threads()\n"
HALO = """    if tidx < 3:
        sX[128 + tidx] = mX[i + 128] if i + 128 < n else -cutlass.Float32.inf
"""
MAX = "max(max(sX[tidx], sX[tidx + 1]), max(sX[tidx + 2], sX[tidx + 3]))"
WITHIN = """max(
            max(sX[tidx], sX[min(tidx + 1, 127)]),
            max(sX[min(tidx + 2, 127)], sX[min(tidx + 3, 127)]),
        )"""
STORE = f"""    if i < n:
        mY[i] = {MAX}"""
SYNC_INSIDE = f"""    if i < n:
        cute.arch.sync_threads()
        mY[i] = {MAX}"""
FROM_GLOBAL = """    if i < n:
        value = mX[i]
        for k in cutlass.range_constexpr(1, 4):
            if i + k < n:
                value = max(value, mX[i + k])
        mY[i] = value"""

WRONG = (
    Wrong("a copy", {MAX: "sX[tidx]"}, "nothing is compared"),
    Wrong(
        "of three",
        {MAX: "max(max(sX[tidx], sX[tidx + 1]), sX[tidx + 2])"},
        "that is the largest of three",
    ),
    Wrong(
        "0 beyond the end",
        {"mX[i] if i < n else -cutlass.Float32.inf": "mX[i] if i < n else cutlass.Float32(0)"},
        "with numbers below 0 it wins",
    ),
    Wrong("no halo", {HALO: ""}, "the next block, the halo"),
    Wrong("within the block", {MAX: WITHIN, HALO: ""}, "lie between elements 126 and 511"),
    Wrong("no barrier", {SYNC: ""}, "may not have stored yet"),
    Wrong("a barrier in the if", {SYNC: "", STORE: SYNC_INSIDE}, "Barrier in divergent code"),
    Wrong("two barriers", {SYNC: SYNC + SYNC}, "the solution gets by with fewer"),
    Wrong("from global memory", {STORE: FROM_GLOBAL}, "or more often than it needs them"),
    Wrong("halo of two", {"tidx < 3": "tidx < 2"}, "exactly every 128th element differs"),
    Wrong("tile too small", {"128 + 3)": "128)"}, "at shared-memory offset 512"),
    Wrong("halo for all", {"128 + 3)": "256)", "tidx < 3": "tidx < 128"}, "sX[tidx] = mX[i] if"),
    Wrong("shared for all of x", {"128 + 3)": "50_000)"}, "every byte that a block takes"),
    Wrong(
        "halo past the end",
        {"mX[i + 128] if i + 128 < n else -cutlass.Float32.inf": "mX[i + 128]"},
        "reads mX[128]",
    ),
    Wrong(
        "backwards",
        {MAX: "max(max(mX[i], mX[max(i - 1, 0)]), max(mX[max(i - 2, 0)], mX[max(i - 3, 0)]))"},
        "three *before* it",
    ),
)
