"""Wrong solutions of week1/window_sum."""

from forgekit.lessons.wrong import Wrong

HALO = """    if tidx < 7 and i + 128 < mX.shape[0]:
        sX[tidx + 128] = mX[i + 128]
"""

WRONG = (
    Wrong("windows of 7", {"range_constexpr(8)": "range_constexpr(7)"}, "windows of 7 elements"),
    Wrong("no halo", {HALO: ""}, "Uninitialised shared memory"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong(
        "halo without a predicate",
        {"if tidx < 7 and i + 128 < mX.shape[0]:": "if tidx < 7:"},
        "reads mX[128]",
    ),
    Wrong(
        "predicate of x at the store",
        {"    if i < mY.shape[0]:": "    if i < mX.shape[0]:"},
        "writes mY",
    ),
    Wrong(
        "predicate of y at the load",
        {"    if i < mX.shape[0]:": "    if i < mY.shape[0]:"},
        "sX[tidx + k] (×",
    ),
    Wrong(
        "from global memory",
        {"total += sX[tidx + k]": "total += mX[i + k]"},
        "or more often than it needs them",
    ),
    Wrong(
        "shared memory too small",
        {"cute.make_layout(135)": "cute.make_layout(128)"},
        "shared-memory offset",
    ),
    Wrong(
        "shared memory for all",
        {"cute.make_layout(135)": "cute.make_layout(20_000)"},
        "every byte that a block takes",
    ),
    Wrong(
        "blocks by x",
        {"cute.ceil_div(mY.shape[0], 128)": "cute.ceil_div(mX.shape[0], 128) * 16"},
        "their number follows",
    ),
)
