"""Solution to week2/threads_for."""


def threads_for(columns, dtype):
    # [fill]
    #| return 0
    vec = 16 // dtype.itemsize
    for threads in (32, 64, 128, 256, 512, 1024):
        vectors = -(-columns // (vec * threads))
        if vectors * vec <= 36:
            return threads
    return 0
    # [/fill]
