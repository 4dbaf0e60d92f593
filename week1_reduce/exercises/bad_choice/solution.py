"""Solution to week1/bad_choice."""

whats_bad = {
    # [fill]
    #| "a block per row, 262,144 × 128 float32": None,
    #| "a warp per row, 64 × 524,288 float32": None,
    #| "a warp per row, 65,536 × 512 float32": None,
    #| "parts, 4,096 × 8,192 float16": None,
    #| "a warp per row, 1,048,576 × 32 float16": None,
    #| "a block per row, 16 × 2,097,152 float32": None,
    #| "a block per row, 4,096 × 8,192 float32": None,
    #| "8 lanes per row, 256 × 131,072 float32": None,
    "a block per row, 262,144 × 128 float32": "idle lanes",
    "a warp per row, 64 × 524,288 float32": "too few blocks",
    "a warp per row, 65,536 × 512 float32": "nothing",
    "parts, 4,096 × 8,192 float16": "needless parts",
    "a warp per row, 1,048,576 × 32 float16": "idle lanes",
    "a block per row, 16 × 2,097,152 float32": "too few blocks",
    "a block per row, 4,096 × 8,192 float32": "nothing",
    "8 lanes per row, 256 × 131,072 float32": "too few blocks",
    # [/fill]
}
