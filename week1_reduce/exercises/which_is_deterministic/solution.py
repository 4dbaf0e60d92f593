"""Solution to week1/which_is_deterministic."""

bits = {  # each: "same bits" or "may differ"
    # [fill]
    #| "float32, one atomic_add per block": None,
    #| "int32, one atomic_add per block": None,
    #| "float32 maximum, atomic": None,
    #| "parts in memory, added by a second launch": None,
    #| "parts in memory, added by the last block": None,
    #| "the last block adds the parts in the order in which they were counted": None,
    #| "float32 sum of a million integers below 1,000, atomic": None,
    #| "cluster, parts in an array by rank": None,
    "float32, one atomic_add per block": "may differ",
    "int32, one atomic_add per block": "same bits",
    "float32 maximum, atomic": "same bits",
    "parts in memory, added by a second launch": "same bits",
    "parts in memory, added by the last block": "same bits",
    "the last block adds the parts in the order in which they were counted": "may differ",
    "float32 sum of a million integers below 1,000, atomic": "may differ",
    "cluster, parts in an array by rank": "same bits",
    # [/fill]
}
