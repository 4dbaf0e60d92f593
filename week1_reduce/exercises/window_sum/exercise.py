"""Puzzle week1/window_sum: sums of windows that overlap, through shared memory."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import coloured, picture
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="add up windows",
    task="""
Compute `y[i] = x[i] + x[i+1] + … + x[i+7]`; `y` has 7 fewer elements than `x`. A block loads
each of the 135 elements that it needs into shared memory once (only the last element of `x` may be
repeated, by threads beyond the end), and adds up its windows from
there. `x` is float32 and has at least 8 elements.

Signature: `window_sum(x, y)`.
""",
    hints=(
        "128 windows span 128 + 7 elements. Which threads load the last seven?",
        "Not every block is full. Which elements of `x` exist, and which of `y`?",
        "Threads with `tidx < 7` load a second element, on a line with its own predicate. The "
        "barrier comes after both loads and before any `if` that depends on `y`.",
    ),
    analysis="""
Each window takes eight reads from shared memory. With prefix sums `p`, two reads are enough,
because the sum is `p[i+8] − p[i]`. But a difference of large sums loses digits that a short sum
keeps.
""",
    asked={"blocks": ("one block per 128 windows", lambda n: -(-(n - 7) // 128)), "block": 128, "barriers": 1, "shared_bytes": 540},
    entry="window_sum",
    inputs=lambda draw, n: (draw.fractions(n),),
    result=lambda x: x.unfold(0, 8, 1).sum(1),
    sizes=[(10,), (8,), (135,), (136,), (1000,), (130,), (9,), (263,)],
    count=[(135,), (40_000,)],
    legal=lambda n: (n + 7,),
    waste={"loaded": 1},
    misconceptions=[
        looks_like(lambda x, y: x.double().unfold(0, 7, 1).sum(1)[: len(x) - 7], "the windows have 7 elements, not 8."),
        looks_like(lambda x, y: x[: len(x) - 7], "y is a copy of x: the kernel adds nothing."),
    ],
    given=picture(
        "windows of 3 (yours have 8)",
        {"x": [coloured([3, 1, 4, 1, 5, 9], {0: 0, 1: 0, 2: 0})], "y": [[("8", 0), "6", "10", "15"]]},
    ),
)  # fmt: skip
