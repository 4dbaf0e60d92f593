"""Solution to week0/which_tool."""

tools = {  # each: "virtual GPU", "ncu", "nsys" or "compute-sanitizer"
    # [fill]
    #| "idle between": None,
    #| "DRAM percent": None,
    #| "crash of a C++ program": None,
    #| "global race": None,
    #| "line without a GPU": None,
    #| "stalls": None,
    #| "memcpy": None,
    "idle between": "nsys",
    "DRAM percent": "ncu",
    "crash of a C++ program": "compute-sanitizer",
    "global race": "virtual GPU",
    "line without a GPU": "virtual GPU",
    "stalls": "ncu",
    "memcpy": "nsys",
    # [/fill]
}
