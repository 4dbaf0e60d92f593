"""Solution to week0/cache_key."""

import math


def cache_key(x):
    # [fill]
    #| return ()
    order = tuple(step == 1 for step in x.stride())
    align = math.gcd(x.data_ptr(), 16)
    return x.dtype, x.device.type, order, align
    # [/fill]
