"""check(): is what a kernel wrote what it should be, and if not, where, by how much and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Literal

from forgekit.arguments import checked
from forgekit.checking.check_report import CheckReport
from forgekit.checking.compare import compare
from forgekit.errors import CheckError, UsageError, brief, got_needed
from forgekit.show import in_notebook

OnFail = Literal["raise", "report"]


@checked(rtol=(0, None), atol=(0, None), max_shown=(0, None))
def check(
    actual: object,
    expected: object,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    name: str | None = None,
    max_shown: int = 5,
    tile: int | tuple[int, ...] | None = None,
    on_fail: str | None = None,
    again: Callable[[], object] | None = None,
    seeds: int | Iterable[int] | None = None,
) -> CheckReport:
    """Compare a kernel's result with the expected values, and say what is wrong with it.

    In a notebook the report is shown, green or red with a picture, and returned; anywhere else
    wrong values raise. `on_fail` or the environment variable FORGEKIT_CHECK ("raise" or "report")
    decide otherwise.

    Args:
        actual, expected: torch tensors on any device, NumPy arrays, or nested lists; of equal
            shape. `expected` may be of a wider type of the same sort (float32 for float16, int64
            for int32).
        rtol, atol: tolerances; None takes those of `actual`'s dtype, of which
            `forgekit/checking/compare.py` says more.
        name: what to call `actual` in the report.
        max_shown: how many wrong elements to list.
        tile: the kernel's tile, to tell and draw which tiles are wrong; an int, or one per last
            dimensions.
        on_fail: "raise" or "report".
        again: computes `actual` again, such as `lambda: run(x, y)`. On the virtual GPU it then runs
            under adversarial schedules too, in which a race that looks harmless gives wrong values;
            the first that does is reported. On a GPU it only runs again. It must not add to what
            is there already.
        seeds: of these schedules, a count or a list; 3 where it is left out.

    Returns:
        The report; true if all is right.

    Raises:
        CheckError: values are wrong and this is no notebook; its `report` holds the report.
        UsageError: the two cannot be compared: other shapes, other sorts of dtype, complex numbers.
    """
    on_fail = _on_fail(on_fail)
    options: dict[str, Any] = {
        "rtol": rtol, "atol": atol, "max_shown": max_shown, "tile": tile,
    }  # fmt: skip
    report = compare(actual, expected, name=name, **options)
    if again is None and seeds is not None:
        raise UsageError(
            got_needed("seeds", seeds, "again= beside it", "add again=lambda: run(x, y)")
        )
    if again is not None and not callable(again):
        remedy = "write again=lambda: run(x, y)"
        raise UsageError(got_needed("again", brief(again), "a function without arguments", remedy))
    if report.ok and again is not None:
        report = _adversarial(report, again, seeds, actual, expected, name, options)
    if not report.ok and on_fail == "raise":
        raise CheckError(str(report), report)
    if in_notebook():
        report.show()
    return report


def _adversarial(
    report: CheckReport,
    again: Callable[[], object],
    seeds: int | Iterable[int] | None,
    actual: object,
    expected: object,
    name: str | None,
    options: dict[str, Any],
) -> CheckReport:
    """The report of the first adversarial schedule with wrong values, or the one there is."""
    from forgekit import vgpu
    from forgekit.checking.sanitize import seed_numbers

    for seed in seed_numbers(seeds):
        with vgpu.options(schedule="adversarial", seed=seed, sanitize=False):
            again()
        called = f"{name or 'actual'} (adversarial schedule, seed {seed})"
        other = compare(actual, expected, name=called, **options)
        if not other.ok:
            return other
    return report


def _on_fail(wish: str | None) -> OnFail:
    said_by = "on_fail" if wish is not None else "FORGEKIT_CHECK"
    wish = os.environ.get("FORGEKIT_CHECK") or None if wish is None else wish
    if wish is None:
        return "report" if in_notebook() else "raise"
    if wish == "raise":
        return "raise"
    if wish == "report":
        return "report"
    raise UsageError(
        got_needed(said_by, brief(wish), '"raise" or "report"', "leave it out to decide by itself")
    )
