"""Wrong solutions to week0/one_kernel_per_n."""

from forgekit.lessons.wrong import Wrong

_KEY = "(t.dtype, t.shape[1], t.stride(), math.gcd(t.data_ptr(), 16)) for t in (x, y)"
_SPECS = "fk.spec(x, static=[1]), fk.spec(y, static=[1])"

WRONG = (
    Wrong("M static, too", {_SPECS: "fk.spec(x, static=True), fk.spec(y, static=True)"},
          "M is compiled in, but only mode 1"),
    Wrong("N not in the key", {_KEY: "t.dtype for t in (x, y)"}, "the key lacks it"),
    Wrong("M in the key", {"t.shape[1], t.stride()": "t.shape, t.stride()"}, "as with M in the key"),
    Wrong("everything dynamic",
          {_SPECS: "x, y", _KEY: "(t.dtype, math.gcd(t.data_ptr(), 16)) for t in (x, y)"},
          "one kernel serves every N"),
    Wrong("dynamic, and keyed by N", {_SPECS: "x, y"}, "each call still passes N"),
    Wrong("no dtype", {"t.dtype, t.shape[1]": "t.shape[1]"}, "lacks the element type"),
    Wrong("no strides", {"t.stride(), ": ""}, "lacks this stride"),
    Wrong("no alignment", {", math.gcd(t.data_ptr(), 16)": ""}, "the same for two alignments of the first element"),
    Wrong("the address modulo 16", {"math.gcd(t.data_ptr(), 16)": "t.data_ptr() % 16"},
          "two addresses with the same alignment"),
    Wrong("every multiple of 16 told apart", {"t.data_ptr(), 16": "t.data_ptr(), 64"},
          "two addresses that are multiples of 16"),
    Wrong("type of x only", {"(t.dtype, t.shape[1]": "(x.dtype, t.shape[1]"}, "only y float16, `run` chose"),
    Wrong("y described by x", {_SPECS: "fk.spec(x, static=[1]), fk.spec(x, static=[1])"},
          "the specs do not describe x and y"),
    Wrong("no promise of alignment", {_SPECS: "fk.spec(x, static=[1], align=4), fk.spec(y, static=[1], align=4)",
          ", math.gcd(t.data_ptr(), 16)": ""}, "promise a smaller alignment"),
    Wrong("compiled in every call", {"if key not in kernels:": "if True:"}, "or `run` does not reuse its kernels"),
    Wrong("alignment of x only", {"math.gcd(t.data_ptr(), 16)": "math.gcd(x.data_ptr(), 16)"},
          "argument mY, alignment"),
    Wrong("alignment of y only", {"math.gcd(t.data_ptr(), 16)": "math.gcd(y.data_ptr(), 16)"},
          "the key contains this fact of y, but not of x"),
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
    Wrong("torch after the kernel", {"kernels[key](x, y)": "kernels[key](x, y)\n        y.copy_(x + x)"},
          "`run` writes to y after the kernel's launch"),
    Wrong("at most four kernels", {"        if key not in kernels:\n": "        if key not in kernels:\n            if len(kernels) > 3:\n"
          "                kernels.clear()\n"}, "1 for 5×48 float32 again"),
    Wrong("kernels outside",
          {"def one_kernel_per_n(compile, fn):\n    kernels = {}\n":
           "kernels = {}\n\n\ndef one_kernel_per_n(compile, fn):\n"},
          "`kernels` is outside one_kernel_per_n"),
    Wrong("y for x", {"kernels[key](x, y)": "kernels[key](y, x)"}, "launched with tensors other"),
    Wrong("the distance of rows alone", {"t.stride(), ": "t.stride(0), "},
          "every second column of a 96-column matrix, `run` chose a kernel that does not fit"),
    Wrong("launched on copies", {"kernels[key](x, y)": "kernels[key](x.clone(), y.clone())"},
          "every element of actual is NaN (never stored, or computed as NaN) first mismatches"),
)  # fmt: skip
