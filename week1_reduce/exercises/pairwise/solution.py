"""Solution to week1/pairwise."""


def pairwise(values):
    # [fill]
    #| return values[0]
    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[0::2], values[1::2], strict=False)]
        values = pairs + values[len(values) // 2 * 2 :]
    return values[0]
    # [/fill]
