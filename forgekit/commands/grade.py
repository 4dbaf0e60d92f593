"""`forgekit grade`: run a class's notebooks in sandboxes, and grade them in separate processes."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forgekit import course
from forgekit.commands.options import AtLeast, Command
from forgekit.errors import PlatformError, got_needed, usage_error

if TYPE_CHECKING:
    from forgekit.lessons.classroom.results import ClassReport
    from forgekit.lessons.classroom.running import Piece, Verdicts

_PAGE = "book/classroom.md"


@click.command(cls=Command, short_help="Grade the notebooks of a class in sandboxes")
@click.argument("submissions", nargs=-1)
@click.option("--out", type=Path, default=Path("grades"),
              help="folder for the results; default: grades")  # fmt: skip
@click.option("--again", is_flag=True, help="also regrade notebooks that have not changed")
@click.option(
    "--cores", type=AtLeast(1), help="number of notebooks graded in parallel; default: all cores"
)
@click.option("--scheduler", help="distribute the notebooks with Dask: local:2, or tcp://host:8786")
@click.option("--seconds", type=AtLeast(1), default=120, help="time limit per cell; default: 120")
@click.option(
    "--seed",
    type=AtLeast(0),
    help="seed of the kernels' input values; default: a new secret seed, stored in results.json",
)
@click.option("--best", is_flag=True, help="count the best result of each exercise, not the latest")
@click.option(
    "--roster", type=Path, help="a CSV file of all students; each gets a row in the results"
)
@click.option("--exit-code", is_flag=True, help="exit with status 1 unless all exercises passed")
@click.option(
    "--no-sandbox",
    is_flag=True,
    help="use no sandbox; only for notebooks that you would run with your full permissions",
)
def grade(submissions: tuple[str, ...], out: Path, again: bool, cores: int | None,
          scheduler: str | None, seconds: int, seed: int | None, best: bool,
          roster: Path | None, exit_code: bool, no_sandbox: bool) -> int:  # fmt: skip
    """Run each notebook in a sandbox, grade its exercises in a separate process, and write tables,
    one page per student, and a picture of the class.

    SUBMISSIONS are notebooks, or folders with one folder per student (nbgrader's `submitted`).
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # run kernels only on the virtual GPU
    from forgekit.lessons.classroom.found import find_submissions
    from forgekit.lessons.classroom.marks import REVIEW, read_marks, read_roster
    from forgekit.lessons.classroom.pages import write_all
    from forgekit.lessons.classroom.results import ClassReport
    from forgekit.lessons.classroom.rows import Row, Verdict, one_line, store, stored
    from forgekit.lessons.classroom.sandbox import Limits, available

    if not submissions:
        raise usage_error("grade", "nothing", "notebooks or folders", "name the students' folders")
    marks = read_marks(out / REVIEW)
    if scheduler:
        from forgekit.benching.suites.spread import check_scheduler

        check_scheduler(scheduler)
    if not no_sandbox and (why := available()):
        remedy = (
            f"allow unprivileged user namespaces ({_PAGE} explains this for containers), or, for "
            "notebooks that you trust, add --no-sandbox"
        )
        raise PlatformError(got_needed("the sandbox", why, "Linux namespaces", remedy))
    found, notes = find_submissions(submissions, best=best)
    print(*(f"forgekit: {one_line(note)}\n" for note in notes), sep="", end="", file=sys.stderr)
    listed = None if roster is None else read_roster(roster, (one_line(h.student) for h in found))
    drawn = secrets.randbits(52) if seed is None else seed
    found = [replace(h, seed=drawn) for h in found]
    limits = Limits(seconds=seconds, sandbox=not no_sandbox)
    graders = _digest_of_graders()
    keys = [hashlib.sha256(graders + h.digest.encode()).hexdigest()[:24] for h in found]
    known = {(r.student, r.notebook, r.key): r for r in stored(out)
             if r.settled and seed in (None, r.seed)}  # fmt: skip
    rows = [
        Row(h.student, h.name, key, h.problem) if h.problem
        else known.get((one_line(h.student), one_line(h.name), key))
        for h, key in zip(found, keys, strict=True)
    ]  # fmt: skip
    todo = [k for k, row in enumerate(rows) if row is None or (again and not row.problem)]
    left = set(todo)
    try:
        for index, said in _graded([(found[k], limits) for k in todo], cores, scheduler):
            k = todo[index]
            h, verdicts = found[k], [Verdict(**v) for v in said]
            rows[k] = row = Row(h.student, h.name, keys[k], "", verdicts, h.seed)
            store(out, row)
            left.discard(k)
    except KeyboardInterrupt:
        pass  # an unchanged notebook may have a row from an earlier run
    now = [replace(row, handed_in=list(h.handed_in))
           for row, h in zip(rows, found, strict=True) if row is not None]  # fmt: skip
    report = ClassReport(now, listed, marks, best)
    write_all(report, out)
    _say(report, out, sum(not h.problem for h in found) - len(todo), len(left))
    return 130 if left else int(exit_code and not report.all_passed)


def _graded(
    pieces: list[Piece], cores: int | None, scheduler: str | None
) -> Iterable[tuple[int, Verdicts]]:
    """Grade the notebooks; yield the index and verdicts of each as they arrive, and show a progress
    bar."""
    from tqdm import tqdm

    from forgekit.lessons.classroom import running

    if not pieces:
        return
    if scheduler is None:
        outcomes = running.on_cores(pieces, workers=cores or len(os.sched_getaffinity(0)))
    else:
        from forgekit.benching.suites.spread import spread

        outcomes = spread(running.judged, pieces, scheduler=scheduler, failed=running.failed)
    yield from tqdm(outcomes, total=len(pieces), unit="notebook", disable=None, file=sys.stderr)


def _digest_of_graders() -> bytes:
    """Return a digest of forgekit and the exercises. If it changes, stored rows are invalid."""
    folders = {folder.parent for folder in course.exercise_folders().values()}
    folders.add(Path(__file__).resolve().parents[1])
    digest = hashlib.sha256()
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.digest()


def _say(report: ClassReport, out: Path, kept: int, left: int) -> None:
    print("\n".join([report.headline, "", *report.lines(), "", *report.remarks]))
    if count := sum(v.verdict == "review" for s in report.students for v in s.verdicts.values()):
        print(f"{count} to review: enter your decisions in {out / 'review.toml'} (see {_PAGE})")
    if kept:
        print(f"unchanged and not graded again: {kept}; --again regrades all notebooks")
    if left:
        print(f"interrupted: {left} not graded; run the same command to continue")
    print(
        f"{out / 'index.html'} shows the class; results.csv, .json and .md are in the same folder"
    )
