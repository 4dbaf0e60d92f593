"""Group the rows of a recorded run of `forgekit bench` by operator."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forgekit.benching.suites.results import SuiteResults, SuiteRow
from forgekit.benching.suites.suite import DTYPES, Case

__all__ = ["Group", "groups"]

_WORDS = {
    ("copy_transpose", -1): "Transposes",
    ("reduce_sum", -1): "Sums over rows",
    ("reduce_sum", 0): "Sums over columns",
    ("softmax", -1): "Softmax over rows",
    ("softmax", 0): "Softmax over columns",
    ("softmax_backward", -1): "Gradient of softmax over rows",
    ("softmax_backward", 0): "Gradient of softmax over columns",
}


@dataclass(frozen=True)
class Group:
    """The rows for an operator along a dimension; `results` contains only these rows."""

    op: str
    dim: int
    results: SuiteResults

    @property
    def title(self) -> str:
        return _WORDS.get((self.op, self.dim), f"{self.op}, dim {self.dim}")

    @property
    def call(self) -> str:
        along = "" if self.op == "copy_transpose" else f", dim={self.dim}"
        of = "grad, y" if self.op == "softmax_backward" else "x"
        return f"forgekit.ops.{self.op}({of}{along})"

    def cases(self) -> dict[Case, dict[str, SuiteRow]]:
        """Map each case, in ascending order of the number of elements, to a map from contender to
        row.
        """
        found: dict[Case, dict[str, SuiteRow]] = {}
        ordered = sorted(self.results.rows, key=lambda r: (r.case.elements, r.case.shape))
        for row in sorted(ordered, key=lambda r: DTYPES.index(r.case.dtype)):
            found.setdefault(row.case, {})[row.contender] = row
        return found

    def contenders(self) -> list[str]:
        return list(dict.fromkeys(row.contender for row in self.results.rows))


def groups(results: SuiteResults) -> list[Group]:
    """Return one group per operator and dimension, in the run's order."""
    keys = dict.fromkeys((row.case.op, row.case.dim) for row in results.rows)
    return [
        Group(op, dim, replace(results, rows=[
            row for row in results.rows if (row.case.op, row.case.dim) == (op, dim)
        ]))
        for op, dim in keys
    ]  # fmt: skip
