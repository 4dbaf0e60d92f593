"""Other right solutions of week1/pairwise."""

from forgekit.lessons.wrong import Wrong

ROUNDS = """    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[0::2], values[1::2], strict=False)]
        values = pairs + values[len(values) // 2 * 2 :]
    return values[0]"""
HALVES = """    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return pairwise(values[:middle]) + pairwise(values[middle:])"""
FAR_PARTNERS = """    values = list(values)
    while len(values) > 1:
        half = (len(values) + 1) // 2
        for k in range(len(values) - half):
            values[k] = values[k] + values[k + half]
        del values[half:]
    return values[0]"""
PADDED = """    width = 1
    while width < len(values):
        width *= 2
    values = list(values) + [0] * (width - len(values))
    while len(values) > 1:
        values = [sum(values[k : k + 2]) for k in range(0, len(values), 2)]
    return values[0]"""
ARRAY = """    import numpy as np

    values = np.array(values)
    while len(values) > 1:
        even = len(values) // 2 * 2
        values = np.concatenate((values[:even:2] + values[1:even:2], values[even:]))
    return values[0]"""

ALTERNATIVES = (
    Wrong("two halves", {ROUNDS: HALVES}),
    Wrong("partners half a list apart", {ROUNDS: FAR_PARTNERS}),
    Wrong("zeros up to a power of two", {ROUNDS: PADDED}),
    Wrong("each sum begins with 0", {"a + b for": "0 + a + b for"}),
    Wrong("a NumPy array", {ROUNDS: ARRAY}),
)
