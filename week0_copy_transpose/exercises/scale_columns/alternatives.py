"""Other correct solutions to week0/scale_columns."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("cut by zipped_divide", {"cute.local_tile(mX[row, None], (width,), (k,))": "cute.zipped_divide(mX[row, None], (width,))[(None, k)]",
          "cute.local_tile(mW, (width,), (k,))": "cute.zipped_divide(mW, (width,))[(None, k)]",
          "cute.local_tile(mY[row, None], (width,), (k,))": "cute.zipped_divide(mY[row, None], (width,))[(None, k)]"}),
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "mX.shape[1], 128 * width": "mX.shape[1], 256 * width",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("blocks of 64", {
        "bidx * 128 + tidx": "bidx * 64 + tidx",
        "mX.shape[1], 128 * width": "mX.shape[1], 64 * width",
        "(128, 1, 1)": "(64, 1, 1)",
    }),
    Wrong("multiplies in float32", {"gX.load() * gW.load()": "(gX.load().to(cutlass.Float32) * gW.load().to(cutlass.Float32)).to(mY.element_type)"}),
)  # fmt: skip
