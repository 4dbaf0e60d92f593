"""`forgekit tune`: search around the table of configurations on the GPU at hand."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from forgekit.benching.suites.suite import DTYPES, Case, load_suite, select, suite_names
from forgekit.commands.options import AtLeast, Command, Names
from forgekit.errors import PlatformError, UsageError, brief, got_needed
from forgekit.text import Table, plural

if TYPE_CHECKING:
    from forgekit.benching.tuning.tune import Outcome, Timed, TuneSettings
    from forgekit.ops.tile_choice import RowChoice

_OPS = ("reduce_sum", "softmax", "softmax_backward")


@click.command(
    cls=Command,
    short_help="Search for faster configurations of sums and softmax on the GPU at hand",
)
@click.option("--op", type=Names(), default="", help=f"some of {', '.join(_OPS)}; default all")
@click.option("--dtype", type=Names(), default="", help=f"some of {', '.join(DTYPES)}; default all")
@click.option("--shape", multiple=True, metavar="8192x8192",
              help="rows x elements of a row; may be given several times")  # fmt: skip
@click.option("--suite", help=f"the rows of {', '.join(suite_names())}, or of a TOML file of yours")
@click.option("--exact", is_flag=True, help="try only what adds in the same order as the table's "
              "choice: no bit changes")  # fmt: skip
@click.option("--candidates", type=AtLeast(1), default=24,
              help="to try for each size, at most; default 24")  # fmt: skip
@click.option("--repeats", type=AtLeast(1), default=50, help="timed calls of each; default 50")
@click.option("--dry-run", is_flag=True, help="measure and report, store nothing")
@click.option("--scheduler", help="spread the sizes with Dask: local:2, or tcp://host:8786")
@click.option("--show", is_flag=True, help="print what is stored, and stop")
@click.option("--clear", is_flag=True, help="remove what is stored, and stop")
def tune(**options: Any) -> int:
    """Measure configurations around those of forgekit's table, for rows of the sizes given, and
    keep what is faster by more than the noise: in a file for this model of GPU, which sums and
    softmax then ask before the table. Results stay right: each configuration is checked against
    the reference before it is timed, and gives the same bits in every run; its last bits may differ
    from those before, as it may add in another order (with --exact they never do).
    """
    chosen = SimpleNamespace(**options)
    if chosen.clear or chosen.show:
        return _clear() if chosen.clear else _show()
    cases = _cases(chosen)
    settings = _settings(chosen)
    outcomes: list[Outcome] = []
    status = 0
    try:
        for outcome in _with_progress(cases, settings, chosen.scheduler):
            outcomes.append(outcome)
            if not chosen.dry_run:
                _keep(outcome)
    except KeyboardInterrupt:
        print("forgekit: interrupted; what was found before is kept", file=sys.stderr)
        status = 130
    print("\n".join(report(outcomes)))
    return status or int(any(outcome.left_out for outcome in outcomes))


def _cases(chosen: SimpleNamespace) -> list[Case]:
    """What is to be tuned: rows of the suite, and the shapes."""
    ops, dtypes = chosen.op or _OPS, chosen.dtype or DTYPES
    for name in ops:
        if name not in _OPS:
            remedy = "other operators have no rows to tune"
            raise UsageError(got_needed("--op", brief(name), f"some of {', '.join(_OPS)}", remedy))
    if not chosen.shape and not chosen.suite:
        remedy = "such as --shape 8192x8192, or --suite short"
        raise UsageError(got_needed("forgekit tune", "no sizes", "--shape or --suite", remedy))
    named = [Case(op, _shape(text), t) for op in ops for text in chosen.shape for t in dtypes]
    cases = select(named, ops=ops, dtypes=dtypes) if named else []
    if chosen.suite:
        cases += [c for c in select(load_suite(chosen.suite), ops=ops, dtypes=dtypes) if c.dim]
    if not cases:
        remedy = "choose another suite"
        raise UsageError(got_needed("--suite", f"no rows in {chosen.suite}", "some", remedy))
    return list(dict.fromkeys(cases))


def _shape(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d*)[x×]([1-9]\d*)", text.strip())
    if not found:
        needed, remedy = "rows x elements of a row", "such as --shape 8192x4096"
        raise UsageError(got_needed("--shape", brief(text), needed, remedy))
    return int(found[1]), int(found[2])


def _settings(chosen: SimpleNamespace) -> TuneSettings:
    """Refuses first what should not come out at the end."""
    from forgekit.benching.suites.spread import check_scheduler, local_workers
    from forgekit.devices import current_target
    from forgekit.ops import tuning_files

    if chosen.scheduler:
        check_scheduler(chosen.scheduler)
    if not chosen.scheduler or local_workers(chosen.scheduler):
        target = current_target()
        if target.kind != "gpu":
            needed = "a GPU, as it goes by times"
            remedy = "run it on such a machine, or hand it to one with --scheduler tcp://host:8786"
            raise PlatformError(got_needed("forgekit tune", target.name, needed, remedy))
    if not chosen.dry_run and tuning_files.folder() is None:
        remedy = "unset FORGEKIT_TUNING or name a folder with it, or add --dry-run"
        raise UsageError(got_needed("forgekit tune", "no folder to store in", "a folder", remedy))
    from forgekit.benching.tuning.tune import TuneSettings

    return TuneSettings(
        most=chosen.candidates, exact=chosen.exact, repeats=chosen.repeats, device="gpu"
    )


def _with_progress(
    cases: Sequence[Case], settings: TuneSettings, scheduler: str | None
) -> Iterable[Outcome]:
    """The outcomes as they come, and a bar: of configurations here, of sizes with Dask."""
    from tqdm import tqdm

    from forgekit.benching.tuning import tune

    if scheduler:
        from forgekit.benching.suites.spread import spread

        pieces = [(case, settings) for case in cases]
        results = spread(tune.tune_on_worker, pieces, scheduler=scheduler, failed=tune.failed_case)
        with tqdm(total=len(cases), unit="size", disable=None, file=sys.stderr) as bar:
            for _, outcome in results:
                bar.set_postfix_str(str(outcome.case), refresh=False)
                bar.update()
                yield outcome
        return
    total = tune.configurations(cases, settings)
    with tqdm(total=total, unit="configuration", disable=None, file=sys.stderr) as bar:
        bar.set_postfix_str(str(cases[0]))
        for index, outcome in tune.tune_cases(cases, settings, step=bar.update):
            bar.set_postfix_str(str(cases[min(index + 1, len(cases) - 1)]))
            yield outcome


def _keep(outcome: Outcome) -> None:
    from forgekit.benching.tuning.tune import keep

    if not keep(outcome) and outcome.table is not None:
        said = f"{outcome.case}: the worker has another forgekit or CuTe DSL, so it is not stored"
        print(f"forgekit: {said}", file=sys.stderr)


# -- what is printed ------------------------------------------------------------------------------
def report(outcomes: Sequence[Outcome]) -> list[str]:
    """A table of all sizes that were measured, and below it what was not, and why."""
    rows = [_row(outcome) for outcome in outcomes if outcome.table is not None]
    heads = ("", "table's choice", "µs", "best", "µs", "gain")
    lines = Table(heads, rows, left=(0, 1, 3)).lines() if rows else ["nothing was measured"]
    lines += [f"{o.case}: not measured: {o.left_out}" for o in outcomes if o.left_out]
    for o in outcomes:
        lines += [f"{o.case}: dropped {in_words(choice)}: {why}" for choice, why in o.dropped]
    return lines


def _row(outcome: Outcome) -> tuple[str, ...]:
    assert outcome.table is not None
    name = f"{outcome.case}, {outcome.tried} tried"
    if outcome.best is None:
        return (name, *_timed(outcome.table), "stays", "", "")
    return (name, *_timed(outcome.table), *_timed(outcome.best), f"{100 * outcome.gain:.1f} %")


def _timed(timed: Timed) -> tuple[str, str]:
    return in_words(timed.choice), f"{1e3 * timed.timing.median_ms:.1f}"


def in_words(choice: RowChoice) -> str:
    """A configuration in a few words, such as `shared 192 threads, 6 loads, cluster of 2`."""
    c = choice
    words = [f"{c.kernel} {c.threads} threads", plural(c.loads, "load")]
    words += [f"{c.rows} rows"] * (c.rows > 1) + [f"cluster of {c.cluster}"] * (c.cluster > 1)
    words += [f"{c.turns} in turn"] * (c.turns > 1)
    return ", ".join(words + [f"{c.split} parts"] * (c.split > 1))


def _show() -> int:
    from forgekit.ops import tuning_files

    where = tuning_files.folder()
    found = tuning_files.stored()
    if not found:
        print(f"nothing is stored in {where}" if where else "FORGEKIT_TUNING=off")
    for one in found:
        print(f"{one.gpu or '?'}: {one.file}" + (f"\nignored: {one.ignored}" * bool(one.ignored)))
        rows = [_stored_row(name, entry) for name, entry in sorted(one.entries.items())]
        if rows:
            heads = ("", "instead of the table's", "µs", "", "µs", "gain", "")
            print("\n".join(Table(heads, rows, left=(0, 1, 3, 6)).lines()))
    return 0


def _stored_row(name: str, entry: dict[str, object]) -> tuple[str, ...]:
    from forgekit.ops.tile_choice import RowChoice

    try:
        table, best = (RowChoice(**entry[k]) for k in ("table", "choice"))  # type: ignore[arg-type]
        before_ms, now_ms = float(entry["table_ms"]), float(entry["ms"])  # type: ignore[arg-type]
        gain = f"{100 * (1 - now_ms / before_ms):.1f} %"
        times = f"{1e3 * before_ms:.1f}", f"{1e3 * now_ms:.1f}"
        return name, in_words(table), times[0], in_words(best), times[1], gain, str(entry["date"])
    except (TypeError, KeyError, ValueError, ZeroDivisionError):
        return name, "cannot be read", "", "", "", "", ""


def _clear() -> int:
    from forgekit.ops import tuned, tuning_files

    files = tuning_files.clear()
    tuned.forget()
    print("\n".join(f"removed {file}" for file in files) or "nothing is stored")
    return 0
