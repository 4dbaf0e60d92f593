"""Solution of week0/cache_key."""


def cache_key(x):
    # [fill]
    #| return ()
    order = tuple(step == 1 for step in x.stride())
    return x.dtype, x.device.type, order, x.data_ptr() % 16 == 0
    # [/fill]
