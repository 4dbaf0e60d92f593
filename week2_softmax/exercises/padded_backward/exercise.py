"""Puzzle week2/padded_backward: the gradient of softmax over the valid beginning of each row."""

import torch

from forgekit.lessons.gates import GateError, Group, looks_like
from forgekit.lessons.puzzle import puzzle
from forgekit.text import plural

from ..gradients import dy_and_y, shares


def _inputs(draw, m, n):
    """Return inputs with lengths from 0 to n. The first column beyond a length holds a number, the
    others NaN or infinity."""
    dy, y = dy_and_y(draw, m, n)
    length = draw.integers(0, n + 1, m, dtype=torch.int32)
    length[2::5] = 0
    if n > 100:  # whole rows, in which the last element matters
        length[1::5], dy[:, -1] = n, 50
    y = y.float().masked_fill(_from(y, length), 0)
    y = y / y.sum(1, keepdim=True).clamp(min=1e-30)
    bad = torch.where(torch.arange(m) % 2 == 0, torch.nan, torch.inf)[:, None]
    bad = torch.where(_from(y, length + 1), bad, 64.0).to(draw.dtype)
    beyond = _from(y, length)
    return torch.where(beyond, bad, dy), torch.where(beyond, bad, y.to(draw.dtype)), length


def _from(y, length):
    return torch.arange(y.shape[1]) >= length[:, None]


def _gradient(dy, y, length, summed=None):
    """Return the gradient. summed: the number of columns in the sum, if not the length."""
    added = _from(y, length if summed is None else summed)
    dot = (dy * y).masked_fill(added, 0).sum(1, keepdim=True)
    return ((dy - dot) * y).masked_fill(_from(y, length), 0)


def _of_lanes(dy, y, length):
    beyond = _from(y, length)
    return ((dy - shares((dy * y).masked_fill(beyond, 0))) * y).masked_fill(beyond, 0)


def _with(change):
    """Return the result of a mistake: `change` of dy, y (float64) and length."""
    return lambda dy, y, length, dx: change(dy.double(), y.double(), length)


def _nothing_beyond(make):
    call = make, (7, 97), "float32"

    def run(submission):
        from forgekit.tracing.footprint import footprint

        case = submission.case(*call)
        kernel, args = submission.compiled(case), submission.arguments(case).values()
        length = case.args[2]
        for k in (0, 1):
            name = kernel.parameters[k].name
            loads = footprint(kernel, *args, tensor=name, kind="load").touched[name]["loads"]
            beyond = (torch.from_numpy(loads > 0) & _from(case.args[k], length)).nonzero().tolist()
            if beyond:
                m, n = beyond[0]
                raise GateError(
                    f"With {case.label}, {plural(len(beyond), 'element')} of {name} beyond the "
                    f"length are loaded; needed none. The first is {name}[{m}, {n}]; length[{m}] is "
                    f"{length[m]}.",
                    look_at=f"fk.footprint(*{{failed}}, tensor='{name}', kind='load')",
                )
        dx = submission.run(case)[3]
        if wrong := ((dx != 0) & _from(dx, length)).nonzero().tolist():
            m, n = wrong[0]
            raise GateError(
                f"With {case.label}, dx[{m}, {n}] is {float(dx[m, n]):.3g}, but has to be 0: "
                f"length[{m}] is {length[m]}."
            )
        return "no element is loaded there, and dx is 0"

    return Group("Beyond the length", run)


EXERCISE = puzzle(
    title="compute the gradient of padded rows",
    task="""
A batch holds sentences of different lengths. In row m the first `length[m]` columns are valid (int32, from 0 to N), and softmax was computed over those columns
only. The columns beyond are undefined: `dy` and `y` may hold NaN or infinities there. `dx` is the gradient of
softmax in the valid columns, and 0 in the rest of the row. Support float32 and float16, and load nothing beyond
the length.
Signature: `padded_backward(dy, y, length, dx)`.
""",
    hints=(
        "What is 0 · NaN? Multiplying by 0 does not remove an invalid element, so keep it out of all arithmetic.",
        "The sum covers `length[m]` columns, but the stores cover all N. Which of the two loops ends at the length?",
        "In the second loop, begin with `dx = Float32(0.0)`. Inside an `if` that tests the length, do both loads and overwrite dx.",
    ),
    analysis="""
In floating point, 0 times NaN is NaN. So NaN survives a multiplicative mask, and after the next training
step, one NaN in a gradient has reached every weight. A predicate keeps invalid elements out of the arithmetic and
also saves their loads: if lengths are spread evenly, the kernel reads half of the matrix. A row of length 0 needs
no special case, because its sum is empty and all elements of its dx are 0.
""",
    asked={"work": "one warp per row"},
    entry="padded_backward",
    inputs=_inputs,
    result=_gradient,
    sizes=[(5, 6), (1, 1), (7, 31), (6, 1000), (3, 1025), (5, 129), (17, 32)],
    count=[(5, 100), (64, 500)],
    dtypes=("float32", "float16"),
    atol=1e-6,
    waste={"idle_lanes": None},
    misconceptions=[
        looks_like(_with(lambda dy, y, n: _gradient(dy, y, n).masked_fill(_from(y, n), torch.nan)),
                   "nothing is stored beyond the length, but dx has to be 0 there, to the end of the row.", unstored=True),
        looks_like(_with(lambda dy, y, n: _gradient(dy, y, n).masked_fill(_from(y, n + 1), torch.nan)),
                   "beyond the length, dx is NaN: arithmetic with NaN, and a product of 0 and infinity, give NaN."),
        looks_like(_with(lambda dy, y, n: _gradient(dy, y, n, n + 1)), "Σ dy·y includes one column too many."),
        looks_like(_with(lambda dy, y, n: _gradient(dy, y, n, n * 0 + y.shape[1])), "Σ dy·y covers the "
                   "whole row, including the columns beyond the length."),
        looks_like(_with(lambda dy, y, n: _gradient(dy, y, n[:1].expand(len(n)))), "every row is treated as if it were as long as row 0."),
        looks_like(_with(_of_lanes), "instead of Σ dy·y, each element uses only the dy·y of its own lane's columns. The sum has to cover the whole row."),
        looks_like(_with(lambda dy, y, n: _gradient(dy, y, n, n * 0)), "dx is dy·y in the valid columns: "
                   "nothing, or 0, is subtracted from dy."),
    ],
    more=lambda make: (_nothing_beyond(make),),
    praise="No NaN gets through.",
)  # fmt: skip
