"""Other correct solutions to week0/ramp."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {"bidx * 128": "bidx * 256", "mY.shape[0], 128)": "mY.shape[0], 256)", "(128, 1, 1)": "(256, 1, 1)"}),
    Wrong("computed in float32", {
        "cutlass.Float32(5 + 3 * i)": "cutlass.Float32(i) * 3.0 + 5.0",
    }),
)  # fmt: skip
