"""Wrong solutions to week0/clamp."""

from forgekit.lessons.wrong import Wrong

VALUE = "min(max(mX[i], low), high)"

WRONG = (
    Wrong("not clamped", {VALUE: "mX[i]"}, "nothing is clamped"),
    Wrong("low alone", {VALUE: "max(mX[i], low)"}, "the kernel does not apply high"),
    Wrong("high alone", {VALUE: "min(mX[i], high)"}, "the kernel does not apply low"),
    Wrong("exchanged", {VALUE: "max(min(mX[i], low), high)"}, "every element equals high"),
    Wrong(
        "exchanged, outside first",
        {VALUE: "min(max(mX[i], high), low)"},
        "every element equals low",
    ),
    Wrong(
        "through float16",
        {VALUE: VALUE + ".to(cutlass.Float16)"},
        "first converts the value to float16",
    ),
    Wrong(
        "not converted",
        {VALUE + ".to(cutlass.BFloat16)": VALUE},
        "a value of type Float32 into a tensor of BFloat16",
    ),
    Wrong(
        "one block strides",
        {
            "    if i < mX.shape[0]:": "    for i in range(tidx, mX.shape[0], 128):",
            "grid=(blocks, 1, 1)": "grid=(1, 1, 1)",
        },
        "has to grow with the input",
    ),
    Wrong(
        "one bound for each sign",
        {VALUE: "(max(mX[i], low) if mX[i] < 0.0 else min(mX[i], high))"},
        "n = 128, float32 is also wrong",
    ),
    Wrong(
        "no NaN", {VALUE: "cute.arch.fmin(cute.arch.fmax(mX[i], low), high)"}, "NaN: 0 in actual, "
    ),
    Wrong(
        "low below 0",
        {VALUE: "min(max(mX[i], min(low, -low)), high)"},
        "n = 1,000, float32 is also wrong",
    ),
    Wrong(
        "bounds typed",
        {"max(mX[i], low), high": "max(mX[i], cutlass.Float32(-0.7)), cutlass.Float32(0.3)"},
        "4 of 8 elements differ",
    ),
)
