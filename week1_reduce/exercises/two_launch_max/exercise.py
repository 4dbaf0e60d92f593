"""Puzzle week1/two_launch_max: parts of rows in one launch, their maximum in a second."""

import torch

from forgekit.lessons.gates import FINITE_START, GateError, Group, Submission, looks_like
from forgekit.lessons.gates.values import check_values
from forgekit.lessons.puzzle import puzzle


def _maxima(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maximum of each piece of 1,024 columns, and of each row."""
    parts = torch.stack([piece.amax(1) for piece in x.split(1024, dim=1)], dim=1)
    return parts, x.amax(1)


def _many_parts(make) -> Group:
    """Return a group that compares the result for a row of 1,025 parts, and counts the threads that
    read them."""

    def run(submission: Submission) -> str:
        from forgekit.tracing.footprint import footprint

        case = submission.case(make, (1, 1_049_600), "float32")
        check_values(submission, case, submission.run(case))
        kernel, arguments = submission.compiled(case), submission.arguments(case)
        name = kernel.parameters[1].name
        found = footprint(kernel, *arguments.values(), tensor=name, kind="load")
        threads = found.threads[name]
        if threads < 32:
            raise GateError(
                f"Threads that load {name} with {case.label}: {threads}; at least the 32 threads "
                "of a warp have to share the parts."
            )
        return f"{case.label}: {threads} threads load the parts"

    return Group("Many parts", run)


EXERCISE = puzzle(
    title="find the largest element of a long row in two launches",
    task="""
Find the largest element of each row, for a few float32 rows of any length. In the first launch,
each block writes the maximum of a piece of 1,024 columns into `part[row, piece]`; `part` has
one column per piece. The second launch computes `y[row]` from the parts of the row, which the threads
of a warp or of a block share. One host function starts both launches. All elements may be negative, and elements may be infinite.

Signature: `two_launch_max(x, part, y)`.
""",
    hints=(
        "Write two kernels, and two `.launch(...)` calls in one host function. The second kernel "
        "starts after the first has ended.",
        "Both kernels end with the maximum over the threads of a block. Write that function once, "
        "with `@cute.jit`, and call it in both.",
        "The grid of the first launch is `(pieces, rows, 1)`, from the shape of `part`. A thread "
        "without columns keeps the identity, which you set on the line before its loop.",
    ),
    analysis="""
The end of a launch is the strongest ordering there is: the second kernel may read everything
that the first has written, without a counter or a fence. The cost is one more launch, and a
workspace, `part`, that the caller has to provide. A maximum is the same in any order. A sum
computed this way is deterministic as well, because the parts and their order are fixed.
""",
    asked={
        "blocks": ("one block per 1,024 columns of a row", lambda m, n: m * -(-n // 1024)),
        "first_block": 256,
        "launches": 2,
    },
    entry="two_launch_max",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=_maxima,
    sizes=[(4, 2048), (1, 1025), (3, 1), (2, 1000), (14, 300), (1, 5000), (3, 2049)],
    count=[(1, 9000), (1, 263_168), (4, 12_000)],
    exact=True,
    more=lambda make: (_many_parts(make),),
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, part, y: torch.stack([p[:, :256].amax(1) for p in
                                                   x.split(1024, dim=1)], 1),
                   "the maximum of a piece covers only its first 256 columns."),
        looks_like(lambda x, part, y: (None, x[:, : 256 * 1024].amax(1)),
                   "y holds the maximum of only the first 256 pieces."),
    ],
)  # fmt: skip
