"""Solution to week1/reduction_key."""


def reduction_key(x, choose):
    # [fill]
    #| return ()
    vector = 16 // x.element_size()
    steps = (x.shape[1], x.stride(0) if x.shape[0] > 1 else 0)
    whole = x.data_ptr() % 16 == 0 and all(step % vector == 0 for step in steps)
    return x.dtype, whole, choose(*x.shape, x.dtype)
    # [/fill]
