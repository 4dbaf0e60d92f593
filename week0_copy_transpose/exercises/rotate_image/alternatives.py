"""Other correct solutions to week0/rotate_image."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of (32, 16)", {
        "    for k in cutlass.range_constexpr(0, 32, 8):\n        if row0":
            "    for k in cutlass.range_constexpr(0, 32, 16):\n        if row0",
        "    for k in cutlass.range_constexpr(0, 32, 8):\n        if col0":
            "    for k in cutlass.range_constexpr(0, 32, 16):\n        if col0",
        "(32, 8, 1)": "(32, 16, 1)",
    }),
    Wrong("blocks of 256 in one line", {
        "tx, ty, _ = cute.arch.thread_idx()":
            "tidx, _, _ = cute.arch.thread_idx()\n    tx, ty = tidx % 32, tidx // 32",
        "block=(32, 8, 1)": "block=(256, 1, 1)",
    }),
)  # fmt: skip
