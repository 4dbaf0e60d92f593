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
BY_TYPE = f"""    if isinstance(values[0], float):
        import math
        return math.fsum(values)
{ROUNDS}"""
BY_KIND = f"""    if hasattr(values[0], "dtype"):
        return values[0].__class__(sum(float(value) for value in values))
{ROUNDS}"""
HEAD_AND_TAIL = """    if len(values) == 1:
        return values[0]
    return values[0] + pairwise(values[1:])"""
SINGLE = f"""    import numpy as np
    if isinstance(values[0], float):
        values = [np.float32(value) for value in values]
{ROUNDS}"""
SIXTEEN = ROUNDS.replace("while len(values) > 1:", "for _ in range(16):")

WRONG = (
    Wrong("odd one lost", {"pairs + values[len(values) // 2 * 2 :]": "pairs"}, "has no neighbour"),
    Wrong("one by one", {ROUNDS: ONE_BY_ONE}, "it adds 33 numbers one after another"),
    Wrong("two halves, each one by one", {ROUNDS: TWO_HALVES}, "One of 8 numbers passes through 4"),
    Wrong("a quarter and the rest", {ROUNDS: QUARTER}, "a tree needs 3. [ ] The same"),
    Wrong("no return", {"    return values[0]": ""}, "returns None for 1 number; return"),
    Wrong("a list", {"return values[0]": "return values"}, "a list for 1 number; return"),
    Wrong("the last one lost from any list", {ROUNDS: "    return sum(values[:-1])"},
          "pairwise returns 0. [ ] Additions"),
    Wrong("a text", {"return values[0]": "return f'the sum is {values[0]}'"}, "'the sum is 1.0' for 1 number; return a number"),
    Wrong("without end", {ROUNDS: "    return pairwise(values)"}, "exceeds Python's limit on nested calls; a tree needs 0"),
    Wrong("fsum", {ROUNDS: "    import math\n    return math.fsum(values)"}, "raises TypeError"),
    Wrong("floats by fsum", {ROUNDS: BY_TYPE}, "8 numbers of type float, of which number 0"),
    Wrong("NumPy's numbers in float64", {ROUNDS: BY_KIND}, "8 numbers of type float32, of which"),
    Wrong("head and tail", {ROUNDS: HEAD_AND_TAIL}, "With 1,000 numbers, pairwise exceeds Python's limit"),
    Wrong("floats rounded to float32", {ROUNDS: SINGLE}, "The sum of 1 … 200001 is 20000300001; pairwise returns 2000"),
    Wrong("at most 16 rounds", {ROUNDS: SIXTEEN}, "The sum of 1 … 200001"),
    Wrong("16 rounds, then one by one", {ROUNDS: SIXTEEN.replace("    return values[0]", ONE_BY_ONE)},
          "One of 200001 numbers passes through 19 additions; a tree needs 18"),
    Wrong("the loop never ends", {
        "while len(values) > 1:": "while len(values) >= 1:",
    }, "pairwise has not returned after 5 s. Why: either a loop"),
    Wrong("from the front of a list", {ROUNDS: """    values = list(values)
    while len(values) > 1:
        values.append(values.pop(0) + values.pop(0))
    return values[0]"""}, "or the function does much more than n − 1 additions"),
)  # fmt: skip
