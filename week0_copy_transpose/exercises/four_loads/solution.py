"""Solution to week0/four_loads."""

sectors = {
    # [fill]
    #| "mX[2 * i]": None,
    #| "mX[i + 1]": None,
    #| "mX[255 - i]": None,
    #| "mX[i // 4]": None,
    "mX[2 * i]": 8,
    "mX[i + 1]": 5,
    "mX[255 - i]": 4,
    "mX[i // 4]": 1,
    # [/fill]
}
