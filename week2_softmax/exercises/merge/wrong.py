"""Wrong solutions to week2/merge."""

from forgekit.lessons.wrong import Wrong

RESULT = "return m, a[1] * math.exp(a[0] - shift) + b[1] * math.exp(b[0] - shift)"

WRONG = (
    Wrong("added", {RESULT: "return m, a[1] + b[1]"}, "added without rescaling"),
    Wrong("first alone", {RESULT: "return m, a[1] * math.exp(a[0] - m) + b[1]"}, "only the first sum"),
    Wrong("second alone", {RESULT: "return m, a[1] + b[1] * math.exp(b[0] - m)"}, "only the second sum"),
    Wrong("upside down", {"math.exp(a[0] - shift)": "math.exp(shift - a[0])",
                          "math.exp(b[0] - shift)": "math.exp(shift - b[0])"}, "the factor is inverted"),
    Wrong("not relative", {"math.exp(a[0] - shift)": "math.exp(a[0])",
                           "math.exp(b[0] - shift)": "math.exp(b[0])"}, "nothing is subtracted"),
    Wrong("no guard", {"m if m > -math.inf else 0.0": "m"}, "-inf - (-inf) is NaN"),
    Wrong("NaN for nothing on the left", {"    shift =": "    if a[0] == -math.inf:\n        return a\n    shift ="},
          "merge((-inf, 0), (3, 1.5)) returns (-inf, 0)"),
    Wrong("equal pairs returned as they are", {"    shift =": "    if a == b:\n        return a\n    shift =",
          "m if m > -math.inf else 0.0": "m"}, "merge((4, 1.5), (4, 1.5)) returns (4, 1.5)"),
    Wrong("minimum", {"max(": "min("}, "the smaller of the two maxima"),
    Wrong("the sum alone", {"return m, ": "return "}, "expected a pair"),
    Wrong("no return", {"return m, ": "both = m, "}, "no `return` gives a pair"),
    Wrong("a branch without a result", {"    shift =": "    if a[0] == b[0]:\n        return\n    shift ="},
          "merge((2, 1.25), (2, 3)) returns None: for this call, no `return` gives a pair"),
    Wrong("zero times inf", {RESULT: "def e(v):\n        return math.exp(v) if v < 700 else math.inf\n\n"
          "    return m, a[1] * e(a[0] - m if m > -math.inf else -m) + b[1] * e(b[0] - m if m > -math.inf else -m)"}, "and so is 0 times inf"),
    Wrong("a number in place of -inf", {"shift = m if m > -math.inf else 0.0": "shift = max(m, -100.0)"},
          "merge((-1000, 1), (-1001, 2)) returns"),
    Wrong("a large number in place of -inf", {"shift = m if m > -math.inf else 0.0": "shift = max(m, -1e100)"},
          "merge((-1e+300, 1), (-1e+300, 2)) returns"),
    Wrong("low maxima taken for nothing", {"    shift =": "    if a[0] < -1e4:\n        return b\n    shift ="},
          "merge((-100000, 1), (-100001, 2)) returns (-100001, 2)"),
    Wrong("a maximum of 0 taken for nothing", {"    shift =": "    if not a[0]:\n        return b\n    shift ="},
          "merge((0, 1.5), (-1, 2)) returns (-1, 2)"),
    Wrong("in float32", {RESULT: "import torch\n\n    s = torch.tensor(a[1] * math.exp(a[0] - shift) + b[1] * math.exp(b[0] - shift))\n    return m, float(s)"}, "(3.0, 1.135335"),
)  # fmt: skip
