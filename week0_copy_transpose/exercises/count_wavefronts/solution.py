"""Solution to week0/count_wavefronts."""

wavefronts = {
    # [fill]
    #| "s[2 * i]": None,
    #| "s[3 * i]": None,
    #| "s[16 * i]": None,
    #| "s[i // 4]": None,
    "s[2 * i]": 2,
    "s[3 * i]": 1,
    "s[16 * i]": 16,
    "s[i // 4]": 1,
    # [/fill]
}
