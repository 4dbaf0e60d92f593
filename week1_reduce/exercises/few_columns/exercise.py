"""Puzzle week1/few_columns: no idle lanes even if a matrix has 3 columns."""

from dataclasses import replace

import numpy as np
import torch

from forgekit.lessons.gates import GateError, Group, Submission, economical, looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

ROWS = 256  # per part
WASTE = {"store_sectors": None}  # warps may share a row of y


def parts_of(x: torch.Tensor) -> torch.Tensor:
    """Return the column sums of each group of 256 rows."""
    return torch.stack([part.sum(0) for part in x.split(ROWS)])


def _every_warp_reads(make) -> Group:
    """Return a group that counts the warps that load, with few columns and a full block."""

    def run(submission: Submission) -> str:
        from forgekit.tracing.footprint import footprint

        for columns in (3, 1, 5, 9, 17):
            case = submission.case(make, (ROWS, columns), "float32")
            kernel = submission.compiled(case)
            name = kernel.parameters[0].name
            found = footprint(
                kernel, *submission.arguments(case).values(), tensor=name, kind="load"
            )
            threads = found.touched[name]["thread"]
            if (warps := len(np.unique(threads[threads >= 0] // 32))) < 8:
                raise GateError(
                    f"Warps that load with {case.label}: {warps} of the block's 8; all have to read.",
                    look_at=f"fk.footprint(*{{failed}}, tensor='{name}', by='warp', kind='load')",
                )
        return "all 8 load, whatever the number of columns"

    return Group("Warps that read", run)


def _many_columns(make) -> Group:
    """Return a group that compares the counts for 17 columns with the solution's."""
    size = (1000, 17)
    group = economical(make, [size], "float32", more=lambda: [(make, size, "float16")], waste=WASTE)
    return replace(group, name="17 columns")


EXERCISE = puzzle(
    title="keep every lane busy",
    task="""
A contiguous matrix has only 1 to 32 columns, and any height M. Write the first of two launches:
row p of `y` receives the column sums of rows 256·p to 256·p + 255 of `x`, so `y` has ⌈M / 256⌉
rows. All warps of a block have to read neighbouring elements, whatever the number of columns.
The types are float32 and float16; accumulate in float32. Write the whole kernel.

Signature: `few_columns(x, y)`.
""",
    hints=(
        "In memory, the 256 rows of a block are one strip of 256 · N numbers. Ignore the rows: "
        "number k of the strip belongs to column k % N.",
        "A thread that starts at number t and continues in steps of a multiple of N stays in "
        "column t % N. What is the largest multiple of N up to 256? The few threads beyond it do "
        "nothing.",
        "The line that loads reads element (k // N, k % N) of the block's rows, with a "
        "predicate, because the last block may have fewer rows. In shared memory, the sums of "
        "column n then begin at word n and are N words apart.",
    ),
    analysis="""
With 3 columns, a warp that reads one row uses only 3 of its lanes. Here 255 of 256 threads
read, and a warp's float32 load fetches 4 sectors. The trick is the step: a multiple of N keeps
each thread in its column, so one register is enough. The division by N and its remainder cost
instructions only once per thread; in the loop, only the row advances, by `deep`.
""",
    asked={"work": "one block per 256 rows", "block": 256},
    entry="few_columns",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=parts_of,
    sizes=[(90, 3), (4, 3), (1, 1), (256, 2), (300, 7), (1000, 3), (257, 32), (31, 31), (600, 5)],
    count=[(300, 3), (2304, 7)],
    legal=lambda m, n: (m, min(32, n)),
    waste=WASTE,
    more=lambda make: (_every_warp_reads(make), _many_columns(make)),
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(
            lambda x, y: torch.stack([p[:: 256 // x.shape[1]].sum(0) for p in x.double().split(ROWS)])
            if len(x) > 256 // x.shape[1] else None,
            "the result contains only the elements that belong to the first N threads; those of "
            "the others are missing.",
        ),
    ],
    given=picture(
        "3 columns, 8 threads (yours: 256); numbers are threads; threads 6 and 7 are idle",
        {"x": [[(str(k % 6), 5 * (k % 6)) for k in range(3 * row, 3 * row + 3)] for row in range(4)]},
    ),
)  # fmt: skip
