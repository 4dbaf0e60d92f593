"""Exercise week2/which_survive: the numbers that may be subtracted from a row."""

import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

INF = torch.inf
WAYS = {
    "the mean": torch.mean,
    "the first element": lambda x: x.flatten()[0],
    "the smallest": torch.amin,
    "the largest, or 0 if that is larger": lambda x: x.amax().clamp(min=0),
    "the largest minus 50": lambda x: x.amax() - 50,
    "the largest of the whole matrix": torch.amax,
}
# question -> the subtracted number, and the row (or the matrix, whose first row counts)
QUESTIONS = {
    "the mean: [1000, 1001]": ("the mean", [1000, 1001]),
    "the mean: [0, 0, 0, 0, 500]": ("the mean", [0, 0, 0, 0, 500]),
    "the mean: [-inf, 0]": ("the mean", [-INF, 0]),
    "the first element: [500, 0, 0]": ("the first element", [500, 0, 0]),
    "the first element: [-inf, 0, 0]": ("the first element", [-INF, 0, 0]),
    "the smallest: [-1000, -1001]": ("the smallest", [-1000, -1001]),
    "the largest, or 0 if that is larger: [-1000, -1001]": (
        "the largest, or 0 if that is larger",
        [-1000, -1001],
    ),
    "the largest, or 0 if that is larger: [-inf, 0]": (
        "the largest, or 0 if that is larger",
        [-INF, 0],
    ),
    "the largest minus 50: [1000, 1001]": ("the largest minus 50", [1000, 1001]),
    "the largest of the whole matrix: row [0, 1], below it [1000, 1001]": (
        "the largest of the whole matrix",
        [[0, 1], [1000, 1001]],
    ),
}


def _word(way: str, row: list) -> str:
    """Return "right" or "NaN" for the row in float32."""
    x = torch.tensor(row, dtype=torch.float32)
    first = x.reshape(-1, x.shape[-1])[0]
    e = (first - WAYS[way](x)).exp()
    got, want = e / e.sum(), first.double().softmax(0)
    return "right" if torch.allclose(got.double(), want, rtol=1e-4, atol=1e-6) else "NaN"


RIGHT = {question: _word(*asked) for question, asked in QUESTIONS.items()}
WHY = {
    "the mean: [1000, 1001]": "the mean is 1000.5, and both exponents are small.",
    "the mean: [0, 0, 0, 0, 500]": "the mean is 100, and the largest element is 400 above it.",
    "the mean: [-inf, 0]": "the mean of a row that contains -inf is -inf.",
    "the first element: [500, 0, 0]": "the first element happens to be the largest.",
    "the first element: [-inf, 0, 0]": "-inf - (-inf) is NaN, and 0 - (-inf) is inf.",
    "the smallest: [-1000, -1001]": "0 and 1 remain.",
    "the largest, or 0 if that is larger: [-1000, -1001]": "the kernel subtracts 0, like a "
    "maximum that begins at 0, and exp(-1000) is 0.",
    "the largest, or 0 if that is larger: [-inf, 0]": "the largest is 0, and exp(-inf) is 0.",
    "the largest minus 50: [1000, 1001]": "no exponent exceeds 50, and e⁵⁰ is far below the largest float32.",
    "the largest of the whole matrix: row [0, 1], below it [1000, 1001]": "the kernel subtracts "
    "1,001 from 0 and from 1.",
}

EXERCISE = Exercise(
    title="predict which subtractions are safe",
    task="""
A kernel subtracts a number from every element of a row, then computes `exp(x) / sum(exp(x))`, all in
float32. Each line names the number and the row. Answer `"right"` if every weight is correct up to
rounding, and `"NaN"` if any weight is NaN. In the last line, the kernel subtracts the same number from all
rows of a matrix; answer for the first row.
""",
    hints=(
        "Write down the row after the subtraction. Is any element above 88?",
        "If no element is above 88, check whether all of them are below -104. In that case all exponentials are 0.",
        "If a row contains -inf, its mean and its smallest element are -inf. Subtracting -inf leaves only inf or NaN.",
    ),
    analysis="""
The subtracted number may even be off by 50, as long as no exponential overflows and not all of them vanish.
But only the largest element of the *same* row is always safe (unless every element of the row is −∞).
Starting the maximum at 0 is a common mistake, and every row with a positive element hides it.
""",
    entry="survives",
    groups=(
        choices(
            RIGHT,
            ("right", "NaN"),
            {(q, "NaN" if word == "right" else "right"): WHY[q] for q, word in RIGHT.items()},
            name="Subtracted",
            look_at="Try it: subtract the number from torch.tensor([...]), then call .exp() and .sum().",
        ),
    ),
    praise="Only the row's own maximum is always safe.",
)
