"""Exercise week1/reduction_key: the properties of a matrix that a compiled reduction depends on."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Pair, Submission, key_of, keys

__all__ = ["EXERCISE"]


def choose(m: int, n: int, dtype: torch.dtype) -> tuple[int, int]:
    """Return (threads, parts) by a rule that tests keys, which is not the rule of the previous
    exercise."""
    return (8, 1) if n * dtype.itemsize <= 2048 else (256, 4 if m <= 4 else 1)


# Some have one number in common, or their sum, difference, quotient or digits; or t · 100 + p,
# t · 256 + p or t · 1000 + p, where t and p are the numbers.
_PAIRS = (
    (4, 64), (64, 4), (64, 2), (6, 44), (66, 6), (32, 2), (63, 104), (63, 1004), (65, 4), (64, 260),
    (64, 20),
)  # fmt: skip


def _other(m: int, n: int, dtype: torch.dtype) -> tuple[int, int]:
    """Return two numbers that depend on both M and N."""
    return _PAIRS[0] if m <= n else _PAIRS[1 + (m + n // 4) % (len(_PAIRS) - 1)]


def _matrix(
    m: int, n: int, dtype: torch.dtype = torch.float32, start: int = 0, pitch: int = 0
) -> torch.Tensor:
    """Return a row-major matrix that begins `start` elements after a multiple of 16 bytes."""
    pitch = pitch or n
    flat = torch.empty(start + m * pitch, dtype=dtype)
    return flat[start:].view(m, pitch)[:, :n]


def _own_storage(m: int, n: int) -> torch.Tensor:
    """Return a float32 matrix at the beginning of a storage that is 8 bytes after a multiple of
    16."""
    return torch.from_numpy(_matrix(1, m * n, start=2).numpy()).view(m, n)


def _different() -> Iterator[Pair]:
    x, half = _matrix(9, 64), _matrix(9, 64, torch.float16)
    yield Pair(x, half, "a float32 and a float16 matrix", "only the element type differs.")
    yield Pair(
        half,
        half.to(torch.bfloat16),
        "a float16 and a bfloat16 matrix",
        "the size of an element does not determine its type: both types have two bytes.",
    )
    yield Pair(
        x,
        _matrix(9, 66),
        "rows of 64 and rows of 66 float32 elements",
        "66 elements are not whole vectors: the second row begins 8 bytes after a multiple of 16.",
    )
    yield Pair(
        half,
        _matrix(9, 68, torch.float16),
        "rows of 64 and rows of 68 float16 elements",
        "16 bytes are 8 elements of float16, and 68 is not a multiple of 8.",
    )
    yield Pair(
        _matrix(9, 64, torch.int8),
        _matrix(9, 72, torch.int8),
        "rows of 64 and rows of 72 int8 elements",
        "16 bytes are 16 elements of int8, and 72 is not a multiple of 16.",
    )
    yield Pair(
        x,
        _matrix(9, 64, pitch=65),
        "rows 64 elements apart and rows 65 elements apart",
        "N is a multiple of 4 in both, but if rows are 65 elements apart, the second one "
        "begins 4 bytes after a multiple of 16.",
    )
    yield Pair(
        half,
        _matrix(9, 64, torch.float16, pitch=68),
        "rows 64 elements apart and rows 68 elements apart, in float16",
        "16 bytes are 8 elements of float16: the second row begins 8 bytes after a multiple of 16.",
    )
    yield Pair(
        x,
        _matrix(9, 64, start=2),
        "a start at a multiple of 16 bytes and one 8 bytes later",
        "only the address of the first element differs: the second tensor begins 8 bytes after a "
        "multiple of 16.",
    )
    yield Pair(
        half,
        _matrix(9, 64, torch.float16, start=4),
        "a float16 start at a multiple of 16 bytes and one 8 bytes later",
        "a vector of float16 also has 16 bytes, and the second tensor begins in the middle of one.",
    )
    yield Pair(
        x,
        _matrix(1, 64, start=1),
        "9 rows that start at a multiple of 16 bytes and a single row that starts 4 bytes later",
        "a single row has no distance between rows, but its address still has to be a multiple of 16.",
    )
    yield Pair(
        x,
        _own_storage(9, 64),
        "a storage at a multiple of 16 bytes and one 8 bytes later",
        "the offset in the storage is 0 in both, but the address of the first element decides.",
    )
    yield Pair(
        _matrix(2, 64),
        _matrix(2, 64, pitch=65),
        "two rows 64 elements apart and two rows 65 elements apart",
        "two rows are enough: the second one begins 4 bytes after a multiple of 16.",
    )
    yield Pair(
        x,
        _matrix(8, 66, pitch=68),
        "rows of 64 float32 elements and rows of 66 that are 68 elements apart",
        "every row begins at a multiple of 16 bytes, but 66 float32 elements are not whole vectors.",
    )
    yield Pair(
        x,
        _matrix(9, 2048),
        "9 × 64 and 9 × 2048, for which `choose` returns different tuples",
        "the number of threads per row differs, and it is a constant in the code.",
    )
    yield Pair(
        _matrix(3, 2048), _matrix(9, 2048), "3 × 2048 and 9 × 2048, of which only the first has parts",
        "the number of parts differs, and it decides where the kernel stores its sums.",
    )  # fmt: skip


def _alike() -> Iterator[Pair]:
    x, odd = _matrix(9, 64), _matrix(9, 66)
    yield Pair(
        x,
        x + 1,
        "two tensors that differ only in their values",
        "values and addresses change with each call; the code does not.",
    )
    yield Pair(x, _matrix(31, 64), "9 × 64 and 31 × 64", "M is passed at each call.")
    yield Pair(
        x,
        _matrix(1, 64),
        "9 × 64 and 1 × 64",
        "M is passed at each call, and the single row also consists of whole vectors.",
    )
    yield Pair(
        x,
        _matrix(9, 128),
        "9 × 64 and 9 × 128, for which `choose` returns the same tuple",
        "N is passed at each call; it decides only the width of a load and the result of `choose`.",
    )
    yield Pair(
        _matrix(9, 64, torch.float64),
        _matrix(9, 66, torch.float64),
        "rows of 64 and rows of 66 float64 elements",
        "16 bytes are 2 elements of float64, and 66 is a multiple of 2.",
    )
    yield Pair(
        odd,
        _matrix(1, 67),
        "9 rows of 66 and a single row of 67 float32 elements",
        "neither has whole vectors, and both are read element by element.",
    )
    yield Pair(
        x,
        _matrix(9, 64, pitch=72),
        "rows 64 and rows 72 elements apart",
        "both distances are multiples of 16 bytes, and are passed at each call.",
    )
    yield Pair(
        odd,
        _matrix(9, 66, start=1),
        "rows of 66 elements that start at a multiple of 16 bytes and 4 bytes later",
        "both are read element by element, wherever they begin.",
    )
    yield Pair(
        _matrix(1, 64),
        _matrix(1, 64, pitch=65),
        "one row of 64 elements with a pitch of 64 and of 65",
        "a matrix of one row has no second row, so its pitch is never used.",
    )
    yield Pair(x, _matrix(9, 64, start=4), "a tensor at a multiple of 64 bytes and one 16 bytes later",
               "16 bytes is a thread's widest access, so more alignment changes nothing.")  # fmt: skip


def _day(submission: Submission) -> str:
    """Check that many shapes need few kernels, with two rules, and the arguments of `choose`."""
    chance = random.Random(0)
    shapes = [(chance.randint(1, 3000), 4 * chance.randint(1, 700)) for _ in range(100)]
    found = {key_of(submission.value, _matrix(m, n), choose) for m, n in shapes}
    wanted = {choose(m, n, torch.float32) for m, n in shapes}
    if len(found) != len(wanted):
        raise GateError(
            f"100 calls, for which `choose` returns {len(wanted)} different tuples, compiled {len(found)} kernels."
        )
    seen: dict[object, tuple[int, int]] = {}
    for m, n in shapes:
        key, result = key_of(submission.value, _matrix(m, n), _other), _other(m, n, torch.float32)
        for other, of in seen.items():
            if (other == key) != (of == result):
                keys = "the same key" if other == key else "different keys"
                got = f"returns {of}" if of == result else f"returns first {of} and then {result}"
                raise GateError(
                    f"Another `choose` {got} for two matrices of whole vectors, which have {keys}.\n"
                    f"{key!r:.160}",
                    "the key has to contain the tuple that `choose` returns, as it is.",
                )
        seen[key] = result
    needed, calls = (9, 66, torch.float16), []

    def recorded(m: int, n: int, dtype: torch.dtype) -> tuple[int, int]:
        calls.append((m, n, dtype))
        return choose(m, n, dtype)

    key_of(submission.value, _matrix(*needed, pitch=72), recorded)
    for received in calls:
        if received != needed:
            raise GateError(
                f"For 9 × 66 float16 elements in rows 72 apart, `choose` received {received}; needed {needed}."
            )
    return f"100 calls, {len(found)} kernels"


EXERCISE = Exercise(
    title="write the key of a reduction",
    task="""
