"""Wrong solutions to week1/window_sum."""

from forgekit.lessons.wrong import Wrong

HALO = """    if tidx < 7 and i + 128 < mX.shape[0]:
        sX[tidx + 128] = mX[i + 128]
"""

WRONG = (
    Wrong("windows of 7", {"range_constexpr(8)": "range_constexpr(7)"}, "windows have 7 elements"),
    Wrong("no halo", {HALO: ""}, "Uninitialised shared memory"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong(
        "from global memory",
        {"total += sX[tidx + k]": "total += mX[i + k]"},
        "each element 7.4 times",
    ),
)
