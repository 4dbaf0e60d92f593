"""Solution to week2/overflows."""

ends = {
    # [fill]
    #| "float16: fewest 9s whose exponentials add up to inf": None,
    #| "float32: fewest 88s whose exponentials add up to inf": None,
    #| "float16: largest integer x for which 1,000 exponentials exp(x) have a finite sum": None,
    #| "float32: the weights of [-200, -200]": None,
    #| "float32: the weight of the 0 in [0, 100]": None,
    #| "float32: the weight of the 100 in [0, 100]": None,
    #| "float32: the weight of the -200 in [0, -200]": None,
    "float16: fewest 9s whose exponentials add up to inf": 9,
    "float32: fewest 88s whose exponentials add up to inf": 3,
    "float16: largest integer x for which 1,000 exponentials exp(x) have a finite sum": 4,
    "float32: the weights of [-200, -200]": "nan",
    "float32: the weight of the 0 in [0, 100]": 0,
    "float32: the weight of the 100 in [0, 100]": "nan",
    "float32: the weight of the -200 in [0, -200]": 0,
    # [/fill]
}
