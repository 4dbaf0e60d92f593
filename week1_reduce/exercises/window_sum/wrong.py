"""Wrong solutions to week1/window_sum."""

from forgekit.lessons.wrong import Wrong

HALO = """    if tidx < 7 and i + 128 < mX.shape[0]:
        sX[tidx + 128] = mX[i + 128]
"""

WRONG = (
    Wrong(
        "by shuffles",
        says="Bytes requested by loads: 194",
        text="""
import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def window_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i, lane = bidx * 128 + tidx, tidx % 32
    a, b = Float32(0.0), Float32(0.0)
    if i < mX.shape[0]:
        a = mX[i]
    if lane < 7 and i + 32 < mX.shape[0]:
        b = mX[i + 32]
    total = a
    for k in cutlass.range_constexpr(1, 8):
        u = cute.arch.shuffle_sync(a, (lane + k) % 32)
        v = cute.arch.shuffle_sync(b, (lane + k) % 32)
        total += u if lane + k < 32 else v
    if i < mY.shape[0]:
        mY[i] = total


@cute.jit
def window_sum(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mY.shape[0], 128)
    window_sum_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
""",
    ),
    Wrong(
        "the element after the last one",
        {"i + 128 < mX.shape[0]": "i + 128 <= mX.shape[0]"},
        "reads mX[130]",
    ),
    Wrong("windows of 7", {"range_constexpr(8)": "range_constexpr(7)"}, "windows have 7 elements"),
    Wrong("no halo", {HALO: ""}, "Uninitialised shared memory"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong(
        "from global memory",
        {"total += sX[tidx + k]": "total += mX[i + k]"},
        "each element 7.6 times",
    ),
    Wrong(
        "121 windows per block",
        {
            HALO: "",
            "bidx * 128 + tidx": "bidx * 121 + tidx",
            "make_layout(135)": "make_layout(128)",
            "if i < mY.shape[0]:": "if i < mY.shape[0] and tidx < 121:",
            "ceil_div(mY.shape[0], 128)": "ceil_div(mY.shape[0], 121)",
        },
        "Blocks: 2 with n = 135, float32; the task asks for one block per 128 windows: 1 block",
    ),
    Wrong(
        "blocks for all elements of x",
        {"ceil_div(mY.shape[0]": "ceil_div(mX.shape[0]"},
        "Blocks: 2 with n = 135",
    ),
    Wrong(
        "always one more block",
        {"cute.ceil_div(mY.shape[0], 128)": "mY.shape[0] // 128 + 1"},
        "Blocks: 2 with n = 135, float32",
    ),
    Wrong(
        "136 elements loaded, of which one is not needed",
        {
            HALO: "    if tidx < 8 and i + 128 < mX.shape[0]:\n        value = mX[i + 128]\n        if tidx < 7 or value != value:\n            sX[cutlass.min(tidx + 128, 134)] = value\n"
        },
        "with n = 40,000, float32; the limit is",
    ),
)
