"""Exercise week0/read_the_report: five kernels known by their numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, choices, one_of

__all__ = ["EXERCISE", "NUMBERS", "SICK"]

# What ncu said on the H200, rounded; tests/lessons/test_recorded.py compares with the recording.
NUMBERS = {
    # us, sectors a load and a store, wavefronts a shared load (0: none), lanes, occupancy in %
    "A": (197, 4, 4, 16, 32, 100),
    "B": (529, 4, 4, 1, 32, 12),
    "C": (394, 32, 4, 0, 32, 100),
    "D": (475, 1, 1, 1, 10, 100),
    "E": (141, 4, 4, 1, 32, 100),
}
_WORDS = ("sectors", "conflicts", "lanes", "occupancy", "nothing")
SICK = {"A": "conflicts", "B": "occupancy", "C": "sectors", "D": "lanes", "E": "nothing"}


def _why_not(letter: str, said: str) -> str:
    """What speaks against calling kernel `letter` sick in `said`, with its numbers."""
    us, load, store, waves, lanes, occupancy = NUMBERS[letter]
    if said == "sectors" and letter == "D":
        return (
            "one sector a request is not too much: eight lanes ask for 32 bytes and get 32. Why "
            "are they only eight? D needs four times as many requests as E."
        )
    if said == "sectors":
        return (
            f"{letter} moves {load} sectors a load and {store} a store; 32 lanes of 4 bytes are "
            "four sectors, so nothing is moved in vain."
        )
    if said == "conflicts" and not waves:
        return f"{letter} does not use shared memory at all: its row says 0 wavefronts."
    if said == "conflicts":
        return (
            f"a shared load of {letter} takes {waves} wavefront, give or take what else the banks "
            "are busy with."
        )
    if said == "lanes":
        return f"in an instruction of {letter} {lanes} lanes of 32 take part, which are all."
    if said == "occupancy":
        return (
            f"a multiprocessor may hold {occupancy} % of its warps with {letter}. That not all of "
            "them are there at every moment is normal."
        )
    return (
        f"{letter} takes {us} µs for what another kernel here does in {NUMBERS['E'][0]}: go down "
        "its column and look for the number that differs from the others'."
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
    "C": "32 sectors where 4 would do look worst, but C takes 394 µs and B 529. A counter says "
    "what is wrong; the time says what it is worth.",
    "A": "A has a bad number, but even without it A could get from 197 to 141 µs at best. Which "
    "kernel has most to win?",
    "D": "D has 475 µs to win from; one of them has more.",
    "E": "E is the fastest of the five, and all do the same work.",
}


def _about_gain(got: Any) -> None:
    """Raises GateError if this is not how many times faster B gets."""
    where = f"'gain of B': {got!r:.100}"
    if not isinstance(got, Real) or isinstance(got, bool):
        raise GateError(f"{where} is no number: write it without quotes, such as 1.25.")
    number = float(got)
    if abs(number - _GAIN) < 0.01:
        return
    likely = ""
    if abs(number - 1 / _GAIN) < 0.01:
        likely = "upside down: times faster is the old time / the new one, so it is above 1."
    elif abs(number - (_GAIN - 1)) < 0.01:
        likely = (
            "that is the *increase*: a kernel of the same speed is 1 times as fast, not 0 times. "
            "Divide the old time by the new one."
        )
    elif min(abs(number - 100 * _GAIN), abs(number - 100 * (_GAIN - 1))) < 1:
        likely = "that is in percent; asked is how many *times*."
    elif abs(number - 8) < 0.01:
        likely = (
            "eight times the warps do not make it eight times as fast: E has all of them and takes "
            "141 µs, bound by memory."
        )
    elif number in (round(_GAIN, 1), 3.7, round(_GAIN)):
        raise GateError(f"{where} is near, but asked are two decimals.")
    raise GateError(f"{where} is not right.", likely, "The row of times.")


def _worth(submission: Submission) -> str:
    given = submission.value
    if not isinstance(given, Mapping):
        raise GateError(f"Expected the skeleton's dict, got {given!r:.200}.")
    asked = ("begin with", "gain of B")
    missing = [repr(q) for q in asked if given.get(q) is None or given[q] is ...]
    if missing:
        raise GateError(f"No answer yet: {', '.join(missing)}.", unanswered=True)
    first = one_of("begin with", given["begin with"], tuple(NUMBERS))
    if first != "B":
        happened = f"'begin with': {first!r} is not right."
        raise GateError(happened, _NOT_FIRST[first], "The row of times.")
    _about_gain(given["gain of B"])
    return "2 answers"


EXERCISE = Exercise(
    title="read five reports",
    task="""
The table above is all you know of five transposes. Say of each what is wrong with it:
`"sectors"` (it moves too many), `"conflicts"` (of banks), `"lanes"` (too few take part),
`"occupancy"` (too few warps fit into a multiprocessor; that is the *theoretical* one) or
`"nothing"`. Then: which one do you fix first, and how many times faster will B be if it gets as
fast as the fastest of the five (two decimals)?
""",
    hints=(
        "Go through the table by rows, not by columns: in each row look for the one that differs.",
        "What is the least? 4 sectors for 32 lanes of 4 bytes, 1 wavefront, 32 lanes; of "
        "theoretical occupancy 100 %. Ignore what lies within a tenth of it. L2 that is high "
        "together with DRAM is no fault.",
        "Four questions, four rows: sectors, wavefronts, lanes, theoretical occupancy. Who is "
        "farthest from the least in each? What is left has no problem. For the order do not compare "
        "counters: all five do the same work, so compare times.",
    ),
    analysis="""
**A**: rows of the tile are 48 words apart: two banks for 32 lanes, 16 wavefronts. It takes 1.4
times E's time, not 16 times: memory is the next bound, close behind. **B** reserves 200 KB of
shared memory, so one block of 256 threads fits into a multiprocessor, 8 warps of 64; no counter of
memory is bad, and it is the slowest. **C** loads down the columns; the L1 cache catches 78 % of it,
and it is slow all the same. **D** lets eight lanes of each warp do the work (the few instructions
outside the `if` make it 10 on average): four times the instructions, and 1 sector a request
*because* the requests are small. **E** has eight elements a thread, and moves 76 % of what memory
can (its L2 is at 84 % with the same bytes on their way): leave it alone, or find a way to move
fewer bytes.

Four kernels are sick in four places, and only three of those are seen on the virtual GPU: to
`fk.profile`, the sectors and wavefronts of B are as good as E's.
""",
    entry="diagnosis",
    groups=(
        choices(
            SICK,
            _WORDS,
            _SLIPS,
            name="What is wrong",
            look_at="Go along its rows: where does it differ from E?",
        ),
        Group("What it is worth", _worth),
    ),
    praise="The counters say what is wrong with a kernel; the time says which one to fix first.",
)
