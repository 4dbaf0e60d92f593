"""Wrong solutions to week1/pairwise."""

from forgekit.lessons.wrong import Wrong

ROUNDS = """    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[0::2], values[1::2], strict=False)]
        values = pairs + values[len(values) // 2 * 2 :]
    return values[0]"""
ONE_BY_ONE = """    total = values[0]
    for value in values[1:]:
        total = total + value
    return total"""
TWO_HALVES = """    half = (len(values) + 1) // 2
    left = values[0]
    for value in values[1:half]:
        left = left + value
    if len(values) == 1:
        return left
    right = values[half]
    for value in values[half + 1 :]:
        right = right + value
    return left + right"""
QUARTER = """    if len(values) == 1:
        return values[0]
    cut = max(1, len(values) // 4)
    return pairwise(values[:cut]) + pairwise(values[cut:])"""

WRONG = (
    Wrong("odd one lost", {"pairs + values[len(values) // 2 * 2 :]": "pairs"}, "has no neighbour"),
    Wrong("one by one", {ROUNDS: ONE_BY_ONE}, "it adds the numbers one after the other"),
    Wrong("two halves, each one by one", {ROUNDS: TWO_HALVES}, "One of 8 numbers goes through 4"),
    Wrong("a quarter and the rest", {ROUNDS: QUARTER}, "a tree needs 3. [ ] Error"),
    Wrong("no return", {"    return values[0]": ""}, "it has no `return`"),
    Wrong("a list", {"return values[0]": "return values"}, "return the one number in it"),
    Wrong("without end", {ROUNDS: "    return pairwise(values)"}, "without end"),
    Wrong("fsum", {ROUNDS: "    import math\n    return math.fsum(values)"}, "raises TypeError"),
)  # fmt: skip
