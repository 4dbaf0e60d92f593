"""Puzzle week1/any_block: a tree for a number of threads that is no power of two."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _tree(x, round_up):
    """The sum of a tree in which as many words are added as are left afterwards."""
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
This kernel adds up rows with blocks of 96 threads. Its barriers are in place, it has no conflicts,
and for some rows it is right. Fix the tree.
""",
    hints=(
        "96, 48, 24, 12, 6, 3: and then? Follow the last three words to the end.",
        "Of 3 sums that are left, one has no partner. In which words should the 2 that come out "
        "stand?",
        "In each round the upper ones are added to the lower ones: `left` words become "
        "`(left + 1) // 2`, and of an odd number the one in the middle stays where it is; the "
        "predicate decides that.",
    ),
    analysis="""
With the half rounded up, ⌈log₂ n⌉ rounds do for any n. `left` is a Python number, known when the
kernel is compiled, so the rounds are unrolled and their bounds are constants. Blocks are powers of
two often enough; what is left of a row or of a grid hardly ever is.
""",
    asked={"block": 96, "barriers": 7},
    entry="any_block",
    inputs=lambda draw, m, n: (draw.fractions(m, n).abs() + 1,),
    result=lambda x: x.sum(1),
    sizes=[(2, 3), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (3, 300)],
    count=[(3, 100), (40, 1000)],
    misconceptions=[
        looks_like(lambda x, y: _tree(x, 0), "of 3 words that are left, the third is never added to "
                   "anything."),
        looks_like(lambda x, y: _tree(x, 1), "where an odd number of words is left, one behind them, "
                   "which has been added before, is added again."),
        looks_like(lambda x, y: x[:, ::96].double().sum(1), "only what thread 0 has added up is in "
                   "the result."),
    ],
    praise="Nobody is left behind.",
)  # fmt: skip
