"""Solution to week1/bytes_in_flight."""

in_flight = {
    # [fill]
    #| "MB in flight for 4.8 TB/s": None,
    #| "kB in flight per multiprocessor": None,
    #| "GB/s of one warp, one load of 16 bytes per lane": None,
    #| "GB/s of one warp, four such loads": None,
    #| "warps per multiprocessor, one such load each": None,
    "MB in flight for 4.8 TB/s": 1.92,
    "kB in flight per multiprocessor": 14.5,
    "GB/s of one warp, one load of 16 bytes per lane": 1.28,
    "GB/s of one warp, four such loads": 5.12,
    "warps per multiprocessor, one such load each": 29,
    # [/fill]
}
