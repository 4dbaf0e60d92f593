"""Suites: the sizes and types an operator is measured at, read from TOML files in `suites/`.

A suite is a list of groups; a group holds `ops`, `dtypes`, `why`, and either `shapes` or the two
lists `M` and `N`, of which every pair is meant. `dim`, -1 where it is left out, is the dimension
that a sum or a softmax runs along. A file of one's own is named by its path.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from forgekit.errors import brief, usage_error

OPERATORS = ("copy_transpose", "reduce_sum", "softmax", "softmax_backward")  # torch not imported
DTYPES = ("float16", "bfloat16", "float32")

_FOLDER = Path(__file__).parent
_KEYS = {"ops", "dtypes", "why", "shapes", "M", "N", "dim"}


@dataclass(frozen=True)
class Case:
    """One operator at one size, of one type; dim: -1 or 0, of no meaning for a transpose."""

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
    """The suites that forgekit brings."""
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def load_suite(name: str) -> list[Case]:
    """The cases of a suite, each once: operator by operator, sizes as the file lists them; those of
    more than 2^31 elements at the end.

    name: of a suite of forgekit's, or the path of a TOML file.

    Raises:
        UsageError: there is no such suite, or the file does not hold one.
    """
    file = _FOLDER / f"{name}.toml" if name in suite_names() else Path(name)
    if not file.is_file():
        known = ", ".join(suite_names())
        remedy = "choose one, or give the path of a TOML file"
        raise usage_error("--suite", brief(name), f"one of {known}", remedy)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        remedy = f"see {_FOLDER / 'smoke.toml'}"
        raise usage_error(str(file), error, "a TOML file", remedy) from None
    groups = data.get("group")
    if not isinstance(groups, list) or not groups:
        _refuse(file, "group", groups, "tables [[group]]")
    cases = [case for group in groups for case in _cases(file, group)]
    # What may break the GPU's context, and with it all that follows, is last.
    return sorted(dict.fromkeys(cases), key=lambda c: (c.elements > 2**31, OPERATORS.index(c.op)))


def _cases(file: Path, group: Any) -> Iterable[Case]:
    if not isinstance(group, dict):
        _refuse(file, "group", repr(group), "tables [[group]]")
    if unknown := set(group) - _KEYS:
        _refuse(file, "group", sorted(unknown), f"keys of {', '.join(sorted(_KEYS))}")
    ops = _names(file, group, "ops", OPERATORS)
    dtypes = _names(file, group, "dtypes", DTYPES)
    dim = group.get("dim", -1)
    if type(dim) is not int or dim not in (-1, 0):
        _refuse(file, "dim", dim, "-1 or 0")
    shapes = _shapes(file, group)
    return [Case(op, shape, t, dim) for op in ops for shape in shapes for t in dtypes]


def _names(file: Path, group: dict[str, Any], key: str, known: Sequence[str]) -> list[str]:
    found = group.get(key)
    if not isinstance(found, list) or not found or not set(map(str, found)) <= set(known):
        _refuse(file, key, found, f"a list of some of {', '.join(known)}")
    return list(found)


def _shapes(file: Path, group: dict[str, Any]) -> list[tuple[int, int]]:
    if ("shapes" in group) == ("M" in group or "N" in group):
        _refuse(file, "group", sorted(group), "either shapes, or M and N")
    lists = {key: group.get(key, []) for key in ("shapes", "M", "N")}
    for key, found in lists.items():
        if not isinstance(found, list):
            _refuse(file, key, repr(found), "a list")
    pairs = lists["shapes"] or [*itertools.product(lists["M"], lists["N"])]
    sizes = [[*pair] if isinstance(pair, list | tuple) else [] for pair in pairs]
    if not pairs or any([*map(type, pair)] != [int, int] for pair in sizes):
        _refuse(file, "sizes", pairs, "pairs of integers")
    if (least := min(map(min, sizes))) < 1:
        _refuse(file, "sizes", least, "1 or more: of nothing, there is nothing to measure")
    return [(m, n) for m, n in sizes]


def _refuse(file: Path, what: str, got: object, needed: str) -> NoReturn:
    remedy = f"see {_FOLDER / 'smoke.toml'}"
    raise usage_error(f"{file}, {what}", got, needed, remedy)


def check_names(ops: Sequence[str], dtypes: Sequence[str]) -> None:
    """Raise UsageError for what is no operator, or no type."""
    for option, wanted, known in (("--op", ops, OPERATORS), ("--dtype", dtypes, DTYPES)):
        for name in wanted:
            if name not in known:
                needed = f"some of {', '.join(known)}"
                raise usage_error(option, brief(name), needed, "separate by commas")


def select(
    cases: Iterable[Case], *, ops: Sequence[str] = (), dtypes: Sequence[str] = ()
) -> list[Case]:
    """The cases of some operators and types; of all where none is named.

    Raises:
        UsageError: no such operator or type, or no case is left.
    """
    check_names(ops, dtypes)
    chosen = [c for c in cases if c.op in (ops or OPERATORS) and c.dtype in (dtypes or DTYPES)]
    if not chosen:
        got = f"--op {','.join(ops) or 'all'} --dtype {','.join(dtypes) or 'all'}"
        raise usage_error("suite", got, "at least one case", "choose another suite")
    return chosen
