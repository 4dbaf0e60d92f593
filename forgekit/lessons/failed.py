"""The call at which a grade stopped, to be run and drawn again by the student."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forgekit.checking.report import CheckReport
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.lessons.gates.submission import Case

__all__ = ["FailedCall"]


@dataclass(frozen=True)
class FailedCall:
    """A compiled kernel and its arguments: `fk.footprint(*failed)`, `fk.profile(*failed)`.

    Iterating gives the kernel, then copies of the arguments of its call. `show()` runs it and
    compares its result.
    """

    kernel: CompiledKernel
    case: Case

    def __iter__(self) -> Iterator[Any]:
        yield self.kernel
        yield from self._arguments()

    def _arguments(self) -> tuple[Any, ...]:
        from forgekit.compiling.replay import copied

        kinds = [p.kind for p in self.kernel.parameters if p.kind != "stream"]
        pairs = zip(kinds, copied(self.case.args), strict=False)
        return tuple(value for kind, value in pairs if kind in ("tensor", "scalar"))

    def show(self) -> CheckReport:
        """Run the call on the virtual GPU and check its first wrong result, or its last.

        Raises:
            KernelError: what stops the kernel, as in the grade.
        """
        from forgekit.checking.check import compare
        from forgekit.checking.report import in_notebook
        from forgekit.compiling.replay import run_again

        kinds = [p.kind for p in self.kernel.parameters if p.kind != "stream"]
        places = [k for k, kind in enumerate(kinds) if kind in ("tensor", "scalar")]
        after = dict(zip(places, run_again(self.kernel, self._arguments()), strict=True))
        report = None
        for position, want in self.case.expected.items():
            name = self.kernel.parameters[position].name
            report = compare(
                after[position], want, name=name, tile=self.case.tile, **self.case.tolerances
            )
            if not report.ok:
                break
        assert report is not None
        if in_notebook():
            report.show()
        return report

    def __repr__(self) -> str:
        return f"the call of {self.kernel.name} with {self.case.label}"
