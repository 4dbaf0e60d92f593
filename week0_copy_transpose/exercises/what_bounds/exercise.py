"""Exercise week0/what_bounds: from counts and rates to the bound of a kernel."""

from __future__ import annotations

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

__all__ = ["COUNTS", "EXERCISE", "RATES", "RIGHT"]

# For 4,096 × 4,096 float16; tests/lessons/test_bounds_asked.py compares the counts with a run.
COUNTS = {  # thousands of blocks, instructions of warps, wavefronts, sectors
    "A": (131.1, 7_864, 0, 2_097),
    "B": (4.1, 14_746, 17_301, 2_097),
    "C": (65.5, 14_680, 0, 17_826),
    "D": (4.1, 4_391, 524, 2_097),
}
RATES = {  # thousands per microsecond, on an H200
    "start of blocks": 1.7,
    "issue slots": 1003,
    "shared memory": 251,
    "L2 cache": 206,
    "device memory": 159,
}
RIGHT = {"A": "start of blocks", "B": "shared memory", "C": "L2 cache", "D": "device memory"}
_WORDS = tuple(RATES)
_COLUMN = {"start of blocks": 0, "issue slots": 1, "shared memory": 2, "L2 cache": 3}


def _us(kernel: str, bound: str) -> float:
    """Return the microseconds of a bound alone; device memory moves each of its sectors once."""
    if bound == "device memory":
        return 2_097 / RATES[bound]
    return COUNTS[kernel][_COLUMN[bound]] / RATES[bound]


_SLIPS = {
    (kernel, said): f"{said} would take {_us(kernel, said):.0f} µs for {kernel}, but another "
    f"of the five rates gives {_us(kernel, right):.0f} µs."
    for kernel, right in RIGHT.items()
    for said in _WORDS
    if said != right
}

EXERCISE = Exercise(
    title="find the bound of a kernel",
    task="""
Four kernels move 4,096 × 4,096 float16 elements from X to Y. **A** copies one element per thread,
in blocks of 128 threads. **B** transposes with a 64 × 64 tile without padding. **C** transposes
without a tile and stores down the columns. **D** is `vectorised`. All counts are in thousands:

| | blocks | warp instructions | wavefronts of shared memory | sectors |
|---|---|---|---|---|
| A | 131.1 | 7,864 | 0 | 2,097 |
| B | 4.1 | 14,746 | 17,301 | 2,097 |
| C | 65.5 | 14,680 | 0 | 17,826 |
| D | 4.1 | 4,391 | 524 | 2,097 |

These are the rates of an H200, in thousands per microsecond. The predicted times in this course use
them:

| `"start of blocks"` | `"issue slots"` | `"shared memory"` | `"L2 cache"` | `"device memory"` |
|---|---|---|---|---|
| 1.7 blocks | 1,003 warp instructions | 251 wavefronts | 206 sectors | 159 sectors |

The sectors in the first table pass through the L2 cache. Device memory moves each sector of X and Y
once, 2,097 thousand in all. Which of the five rates limits each kernel?
""",
    hints=(
        "To get a bound, divide the amount of work by the rate. For each kernel, compute the time "
        "that each of the five kinds of work would take by itself.",
        "The kernel's bound is the longest of the five times. Device memory takes the same time, "
        "2,097 / 159 µs, for all four kernels.",
        "Go through the first table row by row. In each row, find the count that is largest in "
        "relation to its rate. For example, compare the number of blocks with 1.7, not with the "
        "other counts.",
    ),
    analysis="""
The blocks of **A** take 131.1 / 1.7 = 77 µs to start, while device memory needs only 13 µs. The
wavefronts of **B** take 17,301 / 251 = 69 µs. The sectors of **C** take 17,826 / 206 = 87 µs, and
their real cost is higher, because the kernel writes only a part of most of them. For **D**, device
memory takes 13 µs, and no other time is longer. Issue slots bound none of the four kernels,
although B and C execute over three times as many instructions as D.

The model combines all five times and adds the cost of a launch to predict the time of a kernel. For
a profile `p`, `p.time("H200")` shows them as bars.
""",
    entry="bounds",
    groups=(
        choices(RIGHT, _WORDS, _SLIPS, name="Bounds", look_at="Divide each count by its rate."),
    ),
    praise="A count means nothing until it is divided by a rate.",
)
