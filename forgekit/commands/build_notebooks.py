"""`forgekit build-notebooks`: build .ipynb files, with outputs, from their .py sources."""

from __future__ import annotations

import difflib
import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from forgekit.commands.notebook_outputs import comparable, execute, normalise
from forgekit.commands.options import Command
from forgekit.course import find_course, week_folders
from forgekit.errors import ForgekitError, PlatformError, UsageError, as_typed

HEADER = "# ---\n# jupyter:\n"  # the first lines of every percent-format notebook
METADATA = {
    "jupytext": {"formats": "ipynb,py:percent"},
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@click.command(cls=Command)
@click.argument("paths", nargs=-1)
@click.option("--check", is_flag=True, help="only compare each .py with its .ipynb; run nothing")
@click.option("--nbgrader", type=Path, metavar="FOLDER",
              help="only write nbgrader assignments to this folder")  # fmt: skip
def build_notebooks(paths: tuple[str, ...], check: bool, nbgrader: Path | None) -> int:
    """Build .ipynb files, with outputs, from the .py files with the same names.

    PATHS are notebooks or folders; default: all weeks.
    """
    pairs = find_pairs(paths)
    if nbgrader:
        from forgekit.lessons.classroom.nbgrader import write_assignments

        names = write_assignments([pair.with_suffix(".ipynb") for pair in pairs], nbgrader)
        print(f"{len(names)} assignments in {nbgrader / 'source'}: {', '.join(names)}")
        return 0
    if check:
        differences = [text for text in map(first_difference, pairs) if text]
        for text in differences:
            print(as_typed(f"forgekit: {text}"))
        print(f"{len(pairs)} notebook pairs compared, {len(differences)} differ")
        return 1 if differences else 0
    for source in pairs:
        start = time.perf_counter()
        changed = build(source)
        elapsed_s = time.perf_counter() - start
        print(f"{source}: {'built' if changed else 'unchanged'} ({elapsed_s:.1f} s)")
    return 0


def _tools() -> tuple[Any, Any]:
    """Import jupytext and nbformat, which the course requires but forgekit alone does not."""
    try:
        import jupytext
        import nbformat
    except ImportError as error:
        raise PlatformError(
            f"notebooks cannot be built without {error.name}; run `uv run forgekit "
            "build-notebooks` in the course folder, or `pip install jupytext nbclient` elsewhere"
        ) from error
    return jupytext, nbformat


def _is_notebook_source(path: Path) -> bool:
    return path.suffix == ".py" and path.read_text(encoding="utf-8").startswith(HEADER)


def _notebooks_below(folder: Path) -> Iterator[Path]:
    """Yield each .py file in a folder that is a notebook, and the path of the .py source for each
    .ipynb."""
    for path in folder.rglob("*"):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        if path.suffix == ".ipynb":
            yield path.with_suffix(".py")
        elif path.suffix == ".py" and _is_notebook_source(path):
            yield path


def find_pairs(paths: Iterable[str | Path] = ()) -> list[Path]:
    """Return the sorted .py files of the notebooks in `paths`: folders, .py files and .ipynb files.

    If `paths` is empty, return the .py files of all weeks. Raise UsageError for a file that is not
    a notebook.
    """
    wanted = [Path(path) for path in paths]
    if not wanted:
        course = find_course()
        if course is None:
            raise UsageError(
                "no course folder found here or in the folders above; name notebooks or folders"
            )
        wanted = list(week_folders(course))
    found: set[Path] = set()
    for path in wanted:
        if path.is_dir():
            found.update(_notebooks_below(path))
        elif path.suffix == ".ipynb":
            found.add(path.with_suffix(".py"))
        elif path.is_file() and _is_notebook_source(path):
            found.add(path)
        else:
            raise UsageError(
                f"got {path}; needed a folder, an .ipynb file, or a .py file in percent format "
                f"that begins with the header {HEADER.splitlines()[1]!r}"
            )
    return sorted(Path(os.path.relpath(path)) for path in found)  # relative to the current folder


def _missing_source(source: Path) -> str | None:
    if source.is_file():
        return None
    built = source.with_suffix(".ipynb")
    return (
        f"{built} lacks its source {source.name}; create it with `jupytext --set-formats "
        f"ipynb,py:percent {built}`"
    )


def _read_source(source: Path) -> Any:
    """Return the notebook in a .py file, without outputs."""
    jupytext, nbformat = _tools()
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata.pop("lines_to_next_cell", None)  # a property of the .py file only
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def _new_id(cell: Any, taken: set[str]) -> str:
    """Return an ID computed from the cell's content, so that all machines compute the same ID."""
    salt = 0
    while True:
        text = f"{cell.cell_type}\n{cell.source}\n{salt}"
        name = hashlib.sha256(text.encode()).hexdigest()[:8]
        if name not in taken:
            return name
        salt += 1


def _give_ids(cells: list[Any], old_cells: list[Any]) -> None:
    """Copy the IDs of unchanged and edited cells from the built notebook; compute IDs for new
    cells."""
    old_keys = [(cell.cell_type, cell.source) for cell in old_cells]
    new_keys = [(cell.cell_type, cell.source) for cell in cells]
    ids: dict[int, str] = {}
    matcher = difflib.SequenceMatcher(None, old_keys, new_keys, autojunk=False)
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind in ("equal", "replace"):
            for old, new in zip(range(old_from, old_to), range(new_from, new_to), strict=False):
                ids[new] = old_cells[old].id
    taken = set(ids.values())
    for position, cell in enumerate(cells):
        cell.id = ids.get(position) or _new_id(cell, taken)
        taken.add(cell.id)


def build(source: Path) -> bool:
    """Execute the notebook in the file `source` and write its .ipynb file; return True if that file
    changed.

    Outputs that differ from the stored outputs only in timings are not replaced, so a second build
    changes nothing. Raise ForgekitError, without writing a file, if a cell fails.
    """
    from forgekit.lessons.notebook_cells import filled

    _, nbformat = _tools()
    if problem := _missing_source(source):
        raise ForgekitError(problem)
    text = source.read_text(encoding="utf-8")
    if (new := filled(text)) != text:  # an exercise has changed since its cells were generated
        source.write_text(new, encoding="utf-8")
    notebook = _read_source(source)
    built = source.with_suffix(".ipynb")
    before = built.read_text(encoding="utf-8") if built.is_file() else None
    old_cells = nbformat.reads(before, as_version=4).cells if before else []
    _give_ids(notebook.cells, old_cells)
    execute(notebook, source)

    course = find_course(source.parent) or source.resolve().parent
    old_code = {cell.id: cell for cell in old_cells if cell.cell_type == "code"}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs = normalise(cell.outputs, course)
        old = old_code.get(cell.id)
        if old and comparable(old.outputs, course) == comparable(cell.outputs, course):
            cell.outputs = old.outputs
    notebook.metadata = nbformat.from_dict(METADATA)  # omits the kernel's version
    text = nbformat.writes(notebook).rstrip("\n") + "\n"
    if text == before:
        return False
    built.write_text(text, encoding="utf-8")
    return True


def first_difference(source: Path) -> str | None:
    """Describe the first difference between a .py file and its .ipynb file, or return None. Compare
    the cells' types, texts and tags, and check that the stored outputs come from a run from top to
    bottom. Execute no cells."""
    from forgekit.lessons.notebook_cells import first_stale

    _, nbformat = _tools()
    if problem := _missing_source(source):
        return problem
    if stale := first_stale(source.read_text(encoding="utf-8")):
        return f"{source}: {stale}; rebuild it with `forgekit build-notebooks {source}`"
    built = source.with_suffix(".ipynb")
    if not built.is_file():
        return f"{source} has no {built.name}; build it with `forgekit build-notebooks {source}`"
    wanted = _read_source(source).cells
    stored = nbformat.read(built, as_version=4).cells
    remedy = (
        f"rebuild it with `forgekit build-notebooks {source}` (if the .ipynb has the newer text, "
        f"first run `jupytext --sync {built}`)"
    )
    runs = 0
    for number, (want, have) in enumerate(zip(wanted, stored, strict=False), start=1):
        for what, left, right in (
            ("kind", want.cell_type, have.cell_type),
            ("text", want.source, have.source),
            ("tags", want.metadata.get("tags", []), have.metadata.get("tags", [])),
        ):
            if left != right:
                return f"{built}, cell {number}: {what} differs\n{_both(left, right)}\n{remedy}"
        if have.cell_type == "code" and have.source.strip():
            runs += 1
            if have.execution_count != runs:
                return f"{built}, cell {number}: not run in order from a fresh kernel\n{remedy}"
    if len(wanted) != len(stored):
        return f"{built}: {len(wanted)} cells in the .py, but {len(stored)} in the .ipynb\n{remedy}"
    return None


def _both(left: Any, right: Any) -> str:
    """Return the first line in which two texts differ, from the .py file and, below it, from the
    .ipynb file."""
    lefts, rights = str(left).splitlines(), str(right).splitlines()
    pairs = zip([*lefts, "(nothing)"], [*rights, "(nothing)"], strict=False)
    here, there = next(((a, b) for a, b in pairs if a != b), (left, right))
    return f"    .py:    {here}\n    .ipynb: {there}"
