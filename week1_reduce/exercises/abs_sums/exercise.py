"""Puzzle week1/abs_sums: vectors, and what is left over, of a tensor of any length."""

import torch

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import puzzle

PIECE = 1024


def _sums(x: torch.Tensor) -> torch.Tensor:
    """Of each piece of 1,024 elements, the last of which may be shorter."""
    return torch.stack([piece.abs().sum() for piece in x.split(PIECE)])


def _whole_vectors(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    vec = 16 // x.element_size()
    kept = x.double().clone()
    kept[len(x) // vec * vec :] = 0
    return _sums(kept)


EXERCISE = puzzle(
    title="add up absolute values, of any length",
    task="""
`x` is a vector of any length, cut into pieces of 1,024 elements, of which the last may be
shorter. `y[p]` is the sum of the absolute values in piece `p`, added up in float32; float32 and
float16. The elements left over after the last whole vector are added one by one. Called as `abs_sums(x, y)`.
""",
    hints=(
        "Whole vectors first: a piece has `1024 // vec` of them, and there are `n // vec` in all. "
        "Lane 0 takes the vectors 0, 32, 64, … of its piece.",
        "What is left over are `n % vec` elements; the first is number `n // vec * vec`. To which "
        "piece does an element belong?",
        "Every warp would add the tail: the condition in the line before it has to say that the "
        "element exists *and* that it is in this warp's piece. `cute.math.absf` gives an absolute "
        "value, and so does the larger of `value` and `-value`.",
    ),
    analysis="""
One scalar load stands beside the vectors, and only in one warp does it do anything. Its identity
is 0, as for any sum of numbers that are mapped before they are added: what counts is the identity
of the operator that combines, not that of the mapping.
""",
    asked={"work": "one warp per 1,024 elements", "load_bytes": 16},
    entry="abs_sums",
    inputs=lambda draw, n: (draw(n),),
    result=_sums,
    sizes=[(16,), (1,), (1000,), (1025,), (31,), (5000,), (1023,), (2055,)],
    count=[(100,), (40_003,)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: torch.stack([p.double().sum() for p in x.split(PIECE)]),
                   "the elements are added as they are, with their signs."),
        looks_like(_whole_vectors, "nobody adds the elements behind the last whole vector."),
        found("out-of-bounds", "a load reaches past the end: whole vectors are numbered 0 to "
              "n // vec - 1, and what is left over begins at n // vec * vec."),
    ],
    praise="Any length, and nothing left over.",
)  # fmt: skip
