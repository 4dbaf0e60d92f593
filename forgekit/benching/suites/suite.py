"""Read suites, which define the sizes and types to measure, from TOML files in this folder.

A suite is a list of groups. A group has `ops`, `dtypes`, `why`, and either `shapes` or the two
lists `M` and `N`, which are combined into all pairs. `dim`, by default -1, is the dimension of a
sum or a softmax. A suite outside this folder is selected by its path.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit.errors import brief, usage_error

# Repeated here, because this module must not import torch.
OPERATORS = ("copy_transpose", "reduce_sum", "softmax", "softmax_backward")
DTYPES = ("float16", "bfloat16", "float32")

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """An operator with one size and type. dim: -1 or 0, ignored for a transpose."""

    op: str
    shape: tuple[int, int]
    dtype: str
    dim: int = -1

    @property
    def elements(self) -> int:
        return self.shape[0] * self.shape[1]

    def __str__(self) -> str:
        along = "" if self.dim == -1 else f" dim={self.dim}"
        return f"{self.op}{along} {self.shape[0]}×{self.shape[1]} {self.dtype}"


def suite_names() -> list[str]:
    """Return the names of forgekit's suites."""
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def load_suite(name: str) -> list[Case]:
    """Return the distinct cases of a suite, ordered by operator and then as in the file, with cases
    of more than 2^31 elements last.

    name: one of forgekit's suites, or the path of a TOML file.

    Raises:
        UsageError: the suite does not exist, or the file does not define one.
    """
    file = _FOLDER / f"{name}.toml" if name in suite_names() else Path(name)
    if not file.is_file():
        known = ", ".join(suite_names())
        remedy = "choose one, or pass the path of a TOML file"
        raise usage_error("--suite", brief(name), f"one of {known}", remedy)
    remedy = f"see {_FOLDER / 'smoke.toml'}"
    try:
        groups = tomllib.loads(file.read_text(encoding="utf-8")).get("group")
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise usage_error(str(file), error, "a TOML file", remedy) from None
    if not isinstance(groups, list) or not groups:
        raise usage_error(f"{file}, group", groups, "[[group]] tables", remedy)
    cases: list[Case] = []
    for group in groups:
        try:
            cases += _cases(group)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise usage_error(f"{file}, group", group, _GROUP, remedy) from None
    # Cases that may break the GPU's context come last, because later cases would then fail.
    return sorted(dict.fromkeys(cases), key=lambda c: (c.elements > 2**31, OPERATORS.index(c.op)))


_GROUP = (
    f"ops from {', '.join(OPERATORS)}, dtypes from {', '.join(DTYPES)}, dim -1 or 0, and either "
    "shapes or M and N, as positive integers"
)


def _cases(group: Any) -> list[Case]:
    """Return the cases of a group, or raise one of the errors that `load_suite` handles if the
    group is malformed.
    """
    g = {"dim": -1, "why": "", **group}
    shapes = list(g["shapes"] if "shapes" in g else itertools.product(g["M"], g["N"]))
    keys = {"ops", "dtypes", "dim", "why", *(["shapes"] if "shapes" in g else ["M", "N"])}
    found = [
        Case(op, (m, n), t, g["dim"]) for op in g["ops"] for m, n in shapes for t in g["dtypes"]
    ]
    if set(g) != keys or not found or not all(map(_can_be, found)):
        raise ValueError("a malformed group")
    return found


def _can_be(case: Case) -> bool:
    numbers = [type(n) is int for n in (*case.shape, case.dim)]
    sizes = all(numbers) and min(case.shape) > 0 and case.dim in (-1, 0)
    return sizes and case.op in OPERATORS and case.dtype in DTYPES


def check_names(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError if an option's names are not all in `known`."""
    for name in names:
        if name not in known:
            needed = f"any of {', '.join(known)}"
            raise usage_error(option, brief(name), needed, "separate the names with commas")


def select(
    cases: Iterable[Case], *, ops: Sequence[str] = (), dtypes: Sequence[str] = ()
) -> list[Case]:
    """Return the cases with these operators and types; an empty sequence selects all. Raise
    UsageError if no case matches.
    """
    chosen = [c for c in cases if c.op in (ops or OPERATORS) and c.dtype in (dtypes or DTYPES)]
    if not chosen:
        got = f"--op {','.join(ops) or 'all'} --dtype {','.join(dtypes) or 'all'}"
        raise usage_error("suite", got, "at least one case", "choose another suite")
    return chosen
