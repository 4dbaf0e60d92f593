"""Wrong solutions to week0/ramp."""

from forgekit.lessons.wrong import Wrong

GRID = "grid=(blocks, 1, 1)"

WRONG = (
    Wrong("not converted", {"cutlass.Float32(5 + 3 * i)": "5 + 3 * i"}, "does not compile"),
    Wrong("5 forgotten", {"5 + 3 * i": "3 * i"}, "the kernel does not add 5"),
    Wrong("3 forgotten", {"5 + 3 * i": "5 + i"}, "does not multiply the index of the element by 3"),
    Wrong("thread for element", {"5 + 3 * i": "5 + 3 * tidx"}, "values start again at 5"),
    Wrong("2.99999 for 3", {"cutlass.Float32(5 + 3 * i)": "5.0 + 2.99999 * cutlass.Float32(i)"},
          "With n = 8, float32, the result"),
    Wrong("nothing stored", {"mY[i] = ": "y = "}, "keeps its old values"),
    Wrong("one block", {GRID: "grid=(1, 1, 1)"}, "the last 2,372 elements (128 to 2499)"),
    Wrong("a fixed grid", {GRID: "grid=(1000, 1, 1)"}, "launch fewer threads. Either some have nothing to do"),
    Wrong("twice the grid", {GRID: "grid=(2 * blocks, 1, 1)"}, "Threads launched: 2"),
    Wrong(
        "at most 1,024 blocks",
        {"    blocks = cute.ceil_div(mY.shape[0], 128)": "    blocks = cute.ceil_div(mY.shape[0], 128)\n    blocks = blocks if blocks < 1024 else 1024"},
        "The launch has only 131,072",
    ),
)  # fmt: skip
