"""Define the gate that uses the sanitizer: a kernel must be correct in every thread order that a
GPU might choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forgekit.errors import UnsupportedPtxError
from forgekit.lessons.gates.gate import Evidence, GateError, Misconception, explained
from forgekit.lessons.gates.submission import CallKey, Group, MakeCase, Submission
from forgekit.lessons.gates.values import right_in_other_orders
from forgekit.text import plural

WATCH = (
    'fk.sanitize(*{failed}, schedule="adversarial") prints the whole report; '
    "fk.timeline(*{failed}) draws the execution order in one block."
)


def clean(
    make: MakeCase,
    sizes: Sequence[tuple[int, ...]],
    dtype: str = "float32",
    *,
    more: Callable[[], Sequence[CallKey]] = list,
    seeds: int = 2,
    misconceptions: Sequence[Misconception] = (),
    look_at: str = WATCH,
) -> Group:
    """Return a group that runs calls under the sanitizer, in adversarial thread orders that differ
    for each size.

    `values` reuses these runs if all results are right and the sanitizer reports nothing.
    Otherwise, the call is repeated in the usual order and in all adversarial orders, for the
    report.

    make, sizes, misconceptions, look_at: as in `values`. more: returns further calls. seeds: the
    total number of orders, which the calls share; each call runs in at least one order.
    """

    def orders() -> dict[CallKey, range]:
        calls = [*((make, size, dtype) for size in sizes), *more()]
        count = max(seeds, len(calls))
        return {call: range(k, count, len(calls)) for k, call in enumerate(calls)}

    def run(submission: Submission) -> str:
        from forgekit.checking.sanitize import sanitize

        wanted = orders()
        count = sum(map(len, wanted.values()))
        for call in wanted:
            case = submission.case(*call)
            if right_in_other_orders(submission, case):
                continue
            args = submission.arguments(case)
            try:
                report = sanitize(
                    submission.compiled(case), *args.values(), schedule="adversarial", seeds=count
                )
            except UnsupportedPtxError as error:
                raise GateError(f"The virtual GPU cannot run this kernel.\n{error}") from None
            if not report:
                kinds = tuple(f.kind for f in report.findings if not f.note)
                evidence = Evidence(kinds=kinds, text=str(report), case=case)
                happened = (
                    f"With {case.label}, the sanitizer reports an error.\n{_first(str(report))}"
                )
                raise GateError(happened, explained(misconceptions, evidence), look_at)
        return f"no findings in {plural(count, 'order')}"

    return Group("Every order of threads", run, orders=orders)


def _first(text: str, lines: int = 24) -> str:
    """Shorten a long report to its beginning, because one mistake often causes several findings."""
    parts = text.splitlines()
    rest = len(parts) - lines
    return text if rest <= 3 else "\n".join([*parts[:lines], f"… and {rest} more lines"])
