"""Exercise week2/what_hides: the rows that reveal each mistake in an online softmax."""

import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

INF = torch.inf


def _merged(m, s, m2, s2):
    both = m.maximum(m2)
    shift = both.where(both > -INF, 0.0)
    return both, s * (m - shift).exp() + s2 * (m2 - shift).exp()


def _unguarded(m, s, x):
    both = m.maximum(x)
    return both, s * (m - both).exp() + (x - both).exp()


def _not_rescaled(m, s, x):
    both = m.maximum(x)
    return both, s + (x - both.where(both > -INF, 0.0)).exp()


def _rescaled(m, s, x):
    return _merged(m, s, x, torch.ones(()))


def softmax(row, *, absorb=_rescaled, start=(-INF, 0.0), add=False):
    """Return a warp's softmax of a row: lane i absorbs x[i], x[i + 32], …, then lanes are merged.

    add: add the lanes' sums without rescaling.
    """
    m, s = (torch.full((32,), value) for value in start)
    for n in range(0, len(row), 32):
        part = row[n : n + 32]
        k = len(part)
        m[:k], s[:k] = absorb(m[:k], s[:k], part)
    for k in range(5):
        m2, s2 = (v[torch.arange(32) ^ 1 << k] for v in (m, s))
        m, s = (m.maximum(m2), s + s2) if add else _merged(m, s, m2, s2)
    return (row - m[0]).exp() / s[0]


def _rows():
    plain = torch.randn(1000, generator=torch.Generator().manual_seed(1)) * 3
    first, masked, third, every = (plain.clone() for _ in range(4))
    first[0] = plain.max() + 0.5
    masked[:32], third[667:], every[::2] = -INF, -INF, -INF
    return {
        "1,000 random elements": plain,
        "1,000 random elements, the first the largest": first,
        "1,000 descending elements": plain.sort(descending=True).values,
        "1,000 equal elements": torch.full((1000,), 5.0),
        "20 random elements": plain[:20],
        "1,000 elements around -1,000": plain - 1000,
        "1,000 elements, the first 32 masked": masked,
        "1,000 elements, the last third masked": third,
        "1,000 elements, every second masked": every,
    }


MISTAKES = {
    "the sum is not rescaled in the loop": {"absorb": _not_rescaled},
    "the lanes' sums are added without rescaling": {"add": True},
    "m starts at 0": {"start": (0.0, 0.0)},
    "s starts at 1": {"start": (-INF, 1.0)},
    "no guard in the loop": {"absorb": _unguarded},
}
# (mistake, row) -> why a wrong answer is wrong
WHY = {
    (
        "the sum is not rescaled in the loop",
        "1,000 random elements, the first the largest",
    ): "lane 0 starts with the row's maximum. But each of the other 31 lanes has its own maximum, and most meet theirs later.",
    (
        "the sum is not rescaled in the loop",
        "1,000 equal elements",
    ): "no element is larger than the first.",
    (
        "the lanes' sums are added without rescaling",
        "1,000 descending elements",
    ): "in a descending row the lanes never rescale, but they finish with 32 different maxima.",
    (
        "the lanes' sums are added without rescaling",
        "1,000 equal elements",
    ): "all lanes have the same maximum.",
    (
        "m starts at 0",
        "1,000 elements around -1,000",
    ): "the maximum stays 0, and every exponential is 0.",
    (
        "m starts at 0",
        "1,000 random elements",
    ): "each lane has an element larger than 0, and from then on m is correct.",
    ("s starts at 1", "1,000 random elements"): "the first element rescales it by exp(-inf - x).",
    (
        "s starts at 1",
        "20 random elements",
    ): "12 lanes keep (-inf, 1), and the merge rescales that by 0.",
    (
        "no guard in the loop",
        "1,000 elements, the first 32 masked",
    ): "each lane begins with -inf - (-inf).",
    (
        "no guard in the loop",
        "1,000 elements, the last third masked",
    ): "each lane has a finite maximum before it meets a masked element.",
    (
        "no guard in the loop",
        "1,000 elements, every second masked",
    ): "every other lane sees only -inf.",
}


def _word(mistake: str, row: torch.Tensor) -> str:
    got, want = softmax(row, **MISTAKES[mistake]), row.double().softmax(0)
    if got.isnan().any():
        return "NaN"
    return "right" if torch.allclose(got.double(), want, rtol=1e-3, atol=1e-6) else "wrong"


ROWS = _rows()
RIGHT = {f"{mistake}: {row}": _word(mistake, ROWS[row]) for mistake, row in WHY}
WORDS = ("right", "wrong", "NaN")

EXERCISE = Exercise(
    title="predict which rows expose a mistake",
    task="""
In an online softmax with one warp per row, lane i starts with (m, s) = (−∞, 0) and absorbs elements i, i + 32,
i + 64, …; then the lanes merge their pairs. Each line names one mistake in an otherwise correct kernel, and a
row. Answer `"right"` if the weights of that row are still correct, `"wrong"` if they are incorrect numbers, and
`"NaN"` if they are NaN.
""",
    hints=(
        "One lane sees only every 32nd element of the row.",
        "A missing factor shows only where it is not 1; an extra term shows only where it is not multiplied by 0.",
        "For each line, write down (m, s) of lanes 0 and 1 before the merge, and then the merged pair.",
    ),
    analysis="""
`s` may start at any finite number, because the first element multiplies it by $e^{-\\infty} = 0$. No single row
exposes every mistake. A test of an online softmax needs ascending rows, rows whose lanes have different maxima,
rows far below 0, rows whose first elements are masked, and rows that leave lanes without elements.
""",
    entry="shows",
    groups=(
        choices(
            RIGHT,
            WORDS,
            {(f"{mistake}: {row}", word): why for (mistake, row), why in WHY.items()
             for word in WORDS if word != RIGHT[f"{mistake}: {row}"]},
            name="Rows",
            look_at="Follow lanes 0 and 1 through the row.",
        ),
    ),
    praise="You know which rows to test with.",
)  # fmt: skip
