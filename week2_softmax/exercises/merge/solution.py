"""Solution to week2/merge."""

import math


def merge(a, b):
    # [fill]
    #| return a
    m = max(a[0], b[0])
    shift = m if m > -math.inf else 0.0
    return m, a[1] * math.exp(a[0] - shift) + b[1] * math.exp(b[0] - shift)
    # [/fill]
