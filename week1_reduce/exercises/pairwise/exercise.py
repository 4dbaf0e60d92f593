"""Exercise week1/pairwise: a tree sum, as a Python function."""

from __future__ import annotations

import math
import signal
import threading
from numbers import Real

import numpy as np

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function
from forgekit.text import plural

LENGTHS = (1, 2, 3, 5, 8, 31, 33, 64, 1000, 1024, 1025, 200_001)


class Counted:
    """Count the additions in which a number takes part, except those of 0."""

    def __init__(self, parts: tuple[int, ...], depth: int = 0) -> None:
        self.parts, self.depth = parts, depth

    def __add__(self, other: object) -> Counted:
        if not isinstance(other, Counted):
            if isinstance(other, int | float) and other == 0:
                return self
            raise TypeError("add only the given numbers")
        return Counted(self.parts + other.parts, 1 + max(self.depth, other.depth))

    def __radd__(self, other: object) -> Counted:
        return self + other


def _sums(submission: Submission) -> str:
    function = python_function(submission, "pairwise(values)")
    for n in (*LENGTHS, 1_000_000):
        values = [float(k) for k in range(1, n + 1)]
        got, want = _called(function, list(values), n), n * (n + 1) / 2
        if got is None:
            raise GateError(f"pairwise returns None for {plural(n, 'number')}; return their sum.")
        if isinstance(got, list | tuple):
            kind = type(got).__name__
            raise GateError(
                f"pairwise returns a {kind} for {plural(n, 'number')}; return a number."
            )
        try:
            number = float(got)
        except (TypeError, ValueError):
            raise GateError(
                f"pairwise returns {got!r:.100} for {plural(n, 'number')}; return a number."
            ) from None
        if not math.isclose(number, want):
            lost = _lost(function, values, number) if n % 2 else ""
            raise GateError(
                f"The sum of 1 … {n} is {want:.15g}; pairwise returns {number:.15g}.", lost
            )
    return f"{len(LENGTHS) + 1} lengths"


def _lost(function, values: list[float], got: float) -> str:
    if math.isclose(got, sum(values[:-1])) and function([1.0, 2.0, 3.0, 4.0]) == 10:
        return (
            "if the number of values is odd, the last value has no neighbour, and the sum loses it."
        )
    return ""


def _levels(n: int) -> int:
    return (n - 1).bit_length()


def _endless(*_):
    raise GateError(
        "pairwise has not returned after 5 s.",
        "either a loop never ends, or the function does much more than n − 1 additions.",
        "Print the length of the list in each round.",
    )


def _called(function, values, n):
    # a signal interrupts only the main thread, and Windows has no SIGALRM
    limited = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGALRM")
    if limited:
        before = signal.signal(signal.SIGALRM, _endless)
        signal.alarm(5)
    try:
        return function(values)
    except GateError:
        raise
    except RecursionError:
        raise GateError(
            f"With {plural(n, 'number')}, pairwise exceeds Python's limit on nested calls; a tree "
            f"needs {_levels(n)}."
        ) from None
    except Exception as error:
        raise GateError(
            f"With {plural(n, 'number')}, pairwise raises {type(error).__name__}: {error}"
        ) from None
    finally:
        if limited:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)


def _depth(submission: Submission) -> str:
    function = python_function(submission, "pairwise(values)")
    for n in LENGTHS:
        got = _called(function, [Counted((k,)) for k in range(n)], n)
        most = _levels(n)
        if not isinstance(got, Counted) or sorted(got.parts) != list(range(n)):
            raise GateError(
                f"With {plural(n, 'number')}, the result does not contain each of them exactly once.",
                look_at="Use only `+`, on the values and on their sums.",
            )
        if got.depth > most:
            chain = _called(function, [Counted((k,)) for k in range(33)], 33).depth == 32
            says = "it adds 33 numbers one after another." if chain else ""
            raise GateError(
                f"One of {n} numbers passes through {got.depth} additions; a tree needs {most}.",
                says,
            )
    return f"at most {_levels(LENGTHS[-1])} additions for {LENGTHS[-1]:,} numbers"


def _in_floats(submission: Submission) -> str:
    """Check by rounding that real numbers are added in a tree, as the counted ones are.

    One of 2^k numbers is so large that adding 1 rounds back to it; the others are 1. In every tree
    of depth k it loses exactly one of them, its first partner.
    """
    function = python_function(submission, "pairwise(values)")
    for kind, large in ((float, 2.0**53), (np.float32, 2.0**24)):
        for n, at in ((8, 0), (64, 37), (1024, 1023)):
            values = [kind(1)] * n
            values[at] = kind(large)
            got, want = _called(function, values, n), large + n - 2
            # with NumPy, float32 == float would round both to float32
            if not isinstance(got, Real) or float(got) != want:
                raise GateError(
                    f"{n} numbers of type {kind.__name__}, of which number {at} is {large:.0f} and "
                    f"the others are 1: a tree returns {want:.0f}, pairwise {got}.",
                    "numbers of this type are not added in a tree, or are converted to another type first.",
                )
    return "float and float32"


def _error(submission: Submission) -> str:
    values = list(np.random.default_rng(0).random(10_000).astype(np.float32))
    exact = math.fsum(values)
    off = abs(float(submission.value(values)) - exact) / exact * 2**24
    if off > 16:
        raise GateError(f"The sum of 10,000 float32 numbers is off by {off:.0f} u.")
    return f"off by {off:.1f} u"


EXERCISE = Exercise(
    title="add in a tree",
    task="""
Return the sum of a list of n ≥ 1 numbers. Add pairs, then add pairs of their sums, and so on. No
number may go through more than log₂ n additions, rounded up; adding 0 does not count. Use only `+`.
A million numbers may take at most 5 s.

Signature: `pairwise(values)`.
""",
    hints=(
        "Each round produces a list of half the length. After which round are you done?",
        "`values[0::2]` and `values[1::2]` are the left and the right neighbours.",
        "If the number of values is odd, the last value has no neighbour: carry it over unchanged, in "
        "the line that builds the new list.",
    ),
    analysis="""
A recursive solution needs only two lines. A block of threads can add in the same rounds, each
of which needs half as many threads as the one before.
""",
    entry="pairwise",
    groups=(
        Group("Sums", _sums),
        Group("Additions per number", _depth),
        Group("The same tree for every type", _in_floats),
        Group("Error", _error),
    ),
)
