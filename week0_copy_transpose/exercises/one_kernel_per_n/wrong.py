"""Wrong solutions to week0/one_kernel_per_n."""

from forgekit.lessons.wrong import Wrong

_KEY = "(t.dtype, t.shape[1], t.stride(), math.gcd(t.data_ptr(), 16)) for t in (x, y)"
_SPECS = "fk.spec(x, static=[1]), fk.spec(y, static=[1])"
_KEEP = f"""        if key not in kernels:
            kernels[key] = compile(fn, {_SPECS})
        kernels[key](x, y)
"""

WRONG = (
    Wrong("M static, too", {_SPECS: "fk.spec(x, static=True), fk.spec(y, static=True)"},
          "M is compiled in, but only mode 1"),
    Wrong("N not in the key", {_KEY: "t.dtype for t in (x, y)"}, "the key lacks it"),
    Wrong("N hidden behind the strides", {"t.shape[1], t.stride()": "t.stride()"}, "With 5×40 with rows 64 elements apart, `run` chose"),
    Wrong("M in the key", {"t.shape[1], t.stride()": "t.shape, t.stride()"}, "as with M in the key"),
    Wrong("everything dynamic",
          {_SPECS: "x, y", _KEY: "(t.dtype, math.gcd(t.data_ptr(), 16)) for t in (x, y)"},
          "one kernel serves every N"),
    Wrong("dynamic, and keyed by N", {_SPECS: "x, y"}, "each call still passes N"),
    Wrong("no dtype", {"t.dtype, t.shape[1]": "t.shape[1]"}, "lacks the element type"),
    Wrong("bytes of an element", {"t.dtype, t.shape[1]": "t.dtype.itemsize, t.shape[1]"}, "With 5×48 bfloat16, `run` chose"),
    Wrong("facts of x and y mixed", {"key = tuple(": "key = frozenset("}, "not whether it is a fact of x or of y"),
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
    Wrong("compiled in every call", {"if key not in kernels:": "if True:"}, "or `run` compiles although it has the kernel"),
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
          "With 5×48, y is correct, but no kernel was launched with x and y"),
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
    Wrong("the distance of x's columns left out", {_KEY: "(t.dtype, t.shape[1], t.stride(0), y.stride(1), math.gcd(t.data_ptr(), 16)) for t in (x, y)"},
          "every second column, y the first half of 96, `run` chose a kernel that does not fit"),
    Wrong("the last kernel per distance of y's columns", {_KEEP: """        kept = tuple((t.dtype, t.shape[1], t.stride(0), y.stride(1), math.gcd(t.data_ptr(), 16)) for t in (x, y))
        if kernels.get(kept, [()])[0] != key:
            kernels[kept] = key, compile(fn, fk.spec(x, static=[1]), fk.spec(y, static=[1]))
        kernels[kept][1](x, y)
"""}, "1 for 5×48 with rows 96 elements apart again; needed 0"),
    Wrong("the last kernel alone", {_KEEP: f"""        if key not in kernels:
            kernels.clear()
            kernels[key] = compile(fn, {_SPECS})
        kernels[key](x, y)
"""}, "Compilations: 3 for 5×48, 1×48"),
    Wrong("launched on copies", {"kernels[key](x, y)": "kernels[key](x.clone(), y.clone())"},
          "every element of actual is NaN (never stored, or computed as NaN) first mismatches"),
    Wrong("runs fn twice in the first call of a key", {f"compile(fn, {_SPECS})": f"compile(fn, {_SPECS})\n            kernels[key](x, y)"},
          "Launches: 2 for 5×48; needed 1"),
    Wrong("alignment from the offset in the storage", {"t.data_ptr(), 16": "t.storage_offset() * t.element_size(), 16"},
          "whose storage starts 4 bytes after a multiple of 16, `run` chose"),
    Wrong("a misfit compiled again in each call", {"t.stride(), ": "", "        kernels[key](x, y)\n\n": "        try:\n            kernels[key](x, y)\n"
          f"        except Exception:\n            compile(fn, {_SPECS})(x, y)\n\n"},
          "1 for 5×48 with rows 64 elements apart again; needed 0"),
    Wrong("setdefault", {_KEEP: f"        kernels.setdefault(key, compile(fn, {_SPECS}))(x, y)\n"}, "Compilations: 6 for 5×48, 1×48"),
    Wrong("alignment of 16, 8 or less", {"math.gcd(t.data_ptr(), 16)": "(t.data_ptr() % 16 == 0, t.data_ptr() % 8 == 0)"},
          "With 5×48 float16 that starts 2 bytes after"),
    Wrong("alignment in elements, up to four", {"math.gcd(t.data_ptr(), 16)": "math.gcd(t.data_ptr() // t.element_size(), 4)"},
          "With 5×48 float16 that starts 8 bytes after"),
    Wrong("bytes of an element, and whether bfloat16", {"(t.dtype, t.shape": "(t.element_size(), str(t.dtype) == 'torch.bfloat16', t.shape"},
          "With 5×48 int32, `run` chose"),
    Wrong("text without separators", {f"tuple({_KEY})": "'-'.join(f'{t.dtype}{t.shape[1]}{t.stride(0)}{t.stride(1)}{math.gcd(t.data_ptr(), 16)}' for t in (x, y))"},
          "With 5×4 with rows 848 elements apart, `run` chose"),
    Wrong("the set of strides", {
        "t.stride()": "frozenset(t.stride())",
    }, "With 48×48, both transposed"),
    Wrong("M is even", {
        "fk.spec(x, static=[1]),": "fk.spec(x, static=[1], divisible={0: math.gcd(x.shape[0], 2)}),",
    }, "a divisor of M is compiled in"),
    Wrong("no alignment", {
        "fk.spec(x, static=[1]), fk.spec(y, static=[1])": "fk.spec(x, static=[1], align=x.element_size()), fk.spec(y, static=[1], align=y.element_size())",
    }, "was compiled with mX aligned to 4 bytes"),
    Wrong("a copy of x", {
        "        kernels[key](x, y)": "        kernels[key](x.contiguous(), y)",
    }, "a kernel was launched with other tensors, such as a copy"),
    Wrong("the smaller of two alignments", {
        "t.stride(), math.gcd(t.data_ptr(), 16)": "t.stride(), math.gcd(x.data_ptr(), y.data_ptr(), 16)",
    }, "With 5×48, x 4 bytes after a multiple of 16 instead of y, `run` chose"),
)  # fmt: skip
