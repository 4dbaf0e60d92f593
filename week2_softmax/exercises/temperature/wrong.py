"""Wrong solutions to week2/temperature."""

from forgekit.lessons.wrong import Wrong

FACTOR = "factor = LOG2_E / t"
POWER = "power = cute.math.fma(x, cute.full_like(x, factor), cute.full_like(x, -m * factor))"

WRONG = (
    Wrong("t left out", {FACTOR: "factor = Float32(LOG2_E)"}, "t has no effect"),
    Wrong("times t", {FACTOR: "factor = LOG2_E * t"}, "multiplied by t"),
    Wrong("log2 e left out", {FACTOR: "factor = 1.0 / t"}, "log₂ e is missing"),
    Wrong("the weights divided", {FACTOR: "factor = Float32(LOG2_E)", "(1.0 / s)": "(1.0 / s / t)"},
          "the weights are divided"),
    Wrong("a product of its own", {POWER: "power = x * factor - m * factor"}, "rounded for each element"),
    Wrong("divided first", {FACTOR: "x, m, factor = x / t, m / t, Float32(LOG2_E)"},
          "Float operations per element: 6.4"),
    Wrong("a division an element", {"e * (1.0 / s)": "e / s"}, "Divisions per element: 1"),
    Wrong("a maximum from -1e4", {"MAX, -Float32.inf": "MAX, Float32(-1e4)"}, "NaN: 24 in actual"),
    Wrong("no maximum", {POWER: "power = x * factor"}, "nothing is subtracted"),
    Wrong("filled with 0", {"rX.fill(-mX.element_type.inf)": "rX.fill(0.0)"}, "treated as a finite number"),
)  # fmt: skip
