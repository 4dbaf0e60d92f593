"""Puzzle week2/backward_in_place: the gradient of softmax, which overwrites the incoming
gradient."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..gradients import dy_and_y, shares, softmax_gradient


def _of_lanes(dy, y):
    """Return dx if each lane uses the sum over its own 16-byte vectors."""
    vec = 16 // dy.element_size()
    of_vectors = (dy.double() * y.double()).unflatten(1, (-1, vec)).sum(2)
    return (dy.double() - shares(of_vectors).repeat_interleave(vec, 1)) * y.double()


EXERCISE = puzzle(
    title="compute the gradient in place",
    task="""
`dy[m, n] = (dy[m, n] - Σ dy·y) · y[m, n]`: after the call, `dy` holds dx, so no third matrix is needed. Rows have up to 1,024 elements; N is a multiple of 8.
Support float32, float16 and bfloat16; compute in float32. Read each element once. Signature: `backward_in_place(dy, y)`.
""",
    hints=(
        "Keep in registers the data that you read once and need twice. How many vectors does a lane have in a row of 1,024 elements? That number depends only on the type.",
        "Make one `cute.make_rmem_tensor((vec, loads), type)` for each of the two matrices, and copy a vector with `cute.autovec_copy(g[(None, i)], r[None, k])`. `.load().to(Float32)` of "
        "such a tensor gives all its values, and `.reduce(cute.ReductionOp.ADD, 0.0, 0)` their "
        "sum.",
        "A lane without a vector still takes part in the shuffles. In a line before the first loop, fill its registers with a value that does not change the sum.",
    ),
    analysis="""
Writing in place is safe here: a lane overwrites only elements that it has read itself, and no other thread reads
them. A framework can do this when it knows that dy is no longer needed. Autograd does not, because another branch
of the graph may hold the same tensor. The kernel makes two reads and one write, as with a separate dx, but needs
one matrix fewer.
""",
    asked={"work": "one warp per row", "load_bytes": 16, "store_bytes": 16},
    entry="backward_in_place",
    inputs=dy_and_y,
    result=softmax_gradient,
    in_place=True,
    sizes=[(3, 8), (4, 256), (1, 1024), (7, 1000), (33, 136), (5, 1016)],
    count=[(5, 64), (64, 1000)],
    dtypes=("float32", "float16", "bfloat16"),
    atol=1e-6,
    legal=lambda m, n: (m, min(1024, max(8, n // 8 * 8))),
    promise={0: {1: 8}, 1: {1: 8}},
    misconceptions=[
        looks_like(lambda dy, y: dy.double() * y.double(), "dx is dy·y: nothing, or 0, is subtracted from dy."),
        looks_like(lambda dy, y: dy.double() - (dy.double() * y.double()).sum(1, keepdim=True),
                   "the difference of dy and the sum is not yet multiplied by y."),
        looks_like(lambda dy, y: torch.full(dy.shape, -torch.inf), "Σ dy·y is infinite, but no product "
                   "of the inputs is. What do registers hold if nothing was loaded into them?"),
        looks_like(_of_lanes, "each lane uses its own share of Σ dy·y: the shares of the 32 lanes are not added."),
        looks_like(lambda dy, y: dy, "dy is unchanged: the kernel stores nothing, or dy itself, or it stores dx elsewhere."),
    ],
    more=lambda make: (read_at_most(make, (5, 1000), {0: 1, 1: 1}),),
    praise="You have saved the memory of a matrix.",
)  # fmt: skip
