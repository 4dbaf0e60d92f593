"""`forgekit tune`: search around the table of configurations on the GPU at hand."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from forgekit.benching.suites.suite import (
    DTYPES,
    OPERATORS,
    Case,
    load_suite,
    select,
    suite_names,
)
from forgekit.commands.options import AtLeast, Command, Names
from forgekit.errors import PlatformError, brief, got_needed, usage_error
from forgekit.text import Table, plural

if TYPE_CHECKING:
    from forgekit.benching.tuning import Tuning
    from forgekit.ops.tile_choice import RowChoice

_OPS = tuple(op for op in OPERATORS if op != "copy_transpose")  # which has no rows


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
    _check_device_and_folder(store=not chosen.dry_run)
    from tqdm import tqdm

    from forgekit.benching import tuning

    found: list[Tuning] = []
    status = 0
    try:
        for case in (bar := tqdm(cases, unit="size", disable=None, file=sys.stderr)):
            bar.set_postfix_str(str(case))
            found.append(
                tuning.tune_case(
                    case, most=chosen.candidates, exact=chosen.exact, repeats=chosen.repeats
                )
            )
            if not chosen.dry_run:
                tuning.keep(found[-1])
    except KeyboardInterrupt:
        kept = "nothing is stored" if chosen.dry_run else "what was found before is kept"
        print(f"forgekit: interrupted; {kept}", file=sys.stderr)
        status = 130
    finally:
        print("\n".join(report(found)))
    return status or int(any(one.left_out for one in found))


def _cases(chosen: SimpleNamespace) -> list[Case]:
    """What is to be tuned: rows of the suite, and the shapes."""
    ops, dtypes = chosen.op or _OPS, chosen.dtype or DTYPES
    for name in ops:
        if name not in _OPS:
            remedy = "other operators have no rows to tune"
            raise usage_error("--op", brief(name), f"some of {', '.join(_OPS)}", remedy)
    if not chosen.shape and not chosen.suite:
        remedy = "such as --shape 8192x8192, or --suite short"
        raise usage_error("forgekit tune", "no sizes", "--shape or --suite", remedy)
    named = [Case(op, _shape(text), t) for op in ops for text in chosen.shape for t in dtypes]
    cases = select(named, ops=ops, dtypes=dtypes) if named else []
    if chosen.suite:
        cases += [c for c in select(load_suite(chosen.suite), ops=ops, dtypes=dtypes) if c.dim]
    if not cases:
        raise usage_error("--suite", f"no rows in {chosen.suite}", "some", "choose another suite")
    return list(dict.fromkeys(cases))


def _shape(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d*)[x×]([1-9]\d*)", text.strip())
    if not found:
        needed, remedy = "rows x elements of a row", "such as --shape 8192x4096"
        raise usage_error("--shape", brief(text), needed, remedy)
    return int(found[1]), int(found[2])


def _check_device_and_folder(*, store: bool) -> None:
    """Refuses first what should not come out at the end."""
    from forgekit.devices import current_target
    from forgekit.ops import tuned

    target = current_target()
    if target.kind != "gpu":
        needed, remedy = "a GPU, as it goes by times", "run it on such a machine"
        raise PlatformError(got_needed("forgekit tune", target.name, needed, remedy))
    if store and tuned.folder() is None:
        remedy = "unset FORGEKIT_TUNING or name a folder with it, or add --dry-run"
        raise usage_error("forgekit tune", "no folder to store in", "a folder", remedy)


# -- what is printed ------------------------------------------------------------------------------
def report(found: Sequence[Tuning]) -> list[str]:
    """A table of all sizes that were measured, and below it what was not, and why."""
    rows = [_row(one) for one in found if one.table]
    heads = ("", "table's choice", "µs", "best", "µs", "gain")
    lines = Table(heads, rows, left=(0, 1, 3)).lines() if rows else ["nothing was measured"]
    lines += [f"{one.case}: not measured: {one.left_out}" for one in found if one.left_out]
    for one in found:
        lines += [f"{one.case}: dropped {in_words(choice)}: {why}" for choice, why in one.dropped]
    return lines


def _row(one: Tuning) -> tuple[str, ...]:
    table, best = (
        (in_words(timed.choice), f"{1e3 * timed.timing.median_ms:.1f}") if timed else ("stays", "")
        for timed in (one.table, one.best)
    )
    gain = f"{100 * one.gain:.1f} %" if one.best else ""
    return f"{one.case}, {one.tried} tried", *table, *best, gain


def in_words(choice: RowChoice) -> str:
    """A configuration in a few words, such as `shared 192 threads, 6 loads, cluster of 2`."""
    c = choice
    words = [f"{c.kernel} {c.threads} threads", plural(c.loads, "load")]
    words += [f"{c.rows} rows"] * (c.rows > 1) + [f"cluster of {c.cluster}"] * (c.cluster > 1)
    words += [f"{c.turns} in turn"] * (c.turns > 1)
    return ", ".join(words + [f"{c.split} parts"] * (c.split > 1))


def _show() -> int:
    """What the files of the folder hold, also those that do not count."""
    from forgekit.ops import tuned

    where, found = tuned.folder(), tuned.stored()
    if not found:
        print(f"nothing is stored in {where}" if where else "FORGEKIT_TUNING=off")
    for one in found:
        print(f"{one.gpu or '?'}: {one.file}" + (f"\nignored: {one.ignored}" * bool(one.ignored)))
        for name, entry in sorted(one.entries.items()):
            print(f"{name}: {json.dumps(entry)}")
    return 0


def _clear() -> int:
    from forgekit.ops import tuned

    files = tuned.clear()
    print("\n".join(f"removed {file}" for file in files) or "nothing is stored")
    return 0
