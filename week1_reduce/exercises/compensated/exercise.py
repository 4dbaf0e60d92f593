"""Puzzle week1/compensated: Kahan's sum, one thread per row."""

import re

import torch

from forgekit.lessons.gates import Counter, Group, counted, counters, looks_like
from forgekit.lessons.puzzle import puzzle


def _plain(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(len(x))
    for n in range(x.shape[1]):
        total = total + x[:, n]
    return total


def _inputs(draw, m, n):
    x = draw(m, n).abs() + 0.1
    x[::2, 0] = 17_000.0  # every number after it loses digits
    if n > 3:
        x[::2, -3:] = 1 + 0.98 * 2.0**-10  # loses almost half of the sum's last digit
    x[1::3] *= -1
    x[m // 2] /= 2**20
    return (x,)


def _compensated(make) -> Group:
    """Return a group that requires four operations per element, the fewest of a compensated sum."""
    m, n = 384, 200

    def measure(p) -> float:
        every = (i for line in p.all_lines for i in line.instructions)
        found = (i for i in every if re.match(r"(add|sub|fma)\S*\.f32", i.text))
        return sum(i["thread_instructions"] for i in found) / (m * n)

    says = (
        "a compensated addition takes four operations: the sum, two differences for the part that it "
        "loses, and an addition of that part."
    )
    gate = Counter(
        measure, "float32 additions and subtractions per element", at_least=3.9,
        misconceptions=[counted(lambda p: True, says)],
    )  # fmt: skip
    return counters(make, (m, n), [gate], name="Compensated")


EXERCISE = puzzle(
    title="keep what rounding loses",
    task="""
Compute a compensated sum of each row, in float32. The elements of a row have the same sign. The relative error of each result must be at
most 2⁻²³; adding one by one has a far larger error. Keep the part that each addition loses in a
second variable, and add it to the next number. (Or add up these parts, and add their sum at the end.)

Signature: `compensated(x, y)`.
""",
    hints=(
        "Carry two variables through the loop: the sum and the lost part.",
        "With `s = total + value`, the part of `value` that reached `s` is `s - total`.",
        "Before you add an element, add to it the part that the previous addition lost. The line after "
        "the addition computes the new lost part.",
    ),
    analysis="""
Four operations per element replace one, but the kernel moves no additional bytes. While it
waits for memory, the extra operations are nearly free. In exact arithmetic `b - (s - a)` is 0,
but the compiler must not simplify it; CuTe DSL performs floating-point operations in the order
in which you wrote them.
""",
    asked={"work": "one thread per row", "doubles": 0},
    entry="compensated",
    inputs=_inputs,
    result=lambda x: x.sum(1),
    sizes=[(2, 3), (1, 1), (3, 31), (5, 1025), (32, 4001), (33, 100), (257, 2), (7, 129)],
    count=[(40, 50), (1024, 200)],
    rtol=2.0**-23,
    atol=0.0,
    misconceptions=[
        looks_like(lambda x, y: _plain(x), "this agrees with the uncompensated sum, within the "
                   "tolerance. Is each lost part kept, and added?"),
    ],
    more=lambda make: (_compensated(make),),
    praise="You recovered the bits that rounding discards.",
)  # fmt: skip
