"""Solution to week2/what_fits."""

fits = {
    # [fill]
    #| "kB of a row in shared memory": None,
    #| "vectors in flight per thread": None,
    #| "blocks that an SM has room for": None,
    #| "MB that staged moves": None,
    #| "MB that streaming moves": None,
    #| "blocks of a cluster for rows of 524,288 bfloat16": None,
    #| "bytes that an mbarrier expects, 8 blocks of 8 warps": None,
    "kB of a row in shared memory": 96,
    "vectors in flight per thread": 24,
    "blocks that an SM has room for": 2,
    "MB that staged moves": 805,
    "MB that streaming moves": 1208,
    "blocks of a cluster for rows of 524,288 bfloat16": 8,
    "bytes that an mbarrier expects, 8 blocks of 8 warps": 512,
    # [/fill]
}
