"""Solution to week0/what_bounds."""

bounds = {  # each: "start of blocks", "issue slots", "shared memory", "L2 cache", "device memory"
    # [fill]
    #| "A": None,
    #| "B": None,
    #| "C": None,
    #| "D": None,
    "A": "start of blocks",
    "B": "shared memory",
    "C": "L2 cache",
    "D": "device memory",
    # [/fill]
}
