"""Solution to week0/one_kernel_per_n."""

import math

import forgekit as fk


def one_kernel_per_n(compile, fn):
    kernels = {}

    def run(x, y):
        # [fill]
        #| kernels[0](x, y)
        key = tuple((t.dtype, t.shape[1], t.stride(), math.gcd(t.data_ptr(), 16)) for t in (x, y))
        if key not in kernels:
            kernels[key] = compile(fn, fk.spec(x, static=[1]), fk.spec(y, static=[1]))
        kernels[key](x, y)
        # [/fill]

    return run
