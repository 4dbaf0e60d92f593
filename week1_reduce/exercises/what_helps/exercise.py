"""Exercise week1/what_helps: the bound of a sum for a shape, and the change that shortens it."""

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
        "latency": "with 262,144 blocks, many loads wait at the same time.",
        "device memory": "its bytes take 53 µs at 5.1 TB/s, but the call takes 169 µs.",
        "the launch itself": "a launch takes about 4 µs, but this call takes 169 µs.",
    },
    "B": {
        "start of blocks": "it has 16 blocks, and a GPU starts 1,700 per microsecond.",
        "device memory": "its bytes take 13 µs at 5.1 TB/s, but the call takes 843 µs.",
        "the launch itself": "a launch takes about 4 µs, but this call takes 843 µs.",
    },
    "C": {
        "start of blocks": "8,192 blocks at 1,700 per microsecond take 5 µs.",
        "latency": "if latency bounded it, its bytes would not arrive at 4.3 TB/s.",
        "the launch itself": "a launch takes about 4 µs, but this call takes 124 µs.",
    },
    "D": {
        "start of blocks": "16 blocks start within 0.01 µs.",
        "latency": "a warp waits once or twice, and each wait takes less than half a microsecond.",
        "device memory": "16 kB take far less than a microsecond.",
    },
}
_SLIPS = {(call, said): why for call, of in _AGAINST.items() for said, why in of.items()}
_SHORTENS = {
    "more rows per block": "the start of blocks",
    "more bytes in flight": "waiting",
    "fewer bytes": "the time in device memory",
    "fewer launches": "the launches",
}
_NO_HELP = {
    (question, said): f"{said} would shorten {_SHORTENS[said]}, which does not bound {question[0]}."
    for question, right in _HELPS.items()
    for said in _SHORTENS
    if said != right
}

EXERCISE = Exercise(
    title="name the bound of a call and the change that helps",
    task="""
The table lists four float32 row sums, each with its predicted time on an H200. The prediction
assumes that the GPU starts 1,700 blocks per microsecond and moves at most 5.1 MB per
microsecond. Both rates are fitted to recorded times. (The data sheet promises 4.8 MB per
microsecond.) A load takes 400 ns.

| | kernel | rows × columns | blocks | predicted |
|---|---|---|---|---|
| A | `vectors` | 1,048,576 × 64 | 262,144 | 169 µs |
| B | `vectors` | 64 × 262,144 | 16 | 843 µs |
| C | `unrolled` | 32,768 × 4,096 | 8,192 | 124 µs |
| D | `unrolled` | 64 × 64 | 16 | 4.3 µs |

What bounds each call: `"start of blocks"`, `"latency"`, `"device memory"` or `"the launch
itself"`? Which change would help most: `"more rows per block"`, `"more bytes in flight"`,
`"fewer bytes"` (a narrower type) or `"fewer launches"`? Use each answer once.
""",
    hints=(
        "How long would the bytes of each call take at 5.1 MB per microsecond? One of the four calls is "
        "close to that time.",
        "For the other calls, how long do the blocks take to start? Which call has too little "
        "work to take long?",
        "The remaining call has few warps and many loop iterations. Section 4 computes how long "
        "an iteration takes.",
    ),
    analysis="""
**A** needs 53 µs to move 268 MB, but 154 µs to start 262,144 blocks. Give each block more rows,
as `eight_lanes` does. **B** has only 64 warps on the whole GPU, and each of them waits 2,048
times, 400 ns each time. Put more bytes in flight, with `unrolled` or with more warps per row. **C**
needs 106 µs to move 537 MB, so only fewer bytes help. **D** does almost no work and takes as
long as a launch. Move its work into another launch. The two kernels have a different bound for
each shape, so a bound belongs to a call, not to a kernel.
""",
    entry="diagnosis",
    groups=(
        choices(
            BOUNDS, _WORDS, _SLIPS, name="What bounds it", look_at="Divide the work by the rate."
        ),
        choices(
            _HELPS,
            tuple(_SHORTENS),
            _NO_HELP,
            name="What helps",
            look_at="A change helps if it shortens the longest bound.",
        ),
    ),
    praise="A bound belongs to a call, not to a kernel.",
)
