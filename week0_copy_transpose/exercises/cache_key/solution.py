"""Solution of week0/cache_key."""


def cache_key(x):
    # [fill]
    #| return ()
    order = tuple(step == 1 for step in x.stride())
    align = tuple(x.data_ptr() % n == 0 for n in (16, 8, 4, 2))
    return x.dtype, x.device.type, order, align
    # [/fill]