Write `reduction_key(x, choose)`, which returns the key of the kernel that adds up the rows of
the matrix `x`. Each row is contiguous. Three facts are compiled into the kernel: the element
type; the width of a load, which is 16 bytes if *every* row starts at a multiple of 16 bytes and
consists of whole vectors, and otherwise one element; and the two constants that `choose(m,
n, dtype)` returns as a tuple. Everything else is passed at each call. Two matrices must share a key if and
only if their three facts agree.
""",
    hints=(
        "Return three facts in a tuple. Which of them is a single True or False?",
        "All rows start at multiples of 16 bytes if the first row does and the distance between "
        "rows is a multiple of 16 bytes. That distance need not be N, and a single row has none.",
        "`x.data_ptr()` is in bytes; `x.stride(0)` and `x.shape[1]` are in elements. Before the "
        "line that tests for whole vectors, divide 16 by the size of an element.",
    ),
    analysis="""
The key contains neither M nor N, yet it depends on both through the rule. This is a compromise
between the two keys of `06_compile_once`: neither one kernel per N nor one kernel for all N,
but one per *decision*. A library with five decisions of a few values each has a few dozen
kernels, and compiles only those that its callers need.
""",
    entry="reduction_key",
    groups=(
        keys("reduction_key(x, choose)", _different, same=False, more=(choose,),
             name="Different code, different keys"),
        keys("reduction_key(x, choose)", _alike, same=True, more=(choose,),
             name="The same code, one key"),
        Group("A hundred calls", _day),
    ),
    praise="One kernel per decision.",
)  # fmt: skip
