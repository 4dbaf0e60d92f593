"""Solution to week2/what_hides."""

shows = {  # each: "right", "wrong" or "NaN"
    # [fill]
    #| "the sum is not rescaled in the loop: 1,000 random elements, the first the largest": None,
    #| "the sum is not rescaled in the loop: 1,000 equal elements": None,
    #| "the lanes' sums are added without rescaling: 1,000 descending elements": None,
    #| "the lanes' sums are added without rescaling: 1,000 equal elements": None,
    #| "m starts at 0: 1,000 elements around -1,000": None,
    #| "m starts at 0: 1,000 random elements": None,
    #| "s starts at 1: 1,000 random elements": None,
    #| "s starts at 1: 20 random elements": None,
    #| "no guard in the loop: 1,000 elements, the first 32 masked": None,
    #| "no guard in the loop: 1,000 elements, the last third masked": None,
    #| "no guard in the loop: 1,000 elements, every second masked": None,
    "the sum is not rescaled in the loop: 1,000 random elements, the first the largest": "wrong",
    "the sum is not rescaled in the loop: 1,000 equal elements": "right",
    "the lanes' sums are added without rescaling: 1,000 descending elements": "wrong",
    "the lanes' sums are added without rescaling: 1,000 equal elements": "right",
    "m starts at 0: 1,000 elements around -1,000": "NaN",
    "m starts at 0: 1,000 random elements": "right",
    "s starts at 1: 1,000 random elements": "right",
    "s starts at 1: 20 random elements": "right",
    "no guard in the loop: 1,000 elements, the first 32 masked": "NaN",
    "no guard in the loop: 1,000 elements, the last third masked": "right",
    "no guard in the loop: 1,000 elements, every second masked": "NaN",
    # [/fill]
}
