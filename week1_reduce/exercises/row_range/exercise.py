"""Puzzle week1/row_range: the distance from a row's smallest to its largest element."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    """Return rows of which the far ones are, in float32, near the type's limits."""
    x = draw.extremes(m, n, finite=True)
    if x.dtype == torch.float32:
        far = x.abs().amin(1, keepdim=True) > 1e8
        x = torch.where(far, x.sign() * 3.38e38 + x * 1e26, x)
    return (x,)


EXERCISE = puzzle(
    title="subtract the smallest from the largest",
    task="""
`y[m]` is the largest element of row m minus its smallest, for any M and N ≥ 1, in float32 and
float16. Use shuffles within the warps, then shared memory; `cutlass.min` is the counterpart of
`cutlass.max`.

Signature: `row_range(x, y)`.
""",
    hints=(
        "Perform two reductions together, each with its own identity. How many numbers do the 8 "
        "warps produce?",
        "Eight maxima and eight minima need 16 words of shared memory, in two tensors or in one "
        "with the layout (2, 8). The first lane of each warp stores two numbers.",
        "After the barrier, the first warp continues: lanes 0 to 7 read the results of one warp "
        "each, the other lanes hold −∞ and +∞, and all 32 take part in the shuffles.",
    ),
    analysis="""
Two values need only one barrier, because the block waits for both at once. A kernel that fuses
two reductions also reads the row once instead of twice, and reading takes most of the time.
""",
    asked={"work": "one block per row", "block": 256, "sharing": 8, "barriers": 1, "shared_bytes": 128},
    entry="row_range",
    inputs=_inputs,
    result=lambda x: x.amax(1) - x.amin(1),
    sizes=[(4, 5), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (3, 300)],
    count=[(3, 300), (40, 1000)],
    waste={"loaded": 1.75},  # every thread may begin with the first element
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: x.amax(1), "this is only the largest element: the kernel does "
                   "not subtract the smallest, or takes it to be 0."),
        looks_like(lambda x, y: x.double().amax(1).clamp(min=0) - x.amin(1), "0 counts "
                   "as an element of the maximum, which must begin and be filled up with −∞."),
        looks_like(lambda x, y: x.double().amax(1).clamp(min=0) - x.amin(1).clamp(max=0), "0 "
                   "counts as an element: a maximum must begin and be filled up with −∞, and "
                   "a minimum with ∞."),
        looks_like(lambda x, y: x.double().amin(1) - x.amax(1), "this is the smallest minus the "
                   "largest."),
        looks_like(lambda x, y: x[:, :1].double().amax(1) * 0, "every result is 0, as if the kernel subtracted equal "
                   "numbers."),
    ],
)  # fmt: skip
