"""`forgekit tune`: search around the table of configurations on the GPU at hand."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from forgekit.benching.suites.suite import DTYPES, OPERATORS, Case, check_names
from forgekit.commands.options import AtLeast, Command, Names
from forgekit.errors import PlatformError, brief, got_needed, usage_error
from forgekit.text import Table, plural

if TYPE_CHECKING:
    from forgekit.benching.tuning import Tuning
    from forgekit.ops.tile_choice import RowChoice

_OPS = tuple(op for op in OPERATORS if op != "copy_transpose")  # which has no rows


def _shapes(
    context: click.Context, option: click.Parameter, texts: Sequence[str]
) -> list[tuple[int, int]]:
    found = [re.fullmatch(r"([1-9]\d*)[x×]([1-9]\d*)", text.strip()) for text in texts]
    if not texts or None in found:
        got = brief(texts[found.index(None)]) if texts else "none"
        remedy = "such as --shape 8192x4096"
        raise usage_error("--shape", got, "rows x elements of a row", remedy)
    return [(int(one[1]), int(one[2])) for one in found if one]


@click.command(
    cls=Command,
    short_help="Search for faster configurations of sums and softmax on the GPU at hand",
)
@click.option("--op", type=Names(), default="", help=f"some of {', '.join(_OPS)}; default all")
@click.option("--dtype", type=Names(), default="", help=f"some of {', '.join(DTYPES)}; default all")
@click.option("--shape", multiple=True, metavar="8192x8192", callback=_shapes,
              help="rows x elements of a row; may be given several times")  # fmt: skip
@click.option("--exact", is_flag=True, help="try only what adds in the same order as the table's "
              "choice: no bit changes")  # fmt: skip
@click.option("--repeats", type=AtLeast(1), default=50, help="timed calls of each; default 50")
@click.option("--dry-run", is_flag=True, help="measure and report, store nothing")
def tune(
    op: Sequence[str], dtype: Sequence[str], shape: list[tuple[int, int]],
    exact: bool, repeats: int, dry_run: bool,
) -> int:  # fmt: skip
    """Measure configurations around those of forgekit's table, for rows of the sizes given, and
    keep what is faster by more than the noise: in a file for this model of GPU, which sums and
    softmax then ask before the table. Results stay right: each configuration is checked against
    the reference before it is timed, and gives the same bits in every run; its last bits may differ
    from those before, as it may add in another order (with --exact they never do).

    The file is tuned-NAME.json in the folder `tuning` of the compile cache's, or in the folder that
    FORGEKIT_TUNING names. Delete it, and the table decides again; FORGEKIT_TUNING=off does so, too.
    """
    check_names(op, dtype, _OPS)
    _check_device_and_folder(store=not dry_run)
    from tqdm import tqdm

    from forgekit.benching import tuning

    cases = [Case(*one) for one in itertools.product(op or _OPS, shape, dtype or DTYPES)]
    found: list[Tuning] = []
    status = 0
    try:
        for case in (bar := tqdm(dict.fromkeys(cases), unit="size", disable=None, file=sys.stderr)):
            bar.set_postfix_str(str(case))
            found.append(tuning.tune_case(case, exact=exact, repeats=repeats))
            if not dry_run:
                tuning.keep(found[-1])
    except KeyboardInterrupt:
        kept = "nothing is stored" if dry_run else "what was found before is kept"
        print(f"forgekit: interrupted; {kept}", file=sys.stderr)
        status = 130
    finally:
        print("\n".join(report(found)))
    return status or int(any(one.left_out for one in found))


def _check_device_and_folder(*, store: bool) -> None:
    """Refuses first what should not come out at the end."""
    from forgekit.devices import current_target
    from forgekit.ops import tuned

    target = current_target()
    if target.kind != "gpu":
        needed, remedy = "a GPU, as it goes by times", "run it on such a machine"
        raise PlatformError(got_needed("forgekit tune", target.name, needed, remedy))
    if store:
        tuned.file_to_keep(target.name)


# -- what is printed ------------------------------------------------------------------------------
def report(found: Sequence[Tuning]) -> list[str]:
    """A table of all sizes that were measured, and below it what was not, and why."""
    rows = [_row(one) for one in found if not one.left_out]
    heads = ("", "table's choice", "µs", "best", "µs", "gain")
    lines = Table(heads, rows, left=(0, 1, 3)).lines() if rows else ["nothing was measured"]
    lines += [f"{one.case}: not measured: {one.left_out}" for one in found if one.left_out]
    for one in found:
        dropped = one.dropped.items()
        lines += [f"{one.case}: dropped {in_words(choice)}: {why}" for choice, why in dropped]
    return lines


def _row(one: Tuning) -> tuple[str, ...]:
    tried = len(one.times) + len(one.dropped)
    table_ms = one.times[one.table].median_ms
    start = (f"{one.case}, {tried} tried", in_words(one.table), f"{1e3 * table_ms:.1f}")
    if one.best is None:
        return *start, "stays", "", ""
    best_ms = one.times[one.best].median_ms
    gain = f"{100 * (1 - best_ms / table_ms):.1f} %"
    return *start, in_words(one.best), f"{1e3 * best_ms:.1f}", gain


def in_words(choice: RowChoice) -> str:
    """A configuration in a few words, such as `shared 192 threads, 6 loads, cluster of 2`."""
    c = choice
    words = [f"{c.kernel} {c.threads} threads", plural(c.loads, "load")]
    words += [f"{c.rows} rows"] * (c.rows > 1) + [f"cluster of {c.cluster}"] * (c.cluster > 1)
    words += [f"{c.turns} in turn"] * (c.turns > 1)
    return ", ".join(words + [f"{c.split} parts"] * (c.split > 1))
