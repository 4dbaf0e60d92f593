"""Exercise week1/what_helps: what bounds a sum of a shape, and which change shortens it."""

from __future__ import annotations

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

__all__ = ["BOUNDS", "CALLS", "EXERCISE"]

# kernel of 03_bytes_in_flight, rows, columns, blocks, predicted µs; compared with a run by
# tests/lessons/test_bounds_asked.py
CALLS = {
    "A": ("vectors", 1_048_576, 64, 262_144, 169),
    "B": ("vectors", 64, 262_144, 16, 843),
    "C": ("unrolled", 32_768, 4_096, 8_192, 124),
    "D": ("unrolled", 64, 64, 16, 4.3),
}
BOUNDS = {"A": "start of blocks", "B": "latency", "C": "device memory", "D": "the launch itself"}
_HELPS = {
    "A helped by": "more rows per block",
    "B helped by": "more bytes in flight",
    "C helped by": "fewer bytes",
    "D helped by": "fewer launches",
}
_WORDS = tuple(BOUNDS.values())
_AGAINST = {
    "A": {
        "latency": "its 262,144 blocks are more than enough to wait together.",
        "device memory": "its bytes take 53 µs at 5.1 TB/s, and it takes 169.",
        "the launch itself": "a launch takes about 4 µs, and this call takes 169.",
    },
    "B": {
        "start of blocks": "it has 16 blocks, and a GPU starts 1,700 in a microsecond.",
        "device memory": "its bytes take 13 µs at 5.1 TB/s, and it takes 843.",
        "the launch itself": "a launch takes about 4 µs, and this call takes 843.",
    },
    "C": {
        "start of blocks": "8,192 blocks at 1,700 in a microsecond take 5 µs.",
        "latency": "if it waited for anything but memory's rate, its bytes would not come at 4.3 "
        "TB/s.",
        "the launch itself": "a launch takes about 4 µs, and this call takes 124.",
    },
    "D": {
        "start of blocks": "16 blocks take a hundredth of a microsecond.",
        "latency": "a warp waits once or twice, and each wait takes less than half a microsecond.",
        "device memory": "16 kB take no time that could be seen.",
    },
}
_SLIPS = {(call, said): why for call, of in _AGAINST.items() for said, why in of.items()}
_SHORTENS = {
    "more rows per block": "the start of blocks",
    "more bytes in flight": "waiting",
    "fewer bytes": "the work of device memory",
    "fewer launches": "what each launch costs",
}
_NO_HELP = {
    (question, said): f"{said} would shorten {_SHORTENS[said]}, which is not what bounds "
    f"{question[0]}."
    for question, right in _HELPS.items()
    for said in _SHORTENS
    if said != right
}

EXERCISE = Exercise(
    title="say what bounds a call, and what would help",
    task="""
Four sums of rows in float32, each with its time as predicted for an H200. A GPU starts about 1,700
blocks in a microsecond, its memory moves at most 5.1 MB in that time, and an answer takes 400 ns.

| | kernel | rows × columns | blocks | predicted |
|---|---|---|---|---|
| A | `vectors` | 1,048,576 × 64 | 262,144 | 169 µs |
| B | `vectors` | 64 × 262,144 | 16 | 843 µs |
| C | `unrolled` | 32,768 × 4,096 | 8,192 | 124 µs |
| D | `unrolled` | 64 × 64 | 16 | 4.3 µs |

What bounds each of them: `"start of blocks"`, `"latency"`, `"device memory"` or `"the launch
itself"`? And which change would help it most: `"more rows per block"`, `"more bytes in flight"`,
`"fewer bytes"` (a narrower type) or `"fewer launches"`? Each word is right once.
""",
    hints=(
        "How long would the bytes of each call take at 5.1 MB per microsecond? One of the four "
        "calls is near that time.",
        "Of the others: how long do its blocks take to start? Which call is over before anything "
        "could take long?",
        "The row that is left has few warps and many turns. Section 4 computes how long they take.",
    ),
    analysis="""
**A** moves 268 MB, 53 µs, and starts 262,144 blocks, 154 µs: more rows per block, as in
`eight_lanes`. **B** has 64 warps on the whole GPU, and each waits 2,048 times for 400 ns: more
bytes in flight, by `unrolled` or by more warps per row. **C** moves 537 MB, 106 µs: only fewer
bytes help. **D** has nothing to do, and takes as long as a launch: put its work into another one.
The same two kernels, and a bound for each shape: a kernel has no bound, a call has one.
""",
    entry="diagnosis",
    groups=(
        choices(BOUNDS, _WORDS, _SLIPS, name="What bounds it", look_at="Divide work by rate."),
        choices(
            _HELPS,
            tuple(_SHORTENS),
            _NO_HELP,
            name="What helps",
            look_at="A change helps where it shortens the longest bound.",
        ),
    ),
    praise="A kernel has no bound; a call has one.",
)
