"""Solution of week2/what_hides."""

shows = {  # each: "right", "wrong" or "NaN"
    # [fill]
    #| "the sum is not rescaled in the loop: 1,000 random, the first is the largest": None,
    #| "the sum is not rescaled in the loop: 1,000 equal": None,
    #| "the lanes' sums are added as they are: 1,000, descending": None,
    #| "the lanes' sums are added as they are: 1,000 equal": None,
    #| "m begins at 0: 1,000 around -1,000": None,
    #| "m begins at 0: 1,000 random": None,
    #| "s begins at 1: 1,000 random": None,
    #| "s begins at 1: 20 random": None,
    #| "no guard in the loop: 1,000, the first 32 masked": None,
    #| "no guard in the loop: 1,000, the last third masked": None,
    #| "no guard in the loop: 1,000, every second masked": None,
    "the sum is not rescaled in the loop: 1,000 random, the first is the largest": "wrong",
    "the sum is not rescaled in the loop: 1,000 equal": "right",
    "the lanes' sums are added as they are: 1,000, descending": "wrong",
    "the lanes' sums are added as they are: 1,000 equal": "right",
    "m begins at 0: 1,000 around -1,000": "NaN",
    "m begins at 0: 1,000 random": "right",
    "s begins at 1: 1,000 random": "right",
    "s begins at 1: 20 random": "right",
    "no guard in the loop: 1,000, the first 32 masked": "NaN",
    "no guard in the loop: 1,000, the last third masked": "right",
    "no guard in the loop: 1,000, every second masked": "NaN",
    # [/fill]
}
