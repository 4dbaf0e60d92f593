"""Puzzle week1/fix_the_tail: registers that keep an earlier load."""

import ast
from typing import Any

import torch

from forgekit.lessons.gates import GateError, Group, Submission, looks_like
from forgekit.lessons.gates.submission import source_of
from forgekit.lessons.puzzle import Draw, puzzle


def _inputs(draw: Draw, m: int, n: int) -> tuple[torch.Tensor]:
    """Return rows of positive and of negative elements in turn. In every eighth row from the fifth
    and from the sixth on, the last vector of the last full tile of 128 ends with ∞ or begins with
    -∞: no factor of 0 removes it from a register."""
    x = draw.fractions(m, n).abs() + 1
    for first, back in ((4, 1), (5, 4)):
        x[first::8, max(n // 128 * 128 - back, 0)] = torch.inf
    x[1::2] *= -1
    return (x,)


def _left_over(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return sums in which lanes without a vector in the last tile add their previous vector."""
    n = x.shape[1]
    whole = n // 128 * 128
    if not whole or whole == n:
        raise ValueError("not this case")
    return x.double().sum(1) + x[:, n - 128 : whole].double().sum(1)


def _filled_first(submission: Submission) -> str:
    """Refuse a tensor that is loaded outside any `if` before the first line of the same function
    that fills it, if the same loop contains both. The PTX cannot show this, because the compiler
    replaces the undefined registers."""
    try:
        tree = ast.parse(source_of(submission.value))
    except SyntaxError:  # a cell with a magic
        return ""
    chosen = {n for c in ast.walk(tree) if isinstance(c, ast.If | ast.IfExp) for n in ast.walk(c)}
    for function in (f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)):
        loops = (x for x in ast.walk(function) if isinstance(x, ast.For | ast.While))
        loop_of = {n: loop for loop in loops for n in ast.walk(loop)}  # the innermost comes last
        loads: dict[str, list[tuple[int, Any]]] = {}
        fills: dict[str, list[tuple[int, Any]]] = {}
        for node in ast.walk(function):
            place = getattr(node, "lineno", 0), loop_of.get(node)
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="load")):
                    if node not in chosen:
                        loads.setdefault(name, []).append(place)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="fill" | "store")):
                    fills.setdefault(name, []).append(place)
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                    fills.setdefault(name, []).append(place)
        for name in loads.keys() & fills.keys():
            line, loop = min(loads[name], key=lambda place: place[0])
            if line < min(at for at, _ in fills[name]) and loop in [of for _, of in fills[name]]:
                raise GateError(
                    f"`{name}` is loaded in a line above the first one that fills it.",
                    "in the first tile of a row, the registers of a lane without a vector were "
                    "never written. Their values are undefined; the sums are right only because "
                    "the compiler chose 0 for them.",
                    f"Fill `{name}` before the copy.",
                )
    return "before they are read"


EXERCISE = puzzle(
    title="fix the tail",
    task="""
To save instructions, this kernel fills the registers before the loop instead of inside it. Its
sums are right for rows of up to 128 float32 elements and for multiples of 128. Fix it for all
float32 rows of whole vectors. Elements may be infinite.
""",
    hints=(
        "What do the registers of a lane hold in the last tile if the lane has no vector there?",
        "A copy whose predicate is false leaves the registers unchanged.",
        "For each tile, put the identity into the registers on the line before `cute.copy`. (Or "
        "let the sum skip registers that the copy did not load.)",
    ),
    analysis="""
Thanks to the `fill` before the loop, the first tile is added correctly, and in a full tile every
lane loads new values. Only a partial tile after a full tile reveals the mistake: lanes without a vector add
their previous vector again. The fix costs four moves per vector.
""",
    asked={"load_bytes": 16},
    entry="fix_the_tail",
    inputs=_inputs,
    result=lambda x: x.sum(1),
    sizes=[(1, 128), (2, 1000), (1, 300_000), (1, 132), (3, 300), (33, 252), (7, 1024), (5, 4)],
    count=[(5, 64), (64, 1000)],
    legal=lambda m, n: (m, max(4, n // 4 * 4)),
    promise={0: {1: 4}},
    misconceptions=[
        looks_like(_left_over, "lanes without a vector in the last tile add the vector that the "
                   "previous tile left in their registers."),
        looks_like(lambda x, y: x.double().sum(1) + -x.shape[1] % 128, "lanes without a vector add "
                   "a value other than 0."),
        looks_like(lambda x, y: x[:, : x.shape[1] // 128 * 128].double().sum(1), "the sum misses "
                   "the last tile, which is not full."),
        looks_like(lambda x, y: x[:, :128].double().sum(1), "the sum contains only the first "
                   "tile of a row."),
        looks_like(lambda x, y: x.double().sum(1).nan_to_num(torch.nan, torch.nan, torch.nan), "the sum of each "
                   "row with an infinity is NaN: 0 · ∞ and ∞ − ∞ are NaN. A factor of 0 does not "
                   "remove what a register holds."),
        looks_like(lambda x, y: 0 * x.sum(1), "every sum is 0: do the registers hold the row's "
                   "elements when they are added?"),
    ],
    more=lambda make: (Group("Registers filled", _filled_first),),
    praise="No sum contains what an earlier load left in a register.",
)  # fmt: skip
