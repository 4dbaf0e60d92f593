"""Other correct solutions to week2/rms_norm."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("a division by the root", {
        "cute.math.rsqrt(total / Float32(mX.shape[1]) + eps, fastmath=True)":
            "1.0 / cute.math.sqrt(total / Float32(mX.shape[1]) + eps)",
    }),
)  # fmt: skip
