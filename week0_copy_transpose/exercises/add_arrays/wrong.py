"""Wrong solutions to week0/add_arrays."""

from forgekit.lessons.wrong import Wrong

GRID = "grid=(blocks, 1, 1)"

WRONG = (
    Wrong("b forgotten", {"mA[i] + mB[i]": "mA[i]"}, "b is not added"),
    Wrong("one block", {GRID: "grid=(1, 1, 1)"}, "The launch has only"),
    Wrong("a fixed grid", {GRID: "grid=(20_000, 1, 1)"}, "launch fewer threads. Either some have nothing to do"),
    Wrong("NaN replaced by 0", {"mZ[i] = mA[i] + mB[i]": "z = mA[i] + mB[i]\n        mZ[i] = z if z == z else z.dtype(0)"}, "NaN: 0 in actual"),
    Wrong("twice the grid", {GRID: "grid=(2 * blocks, 1, 1)"}, "Threads launched"),
    Wrong(
        "at most 1,024 blocks",
        {"    blocks = cute.ceil_div(mZ.shape[0], 128)": "    blocks = cute.ceil_div(mZ.shape[0], 128)\n    blocks = blocks if blocks < 1024 else 1024"},
        "The launch has only 131,072",
    ),
    Wrong(
        "a + b only where b is not 0",
        {"mZ[i] = mA[i] + mB[i]": "mZ[i] = mA[i] + mB[i] if mB[i] != 0.0 else mB[i]"},
        "1 of 8 elements differs",
    ),
)  # fmt: skip
