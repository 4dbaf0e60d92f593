"""Wrong solutions to week0/add_arrays."""

from forgekit.lessons.wrong import Wrong

GRID = "grid=(blocks, 1, 1)"

WRONG = (
    Wrong("b forgotten", {"mA[i] + mB[i]": "mA[i]"}, "b is not added"),
    Wrong("one block", {GRID: "grid=(1, 1, 1)"}, "The launch has only"),
    Wrong("a fixed grid", {GRID: "grid=(20_000, 1, 1)"}, "number of threads from the length"),
    Wrong("twice the grid", {GRID: "grid=(2 * blocks, 1, 1)"}, "Threads launched"),
)  # fmt: skip
