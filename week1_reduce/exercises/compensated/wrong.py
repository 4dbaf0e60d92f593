"""Wrong solutions to week1/compensated."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("not added", {"mX[row, n] + lost": "mX[row, n]"}, "Is each lost part kept, and added?"),
    Wrong(
        "wrong sign",
        {"lost = value - (s - total)": "lost = (s - total) - value"},
        "worst relative difference",
    ),
    Wrong("one block", {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"}, "The launch has only"),
    Wrong(
        "begins at 0.001",
        {"total, lost = Float32(0.0)": "total, lost = Float32(0.001)"},
        "With m = 2, n = 3",
    ),
    Wrong(
        "blocks of 64, divided by 65",
        {
            "bidx * 128": "bidx * 64",
            "mX.shape[0], 128)": "mX.shape[0], 65)",
            "(128, 1, 1)": "(64, 1, 1)",
        },
        "no thread stores mY[256]",
    ),
    Wrong(
        "in fixed point",
        {
            "@cute.kernel\n": "from cutlass import Int64\n\n\n@cute.kernel\n",
            "total, lost = Float32(0.0), Float32(0.0)": "total = Int64(0)",
            "            value = mX[row, n] + lost\n            s = total + value\n            lost = value - (s - total)\n            total = s\n": "            total += (mX[row, n] * Float32(2.0**46)).to(Int64)\n",
            "mY[row] = total": "mY[row] = total.to(Float32) * Float32(2.0**-46)",
        },
        "a compensated addition takes four operations",
    ),
    Wrong(
        "the lost part of positive elements alone",
        {
            "lost = value - (s - total)": "lost = value - (s - total) if value > 0.0 else Float32(0.0)"
        },
        "mY: 1 of 5 elements differs",
    ),
    Wrong(
        "in float64",
        {
            "@cute.kernel\n": "from cutlass import Float64\n\n\n@cute.kernel\n",
            "total, lost = Float32(0.0), Float32(0.0)": "total = Float64(0.0)",
            "            value = mX[row, n] + lost\n            s = total + value\n            lost = value - (s - total)\n            total = s\n": "            total += mX[row, n].to(Float64)\n",
            "mY[row] = total": "mY[row] = total.to(Float32)",
        },
        "the task asks for no float64",
    ),
    Wrong(
        "lost parts in float16",
        {
            "lost = value - (s - total)": "lost = (value - (s - total)).to(cutlass.Float16).to(Float32)",
            "@cute.kernel": "import cutlass\n\n\n@cute.kernel",
        },
        "With m = 5, n = 1,025, float32, the result is wrong",
    ),
    Wrong(
        "the last n % 4 elements not compensated",
        {
            "        for n in range(mX.shape[1]):\n": "        whole = mX.shape[1] // 4 * 4\n        for n in range(whole):\n",
            "        mY[row] = total\n": "        for n in range(whole, mX.shape[1]):\n            total += mX[row, n]\n        mY[row] = total\n",
        },
        "With m = 3, n = 31, float32, the result is wrong",
    ),
)
