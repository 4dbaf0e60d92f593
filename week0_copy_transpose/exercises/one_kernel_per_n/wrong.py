"""Wrong solutions to week0/one_kernel_per_n."""

from forgekit.lessons.wrong import Wrong

_KEY = "(t.dtype, t.shape[1], t.stride(), math.gcd(t.data_ptr(), 16)) for t in (x, y)"
_SPECS = "fk.spec(x, static=[1]), fk.spec(y, static=[1])"

WRONG = (
    Wrong("M static, too", {_SPECS: "fk.spec(x, static=True), fk.spec(y, static=True)"},
          "M is compiled in as well"),
    Wrong("N not in the key", {_KEY: "t.dtype for t in (x, y)"}, "the key lacks it"),
    Wrong("M in the key", {"t.shape[1], t.stride()": "t.shape, t.stride()"}, "M is in the key"),
    Wrong("everything dynamic",
          {_SPECS: "x, y", _KEY: "(t.dtype, math.gcd(t.data_ptr(), 16)) for t in (x, y)"},
          "one kernel serves every N"),
    Wrong("dynamic, and keyed by N", {_SPECS: "x, y"}, "each call still passes N"),
    Wrong("no dtype", {"t.dtype, t.shape[1]": "t.shape[1]"}, "lacks the element type"),
    Wrong("no strides", {"t.stride(), ": ""}, "lacks the strides"),
    Wrong("no alignment", {", math.gcd(t.data_ptr(), 16)": ""}, "alignment of the first element"),
    Wrong("the address modulo 16", {"math.gcd(t.data_ptr(), 16)": "t.data_ptr() % 16"},
          "two addresses with the same alignment"),
    Wrong("alignment of x only", {"math.gcd(t.data_ptr(), 16)": "math.gcd(x.data_ptr(), 16)"},
          "argument mY, alignment"),
    Wrong("calls fn", {"kernels[key](x, y)": "fn(x, y)"},
          "fn takes CuTe tensors; call what `compile` returned"),
    Wrong("another compiler", {"= compile(fn": "= fk.compile(fn"}, "does not use its argument `compile`"),
    Wrong("forgets to call", {"kernels[key](x, y)": "kernels[key]"},
          "`run` launched no kernel"),
    Wrong("torch instead", {"kernels[key](x, y)": "y.copy_(x + x)"},
          "no compiled kernel has written it"),
    Wrong("torch beside a kernel",
          {"kernels[key](x, y)": "kernels[key](x.clone(), y.clone())\n        y.copy_(x + x)"},
          "launched on tensors other than the x and y of the call"),
    Wrong("kernels outside",
          {"def one_kernel_per_n(compile, fn):\n    kernels = {}\n":
           "kernels = {}\n\n\ndef one_kernel_per_n(compile, fn):\n"},
          "`kernels` is outside one_kernel_per_n"),
    Wrong("y for x", {"kernels[key](x, y)": "kernels[key](y, x)"}, "launched with tensors other"),
    Wrong("the distance of rows alone", {"t.stride(), ": "t.stride(0), "},
          "every second column of rows of 96, `run` chose a kernel that does not fit"),
)  # fmt: skip
