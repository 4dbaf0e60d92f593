"""Exercise week2/one_launch_or_bytes: the bounds of three calls, and the better of two changes."""

from __future__ import annotations

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

__all__ = ["BOUNDS", "CALLS", "EXERCISE"]

# launches, rows, predicted µs of week2/fuse_three; tests/lessons/test_bounds_asked.py compares
# with a run
CALLS = {"A": (3, 16_384, 57), "B": (3, 64, 7.8), "C": (1, 16_384, 19)}
BOUNDS = {"A": "device memory", "B": "the launch itself", "C": "device memory"}
_CHANGES = {"change of A": "one launch", "change of B": "one launch", "change of C": "bfloat16"}
_MOVED = {"A": "201 MB, which take 40 µs", "B": "0.8 MB, which take 0.2 µs",
          "C": "67 MB, which take 13 µs"}  # fmt: skip
_NO = {
    ("A", "the launch itself"): "three launches cost 6 µs, but the call takes 57.",
    ("A", "special functions"): "8.4 million exponentials take 2 µs.",
    ("B", "device memory"): f"it moves {_MOVED['B']}.",
    ("B", "special functions"): "32,768 exponentials take less than 0.01 µs.",
    ("C", "the launch itself"): "one launch costs 4 µs, but the call takes 19.",
    ("C", "special functions"): "8.4 million exponentials take 2 µs.",
}
_WORSE = {
    ("change of A", "bfloat16"): "bfloat16 halves the bytes; one launch leaves a third of them.",
    ("change of B", "bfloat16"): f"B moves {_MOVED['B']}: halving the bytes changes nothing.",
    ("change of C", "one launch"): "C is already one launch.",
}

EXERCISE = Exercise(
    title="choose between fewer launches and fewer bytes",
    task="""
`softmax(scale · x + bias)` over 512-element float32 rows runs as three launches, each of which reads one matrix
and writes one (A and B), or as one fused launch (C). The times are predictions for an H200.

| | launches | rows | moved | exponentials | predicted |
|---|---|---|---|---|---|
| A | 3 | 16,384 | 201 MB | 8,388,608 | 57 µs |
| B | 3 | 64 | 0.8 MB | 32,768 | 7.8 µs |
| C | 1 | 16,384 | 67 MB | 8,388,608 | 19 µs |

Memory moves 5.1 MB per microsecond. The first launch costs 3.7 µs and each later one 1 µs. All
SMs together compute 4 million exponentials per microsecond. Which of `"device memory"`, `"the launch itself"` and `"special functions"` limits each call? Which change would
shorten it most: `"one launch"`, or storing all matrices in `"bfloat16"`?
""",
    hints=(
        "Compute three durations for each call: bytes divided by their rate, exponentials "
        "divided by theirs, and the cost of the launches.",
        "The launches of A and B cost the same. How much other work does B have?",
        "By what factor does each change shorten the longest of the three durations? Three launches move six times the bytes of x, but one launch moves only two times.",
    ),
    analysis="""
**A** needs 201 / 5.1 = 40 µs of memory. One launch would move a third of its bytes, and `bfloat16` half of them. **B** takes as long as its launches:
5.7 µs, plus the latency of three small kernels. Fewer bytes would change nothing. **C** needs 13 µs of memory and has only one launch, so fewer bytes are the
only saving. Fusion is the better change for both A and B, for two different reasons.
""",
    entry="diagnosis",
    groups=(
        choices(
            BOUNDS,
            ("device memory", "the launch itself", "special functions"),
            _NO,
            name="What bounds it",
            look_at="Divide each amount of work by its rate.",
        ),
        choices(
            _CHANGES,
            ("one launch", "bfloat16"),
            _WORSE,
            name="What shortens it",
            look_at="By what factor does each change shorten the longest duration?",
        ),
    ),
    praise="Fusion helps twice, for two different reasons.",
)
