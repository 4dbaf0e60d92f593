"""Solution to week1/stops_growing."""

stops_at = {
    # [fill]
    #| "float16, ones": None,
    #| "bfloat16, ones": None,
    #| "float16, fours": None,
    #| "float32, ones": None,
    "float16, ones": 2048,
    "bfloat16, ones": 256,
    "float16, fours": 8192,
    "float32, ones": 16_777_216,
    # [/fill]
}
