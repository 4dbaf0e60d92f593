"""check(): compare a kernel's result with the expected values, and report the position, size and
likely cause of differences.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial

from forgekit.arguments import checked
from forgekit.checking.check_report import CheckReport
from forgekit.checking.compare import compare
from forgekit.errors import CheckError, brief, usage_error
from forgekit.show import in_notebook


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
    """Compare a kernel's result with the expected values, and report the differences.

    In a notebook, the report is shown in green or red, with a picture, and returned; elsewhere,
    wrong values raise CheckError. `on_fail` or the environment variable FORGEKIT_CHECK ("raise" or
    "report") overrides this behaviour.

    Args:
        actual, expected: torch tensors on any device, NumPy arrays, or nested lists; of equal
            shape. `expected` may have a wider type of the same kind (float32 for float16, int64
            for int32).
        rtol, atol: tolerances; None selects the defaults for the dtype of `actual` (see
            `forgekit/checking/compare.py`).
        name: the name of `actual` in the report.
        max_shown: the number of wrong elements to list.
        tile: the kernel's tile, used to list and draw wrong tiles; an int, or one int per trailing
            dimension.
        on_fail: "raise" or "report".
        again: a function that computes `actual` again, such as `lambda: run(x, y)`. On the virtual
            GPU the kernel then also runs under adversarial schedules, in which a hidden race gives
            wrong values; the first failing schedule is reported. On a GPU, the function is called
            once more, without adversarial schedules. The function must not add to existing values.
        seeds: the number of adversarial schedules, or a list of their seeds; default 3.

    Returns:
        The report; its truth value is True if all values are right.

    Raises:
        CheckError: values are wrong and `on_fail` is "raise" (the default outside notebooks); the
            error's `report` attribute contains the report.
        UsageError: `actual` and `expected` cannot be compared: their shapes or kinds of dtype
            differ, or they contain complex values.
    """
    raises = _raises(on_fail)
    if again is None and seeds is not None:
        remedy = "add again=lambda: run(x, y)"
        raise usage_error("seeds", seeds, "seeds= together with again=", remedy)

    compared = partial(
        compare, actual, expected, rtol=rtol, atol=atol, max_shown=max_shown, tile=tile
    )
    report = compared(name=name)
    if again is not None and report.ok:
        wrong = _adversarial(again, seeds, compared, name or "actual")
        report = report if wrong is None else wrong  # a report of wrong values is false
    if not report.ok and raises:
        raise CheckError(str(report), report)
    if in_notebook():
        report.show()
    return report


def _adversarial(
    again: Callable[[], object],
    seeds: int | Iterable[int] | None,
    compared: Callable[..., CheckReport],
    name: str,
) -> CheckReport | None:
    """Return the report for the first adversarial schedule that produces wrong values, or None if
    all values are right.
    """
    from forgekit import vgpu
    from forgekit.checking.sanitize import seed_numbers

    for seed in seed_numbers(seeds):
        with vgpu.options(schedule="adversarial", seed=seed, sanitize=False):
            again()
        report = compared(name=f"{name} (adversarial schedule, seed {seed})")
        if not report.ok:
            return report
    return None


def _raises(on_fail: str | None) -> bool:
    """Return True if wrong values raise an error: as `on_fail` requests, or by default everywhere
    except in a notebook."""
    said_by = "on_fail" if on_fail is not None else "FORGEKIT_CHECK"
    choice = os.environ.get("FORGEKIT_CHECK") or None if on_fail is None else on_fail
    if choice not in (None, "raise", "report"):
        needed, remedy = '"raise" or "report"', "leave it out for the default"
        raise usage_error(said_by, brief(choice), needed, remedy)
    return not in_notebook() if choice is None else choice == "raise"
