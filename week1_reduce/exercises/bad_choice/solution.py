"""Solution of week1/bad_choice."""

whats_bad = {
    # [fill]
    #| "a block a row, 262,144 × 128 float32": None,
    #| "a warp a row, 64 × 524,288 float32": None,
    #| "a warp a row, 65,536 × 512 float32": None,
    #| "parts, 4,096 × 8,192 float16": None,
    #| "a warp a row, 1,048,576 × 32 float16": None,
    #| "a block a row, 16 × 2,097,152 float32": None,
    #| "a block a row, 4,096 × 8,192 float32": None,
    #| "8 lanes a row, 256 × 131,072 float32": None,
    "a block a row, 262,144 × 128 float32": "idle lanes",
    "a warp a row, 64 × 524,288 float32": "too few blocks",
    "a warp a row, 65,536 × 512 float32": "nothing",
    "parts, 4,096 × 8,192 float16": "needless parts",
    "a warp a row, 1,048,576 × 32 float16": "idle lanes",
    "a block a row, 16 × 2,097,152 float32": "too few blocks",
    "a block a row, 4,096 × 8,192 float32": "nothing",
    "8 lanes a row, 256 × 131,072 float32": "too few blocks",
    # [/fill]
}
