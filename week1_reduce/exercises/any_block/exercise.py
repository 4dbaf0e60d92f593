"""Puzzle week1/any_block: a tree for a number of threads that is not a power of two."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _tree(x, round_up):
    """Return the sum of a tree whose rounds add the same number of words as they leave."""
    left = 96
    words = [x[:, k::left].double().sum(1) for k in range(left)]
    while left > 1:
        half = (left + round_up) // 2
        words = [words[k] + words[k + half] for k in range(half)] + words[half:]
        left = half
    return words[0]


EXERCISE = puzzle(
    title="fix a tree that loses elements",
    task="""
This kernel adds up rows with blocks of 96 threads. Its barriers are in place and it has no bank
conflicts, but its sums are right only for some rows. Fix the tree.
""",
    hints=(
        "The rounds leave 48, 24, 12, 6 and 3 words. What happens next? Follow the last three "
        "words to the end.",
        "When 3 sums are left, one has no partner. Which words should hold the 2 sums of the next "
        "round?",
        "Each round adds the upper words to the lower words: `left` words become `(left + 1) // 2`. If "
        "`left` is odd, the middle word must not change: adapt the predicate.",
    ),
    analysis="""
If you round the half up, ⌈log₂ n⌉ rounds suffice for any n. `left` is a Python number that is
known at compile time, so the compiler unrolls the rounds, and their bounds are constants. Block
sizes are often powers of two, but the remainder at the end of a row or a grid rarely is.
""",
    asked={"block": 96, "sharing": 3, "barriers": 7, "bank_conflicts": 0},
    entry="any_block",
    inputs=lambda draw, m, n: (draw.fractions(m, n).abs() + 1,),
    result=lambda x: x.sum(1),
    sizes=[(2, 100), (2, 3), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (3, 300)],
    count=[(3, 100), (40, 1000)],
    misconceptions=[
        looks_like(lambda x, y: _tree(x, 0), "when 3 words are left, the third is missing from the sum."),
        looks_like(lambda x, y: _tree(x, 1), "when an odd number of words is left, the round "
                   "adds a word that an earlier round has already added."),
        looks_like(lambda x, y: x[:, ::96].double().sum(1), "the result contains only the sum of "
                   "thread 0."),
    ],
    praise="No word is left behind.",
)  # fmt: skip
