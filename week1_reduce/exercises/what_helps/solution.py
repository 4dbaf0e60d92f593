"""Solution to week1/what_helps."""

diagnosis = {
    # [fill]
    #| "A": None,  # "start of blocks", "latency", "device memory" or "the launch itself"
    #| "B": None,
    #| "C": None,
    #| "D": None,
    #| "A helped by": None,  # "more rows per block", "more bytes in flight", "fewer bytes" or
    #| "B helped by": None,  # "fewer launches"
    #| "C helped by": None,
    #| "D helped by": None,
    "A": "start of blocks",
    "B": "latency",
    "C": "device memory",
    "D": "the launch itself",
    "A helped by": "more rows per block",
    "B helped by": "more bytes in flight",
    "C helped by": "fewer bytes",
    "D helped by": "fewer launches",
    # [/fill]
}
