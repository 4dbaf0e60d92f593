"""Wrong solutions to week0/clamp."""

from forgekit.lessons.wrong import Wrong

VALUE = "min(max(mX[i], low), high)"
ROUNDED = """bits = {}.bitcast(cutlass.Uint32)
        bits = bits + cutlass.Uint32({}) & cutlass.Uint32(0xFFFF0000)
        mY[i] = bits.bitcast(cutlass.Float32)"""

WRONG = (
    Wrong("not clamped", {VALUE: "mX[i]"}, "no element of this call is limited"),
    Wrong("low alone", {VALUE: "max(mX[i], low)"}, "those above high are stored as they are"),
    Wrong("high alone", {VALUE: "min(mX[i], high)"}, "those below low are stored as they are"),
    Wrong("exchanged", {VALUE: "max(min(mX[i], low), high)"}, "every element equals high"),
    Wrong(
        "exchanged, outside first",
        {VALUE: "min(max(mX[i], high), low)"},
        "every element equals low",
    ),
    Wrong(
        "through float16",
        {VALUE: VALUE + ".to(cutlass.Float16)"},
        "first to float16, then to bfloat16",
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
        "launch more threads, each of which does less",
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
        "got -0.6992188, expected -0.6367188",
    ),
    Wrong(
        "infinity kept",
        {
            f"mY[i] = {VALUE}": f"v = mX[i]\n        v = {VALUE} if v - v == 0.0 else v\n        mY[i] = v"
        },
        "Inf: 4 in actual, 0 in expected",
    ),
    Wrong(
        "rounds up at one half",
        {f"mY[i] = {VALUE}": ROUNDED.format(VALUE, "0x8000")},
        "got -0.5039062, expected -0.5",
    ),
    Wrong(
        "NaN rounded as a number",
        {f"mY[i] = {VALUE}": ROUNDED.format(VALUE, "0x7FFF) + (bits >> 16 & 1")},
        "pattern: every wrong element is 0 pattern",
    ),
    Wrong(
        "at most 4,096 blocks",
        {"cute.ceil_div(mX.shape[0], 128)": "min(cute.ceil_div(mX.shape[0], 128), 4096)"},
        "The launch has only 524,288 threads",
    ),
    Wrong(
        "at most the largest float16",
        {VALUE: f"min({VALUE}, 65504.0)"},
        "every wrong element is 65536",
    ),
    Wrong(
        "bounds larger by a thousandth",
        {VALUE: "min(max(mX[i], low * 1.001), high * 1.001)"},
        "With n = 1, float32, the result is wrong",
    ),
    Wrong(
        "bounds in float16",
        {
            VALUE: "min(max(mX[i], low.to(cutlass.Float16).to(cutlass.Float32)), high.to(cutlass.Float16).to(cutlass.Float32))"
        },
        "4 of 8 elements differ (50 %, bfloat16) worst",
    ),
)
