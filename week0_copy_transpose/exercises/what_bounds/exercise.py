"""Exercise week0/what_bounds: from counts and rates to the bound of a kernel."""

from __future__ import annotations

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

__all__ = ["COUNTS", "EXERCISE", "RATES", "RIGHT"]

# Of 4,096 × 4,096 float16; tests/lessons/test_bounds_asked.py compares with a run.
COUNTS = {  # thousands of blocks, instructions of warps, wavefronts, sectors
    "A": (131.1, 7_864, 0, 2_097),
    "B": (4.1, 14_746, 17_301, 2_097),
    "C": (65.5, 14_680, 0, 17_826),
    "D": (4.1, 4_391, 524, 2_097),
}
RATES = {  # thousands in a microsecond, on an H200
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
    """Microseconds of a bound by itself; device memory moves each of its sectors once."""
    if bound == "device memory":
        return 2_097 / RATES[bound]
    return COUNTS[kernel][_COLUMN[bound]] / RATES[bound]


_SLIPS = {
    (kernel, said): f"{said} would take {_us(kernel, said):.0f} µs for {kernel}; another of its "
    f"counts, divided by its rate, takes {_us(kernel, right):.0f}."
    for kernel, right in RIGHT.items()
    for said in _WORDS
    if said != right
}

EXERCISE = Exercise(
    title="name what bounds a kernel",
    task="""
Four kernels move 4,096 × 4,096 float16 from X to Y: **A** copies one element per thread, in blocks
of 128. **B** transposes through a tile of 64 × 64 without padding. **C** transposes without a tile
and stores down the columns. **D** is `vectorised`. Counts are in thousands:

| | blocks | instructions of warps | wavefronts of shared memory | sectors |
|---|---|---|---|---|
| A | 131.1 | 7,864 | 0 | 2,097 |
| B | 4.1 | 14,746 | 17,301 | 2,097 |
| C | 65.5 | 14,680 | 0 | 17,826 |
| D | 4.1 | 4,391 | 524 | 2,097 |

In a microsecond an H200 starts 1.7 thousand blocks and issues 1,003 thousand instructions of warps;
its shared memory takes 251 thousand wavefronts, its L2 cache 206 thousand sectors; its device
memory moves 159 thousand sectors, each of X and Y once, 2,097 thousand in all. (The rates are
those that the predicted times of this course use.) What bounds each kernel: `"start of blocks"`,
`"issue slots"`, `"shared memory"`, `"L2 cache"` or `"device memory"`?
""",
    hints=(
        "A bound is a quotient: the amount of work, divided by the rate. For each kernel compute "
        "how long each of the five would take by itself.",
        "The longest of the five is the bound. Device memory takes the same time for all four: "
        "2,097 / 159 µs.",
        "Go through the table by rows: in each row one count is large for its rate. Compare blocks "
        "with 1.7, and not with the other counts.",
    ),
    analysis="""
**A**: 131.1 / 1.7 = 77 µs to start its blocks, while memory needs 13. **B**: 17,301 / 251 = 69 µs
of wavefronts. **C**: 17,826 / 206 = 87 µs of sectors, most of them stored in part, which costs even
more. **D**: 13 µs, and no other quotient is longer: it takes as long as its bytes. No kernel here
is bound by issue slots, although B and C execute over three times as many instructions as D.

A predicted time takes all quotients together, and adds what a launch costs. `p.time("H200")` of a
profile shows them as bars.
""",
    entry="bounds",
    groups=(
        choices(RIGHT, _WORDS, _SLIPS, name="Bounds", look_at="Divide each count by its rate."),
    ),
    praise="A count alone says nothing: it has to be divided by a rate.",
)
