"""Solution of week2/overflows."""

ends = {
    # [fill]
    #| "float16: how many elements of 9, until the sum of their exponentials is inf": None,
    #| "float32: how many elements of 88, until the sum of their exponentials is inf": None,
    #| "float16: largest whole x, so that a sum of 1,000 of exp(x) is still finite": None,
    #| "float32: the weights of [-200, -200]": None,
    #| "float32: the weight of the 0 in [0, 100]": None,
    #| "float32: the weight of the 100 in [0, 100]": None,
    #| "float32: the weight of the -200 in [0, -200]": None,
    "float16: how many elements of 9, until the sum of their exponentials is inf": 9,
    "float32: how many elements of 88, until the sum of their exponentials is inf": 3,
    "float16: largest whole x, so that a sum of 1,000 of exp(x) is still finite": 4,
    "float32: the weights of [-200, -200]": "nan",
    "float32: the weight of the 0 in [0, 100]": 0,
    "float32: the weight of the 100 in [0, 100]": "nan",
    "float32: the weight of the -200 in [0, -200]": 0,
    # [/fill]
}
