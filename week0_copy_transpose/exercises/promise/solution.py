"""Solution to week0/promise."""

import forgekit as fk


def promise(x):
    # [fill]
    #| return fk.spec(x)
    return fk.spec(x, divisible={1: 16 // x.element_size()}, align=16)
    # [/fill]
