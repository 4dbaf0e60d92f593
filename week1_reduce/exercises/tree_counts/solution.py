"""Solution to week1/tree_counts."""

counts = {
    # [fill]
    #| "barriers of a block": None,
    #| "interleaved, step 4: active lanes of a warp": None,
    #| "interleaved, step 4: warps with an active lane": None,
    #| "sequential, half 64: warps with an active lane": None,
    #| "strided, step 4: wavefronts of a load": None,
    #| "strided, step 16: wavefronts of a load": None,
    "barriers of a block": 9,
    "interleaved, step 4: active lanes of a warp": 4,
    "interleaved, step 4: warps with an active lane": 16,
    "sequential, half 64: warps with an active lane": 2,
    "strided, step 4: wavefronts of a load": 8,
    "strided, step 16: wavefronts of a load": 16,
    # [/fill]
}
