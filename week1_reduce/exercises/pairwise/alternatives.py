"""Other right solutions of week1/pairwise."""

from forgekit.lessons.wrong import Wrong

ROUNDS = """    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[0::2], values[1::2], strict=False)]
        values = pairs + values[len(values) // 2 * 2 :]
    return values[0]"""
UPPER_HALF = """    while len(values) > 1:
        half = (len(values) + 1) // 2
        pairs = [a + b for a, b in zip(values, values[half:], strict=False)]
        values = pairs + values[len(pairs) : half]
    return values[0]"""
HALVES = """    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return pairwise(values[:half]) + pairwise(values[half:])"""

ALTERNATIVES = (
    Wrong("two halves, each pairwise", {ROUNDS: HALVES}),
    Wrong("the upper half onto the lower", {ROUNDS: UPPER_HALF}),
)
