"""Exercise week0/read_the_report: five kernels known only by their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, choices, one_of

__all__ = ["EXERCISE", "NUMBERS", "SICK"]

# ncu's numbers on the H200, rounded; tests/lessons/test_recorded.py compares them with the
# recording.
NUMBERS = {
    # us, sectors per load and per store, wavefronts per shared load (0: none), lanes, occupancy in
    # %
    "A": (197, 4, 4, 16, 32, 100),
    "B": (529, 4, 4, 1, 32, 12),
    "C": (394, 32, 4, 0, 32, 100),
    "D": (475, 1, 1, 1, 10, 100),
    "E": (141, 4, 4, 1, 32, 100),
}
_WORDS = ("sectors", "conflicts", "lanes", "occupancy", "nothing")
SICK = {"A": "conflicts", "B": "occupancy", "C": "sectors", "D": "lanes", "E": "nothing"}


def _why_not(letter: str, said: str) -> str:
    """Return the reason why `said` is not the problem of kernel `letter`, with its numbers."""
    us, load, store, waves, lanes, occupancy = NUMBERS[letter]
    if said == "sectors" and letter == "D":
        return (
            "one sector per request is not too many, because eight lanes request 32 bytes and receive "
            "32. But why only eight lanes? D needs four times as many requests as E."
        )
    if said == "sectors":
        return (
            f"{letter} moves {load} sectors per load and {store} per store. 32 lanes of 4 bytes "
            "need four sectors, so no byte is wasted."
        )
    if said == "conflicts" and not waves:
        return f"{letter} does not use shared memory at all; the table shows 0 wavefronts for it."
    if said == "conflicts":
        return (
            f"a shared load in {letter} takes {waves} wavefront, not counting incidental traffic in "
            "the banks."
        )
    if said == "lanes":
        return f"an instruction in {letter} runs in all of the {lanes} lanes."
    if said == "occupancy":
        return (
            f"the theoretical occupancy of {letter} is {occupancy} %. Its achieved occupancy is "
            "lower, which is normal."
        )
    return (
        f"{letter} takes {us} µs, but another kernel here takes {NUMBERS['E'][0]} µs. Go down its "
        "column and look for a number that differs from those of the other kernels."
    )


_SLIPS = {
    (letter, said): _why_not(letter, said)
    for letter, sick in SICK.items()
    for said in _WORDS
    if said != sick
}
_US = {letter: numbers[0] for letter, numbers in NUMBERS.items()}
_GAIN = _US["B"] / _US["E"]
_NOT_FIRST = {
    "C": "32 sectors where 4 would be enough look worst, but C takes 394 µs and B takes 529 µs. A counter names the problem; the time shows its cost.",
    "A": "A has a bad number, but fixing it could reduce its time from 197 to 141 µs at best. Which kernel can gain the most?",
    "D": "D takes 475 µs, but another kernel takes longer.",
    "E": "E is the fastest of the five, and all do the same work.",
}


def _about_gain(got: Any) -> None:
    """Raise GateError unless this is B's possible speedup."""
    where = f"'gain of B': {got!r:.100}"
    if getattr(got, "ndim", None) == 0:  # of torch or NumPy
        got = got.item()
    if not isinstance(got, Real) or isinstance(got, bool):
        raise GateError(f"{where} is not a number. Write it without quotes, such as 1.25.")
    number = float(got)
    if abs(number - _GAIN) <= 0.005:
        return
    likely = ""
    if abs(number - 1 / _GAIN) < 0.01:
        likely = (
            "this is the inverse. Divide the old time by the new one, so that the result is above "
            "1."
        )
    elif abs(number - (_GAIN - 1)) < 0.01:
        likely = (
            "that is the *increase*. A kernel with the same speed is 1 times as fast, not 0 "
            "times. Divide the old time by the new one."
        )
    elif min(abs(number - 100 * _GAIN), abs(number - 100 * (_GAIN - 1))) < 1:
        likely = "that is a percentage. Write how many *times* as fast the kernel becomes."
    elif abs(number - 8) < 0.01:
        likely = (
            "eight times as many warps do not make a kernel eight times as fast. E has all of "
            "these warps and takes 141 µs, because memory is its limit."
        )
    elif number in (round(_GAIN, 1), 3.7, round(_GAIN)):
        raise GateError(f"{where} is close, but give two decimals.")
    raise GateError(f"{where} is not right.", likely, "Look at the row of times.")


def _worth(submission: Submission) -> str:
    given = submission.value
    if not isinstance(given, Mapping):
        raise GateError(f"Expected the dict of the skeleton, got {given!r:.200}.")
    asked = ("begin with", "gain of B")
    missing = [repr(q) for q in asked if given.get(q) is None or given[q] is ...]
    if missing:
        raise GateError(f"No answer yet: {', '.join(missing)}.", unanswered=True)
    first = one_of("begin with", given["begin with"], tuple(NUMBERS))
    if first != "B":
        happened = f"'begin with': {first!r} is not right."
        raise GateError(happened, _NOT_FIRST[first], "Look at the row of times.")
    _about_gain(given["gain of B"])
    return "2 answers"


EXERCISE = Exercise(
    title="read five reports",
    task="""
The table above is all you know about five transposes. Name the problem of each: `"sectors"` (it
moves too many), `"conflicts"` (in the banks), `"lanes"` (too few are active), `"occupancy"` (its
*theoretical* occupancy is too low, because too few warps fit into a multiprocessor) or `"nothing"`.
Then answer two questions. Which kernel would you fix first? If B becomes as fast as the fastest of
the five, how many times as fast as before will it be (two decimals)?
""",
    hints=(
        "Read the table row by row, not column by column. In each row, look for the number that "
        "differs from the others.",
        "The best values are 4 sectors for 32 lanes of 4 bytes, 1 wavefront, 32 lanes, and 100 % "
        "theoretical occupancy. Ignore differences of less than a tenth. If both L2 and DRAM are "
        "high, nothing is wrong.",
        "Four kinds of rows answer the question: sectors, wavefronts, lanes and theoretical "
        "occupancy. In each of them, which kernel is farthest from the best value? The fifth "
        "kernel has no problem. To decide which kernel to fix first, compare times rather than "
        "counters, because all five do the same work.",
    ),
    analysis="""
In **A**, the rows of the tile are 48 words apart, so 32 lanes share two banks and a load takes 16
wavefronts. A takes 1.4 times as long as E, not 16 times, because the conflicts are not its only
cost. **B** reserves 200 KB of shared memory, so only one block of 256 threads, 8 of a possible 64
warps, fits into a multiprocessor. Its memory counters are good, but it is the slowest of the five.
**C** loads down the columns. It is slow although the L1 cache serves 78 % of its sectors. In **D**,
only eight lanes of each warp do the work (a few instructions outside the `if` raise the average to
10). It makes four times as many requests, which have only 1 sector each *because* they are small.
**E** moves eight elements per thread and uses 76 % of DRAM's peak; the same bytes keep L2 at 84 %.
It needs no fix, unless you find a way to move fewer bytes.

The virtual GPU reveals only three of these four problems. In `fk.profile`, the sectors and
wavefronts of B are as good as those of E.
""",
    entry="diagnosis",
    groups=(
        choices(
            SICK,
            _WORDS,
            _SLIPS,
            name="Problems",
            look_at="Where do its numbers differ from those of the other kernels?",
        ),
        Group("Order and gain", _worth),
    ),
    praise="The counters name the problem of a kernel; the times decide which one to fix first.",
)
