"""Puzzle week2/rms_norm_residual: a sum that is stored, and its RMSNorm, by vectors."""

import torch

from forgekit.checking.compare import compare
from forgekit.lessons.gates import Misconception, looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

EPS = 1e-5
READ = [("read x", 0), ("read r", 1), ("write s", 2)]
PICTURE = picture(
    "memory accesses per row",
    {
        "one kernel": [[*READ, ("write y", 3)]],
        "an addition, then a norm": [[*READ, ("read s", 4), ("write y", 3)]],
    },
)


def _inputs(draw, m, n):
    x, r, w = draw(m, n), draw(m, n) * 4, draw(n) + 1
    w[5] = 0
    x[1::3] = -r[1::3]  # sums of 0
    large = slice(2 if m > 2 or x.dtype != torch.float16 else 0, None, 3)
    x[large, 0] = r[large, 0] = 200.0  # the square of the sum exceeds float16
    return x, r, w, (EPS, 17 + 2**-7)[m % 2]  # the second one does not fit in 16 bits


def _norm(s, w, eps, *, of=None, more=0):
    """Compute the norm in float64. of: the divisor of the sum of squares; more: an additional term
    of the sum."""
    s, w = s.double(), w.double()
    mean = (s.square().sum(1, keepdim=True) + more) / (of or s.shape[1])
    return s * (mean + eps).rsqrt() * w


def _overflown(x, r, w, eps):
    none = (x + r).square().isinf().any(1, keepdim=True)
    if not none.any():  # within the tolerance, a right y would be one of these
        return torch.full_like(x, torch.nan)
    return torch.where(none, 0.0, _norm(x.double() + r.double(), w, eps))


def _alone(x, r, w, eps):
    """Return the result if each lane uses the squares of its own vectors instead of the row's."""
    s, vec = x.double() + r.double(), 16 // x.element_size()
    squares = torch.nn.functional.pad(s.square(), (0, 512 - s.shape[1]))
    own = squares.reshape(len(s), -1, 32, vec).sum((1, 3)).repeat_interleave(vec, 1)
    own = own.repeat(1, 512 // own.shape[1])[:, : s.shape[1]]
    return s * (own / s.shape[1] + eps).rsqrt() * w.double()


def _second(alternative, says, **rtol):
    """Like `looks_like`, for the second output; `alternative` receives the inputs."""

    def when(e):
        right = [compare(e.got[k], e.case.expected[k], **e.case.tolerances).ok for k in (4, 5)]
        if right != [True, False]:
            return False
        want = alternative(*e.case.args[:4])
        return compare(e.got[5], want, **(e.case.tolerances | rtol)).ok

    return Misconception(says, when)


EXERCISE = puzzle(
    title="normalise a sum and store both",
    task="""
Between two layers, a language model computes `s = x + r`, the next residual, and `y = s /
sqrt(mean of s² + eps) · w`, the next layer's input. Write both once, in the type of the inputs, float32 or float16; compute in float32. Rows have at most 512 elements; N is a multiple of 8. A lane can keep
its sums in a register tensor of shape `((vec,), 4)`: four vectors of 16 input bytes, even if the
row has fewer. Signature: `rms_norm_residual(mX, mR, mW, eps: Float32, mS, mY)`.
""",
    hints=(
        "This is `rms_norm` with a prologue: the kernel computes the sum, keeps it in registers, and also stores it.",
        "Cut the rows and `w` into vectors with `cute.zipped_divide`; `[None, i]` is vector i, "
        "which `.load()` and `.store()` move. `[None, k]` selects vector k of registers of "
        "shape `((vec,), 4)`.",
        "Convert a vector to float32 in the line that adds it, and back in the lines that store it. "
        "Square the float32 sum. Before the loop, `fill` the registers with 0 for missing "
        "vectors.",
    ),
    analysis="""
The kernel reads `x` and `r` and writes `s` and `y`. A separate addition and norm would read `s` again, moving five
rows instead of four, in two launches. For 40 rows of 400 float32, the kernel loads 6,000 sectors (`w` comes from a
cache) and stores 4,000.
""",
    asked={"work": "one warp per row", "load_bytes": 16, "store_bytes": 16},
    entry="rms_norm_residual",
    given=PICTURE,
    inputs=_inputs,
    result=lambda x, r, w, eps: (x + r, _norm(x + r, w, eps)),
    sizes=[(2, 8), (1, 8), (4, 128), (5, 512), (3, 136), (9, 264), (7, 40)],
    count=[(5, 64), (40, 400)],
    dtypes=("float32", "float16"),
    legal=lambda m, n: (m, min(512, max(8, n // 8 * 8))),
    promise={0: {1: 8}, 1: {1: 8}, 2: {0: 8}, 4: {1: 8}, 5: {1: 8}},
    waste={"store_sectors": 1},
    misconceptions=[
        looks_like(lambda x, r, *_: x, "the first output is x: the residual is not added."),
        looks_like(lambda x, r, *_: x.double() - r.double(), "the residual is subtracted."),
        looks_like(lambda x, r, w, eps, *_: _norm(x.double() + r.double(), w, eps), "the first output is the "
                   "normalised row, but the next residual is the sum itself."),
        _second(lambda x, r, w, eps: _norm(x, w, eps), "y is the norm of x without the residual."),
        _second(lambda x, r, w, eps: x.double() + r.double(), "the second output is the sum: it is not "
                "normalised."),
        _second(lambda x, r, w, eps: _norm(x.double() + r.double(), torch.ones(1), eps), "the result is not multiplied by the weight."),
        _second(lambda x, r, w, eps: _norm(x.double() + r.double(), w, EPS), "the values of y are those of a "
                "very small eps, such as 0.00001, but the argument eps is larger here."),
        _second(lambda x, r, w, eps: _norm(x.double() + r.double(), w, 0.0), "eps is missing, or is not added before the root."),
        _second(lambda x, r, w, eps: _norm(x.double() + r.double(), w, eps, of=512), "the sum of the squares is "
                "divided by 512, the number of registers that a warp has for the row."),
        _second(lambda x, r, w, eps: _norm(x.double() + r.double(), w, eps, more=512 - x.shape[1]), "registers "
                "without an element seem to hold 1: each adds 1 to the sum of the squares."),
        _second(_alone, "each lane uses only the squares of its own vectors: those of the other "
                "lanes are missing."),
        _second(lambda x, r, w, eps: _norm(x + r, w, eps), "y is computed from sums rounded to the "
                "inputs' type: add in float32, and use these sums."),
        _second(_overflown, "y is 0 in float16 in a row with the sum 200 + 200: the "
                "square of 400 is 160,000, but the largest float16 is 65,504.", rtol=5e-3),
    ],
    praise="You have computed both results from one read of the row.",
)  # fmt: skip
