"""Test the exercise cells in a notebook's .py file: how they are filled, reported as out of date,
or rejected."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

from forgekit.commands.build_notebooks import find_pairs
from forgekit.course import find_course
from forgekit.errors import UsageError
from forgekit.lessons import notebook_cells
from forgekit.lessons.exercise import exercise
from forgekit.lessons.notebook_cells import PARTS, filled, first_stale
from forgekit.lessons.wrong import alternatives

HEADER = """# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

"""


def cell(name: str, part: str) -> str:
    kind = " [markdown]" if part in ("task", "solution") else ""
    return f'# %%{kind} exercise="{name}" part="{part}"\n'


def empty(*names: str) -> str:
    """Return the text of a notebook with empty cells for these exercises, between other cells."""
    cells = ["".join(cell(name, part) for part in PARTS) for name in names]
    between = "# %%\nprint('between')\n"
    return HEADER + "# %% [markdown]\n# # Title\n" + between.join(cells) + "# %%\nlast = 1\n"


def test_empty_cells_are_filled_and_filling_twice_changes_nothing():
    text = empty("week0/scale", "week0/rotate")
    assert first_stale(text) == "the task of exercise week0/scale is out of date"
    once = filled(text)
    assert filled(once) == once and first_stale(once) is None
    for name in ("week0/scale", "week0/rotate"):
        assert exercise(name).source.skeleton in once
        assert f'fk.exercise("{name}").grade({exercise(name).entry})\n' in once
    assert "### Exercise 1: scale a vector" in once and "### Exercise 2: fix a race" in once
    assert "# %%\nprint('between')\n" in once and once.endswith("# %%\nlast = 1\n")


@pytest.mark.parametrize(
    "names",
    [("week0/scale",), ("week0/offsets_by_hand", "week0/rotate"), ("week0/mirror_rows",)],
)
def test_what_is_filled_is_formatted_and_valid(names, tmp_path):
    file = tmp_path / "notebook.py"
    file.write_text(filled(empty(*names)).replace("'between'", '"between"'), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "format", "--check", "--isolated", "--line-length=100", str(file)],
                   check=True, capture_output=True)  # fmt: skip
    lint = [*ruff, "check", "--isolated", "--line-length=100", "--select=E501,W"]
    subprocess.run([*lint, str(file)], check=True, capture_output=True)
    notebook = jupytext.read(file, fmt="py:percent")
    ours = [c for c in notebook.cells if "exercise" in c.metadata]
    assert [c.metadata["part"] for c in ours] == list(PARTS) * len(names)
    for found, name in zip(ours[1::4], names, strict=True):
        assert found.source + "\n" == exercise(name).source.skeleton
    assert ours[0].source.count("<details><summary>Hint") == 3


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("mY[i] = mX[i]\n", "mY[i] = 3.0 * mX[i] + 1.0\n", "skeleton"),  # a solved exercise
        ("scale a vector", "scale the vector", "task"),
        (".grade(scale)", ".grade(guarded_copy)", "grade"),
        ("rounds once", "rounds twice", "solution"),
    ],
)
def test_a_cell_that_was_edited_is_stale_and_comes_back(old, new, part):
    good = filled(empty("week0/scale"))
    assert good.count(old) == 1
    edited = good.replace(old, new)
    assert first_stale(edited) == f"the {part} of exercise week0/scale is out of date"
    assert filled(edited) == good


def test_other_cells_may_stand_between_the_parts():
    text = empty("week0/scale")
    grade = cell("week0/scale", "grade")
    once = filled(text.replace(grade, "# %%\nlook = 1\n\n" + grade))
    assert "# %%\nlook = 1\n" in once and first_stale(once) is None


def test_a_notebook_without_exercises_stays_as_it_is():
    text = HEADER + "# %%\nx = 1\n"
    assert filled(text) == text and first_stale(text) is None


TASK, SKELETON, GRADE, SOLUTION = (cell("week0/scale", part) for part in PARTS)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (SKELETON + TASK + GRADE + SOLUTION, "cells of week0/scale: got"),
        (TASK + SKELETON + GRADE, "write its four cells in this order"),
        (TASK + SKELETON + SKELETON + GRADE + SOLUTION, "write its four cells in this order"),
        (TASK.replace(" [markdown]", ""), "needed a [markdown] cell"),
        (SKELETON.replace("# %%", "# %% [markdown]"), "needed a code cell"),
        (TASK.replace("task", "text"), "part of week0/scale: got 'text'"),
        (TASK.replace("scale", "scales"), "did you mean 'week0/scale'"),
    ],
)
def test_cells_that_are_not_the_four_parts_are_refused(cells, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        filled(HEADER + cells)
    with pytest.raises(UsageError, match=re.escape(says)):
        first_stale(HEADER + cells)


def test_long_lines_are_broken_but_not_those_of_code_and_tables(monkeypatch):
    long = "word " * 30
    table = "| " + long + "|\n|---|"
    code = "```python\n" + long + "\n\n" + long + "\n```"
    minus = "word " * 19 + "and - a minus that would begin a list, were the line broken before it"
    hints = (long, table, "short")
    e = replace(exercise("week0/scale"), task=f"{long}\n\n{code}\n\n{long}\n\n{minus}", hints=hints)
    monkeypatch.setattr(notebook_cells, "exercise", lambda name: e)
    text = filled(empty("week0/scale"))
    lines = text.splitlines()
    assert max(len(x) for x in lines if "word" in x and "|" not in x) > 100
    assert sum(len(x) > 100 for x in lines) == 3  # two lines of code, one line of the table
    assert f"# | {long}|" in lines and f"# {long}".rstrip() in lines
    assert "word\n# and - a minus" in text
    assert first_stale(text) is None


def names_of(source: str) -> tuple[set[str], set[str]]:
    """Return the names that Python code binds, and the names that it uses."""
    bound, used = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound.update((a.asname or a.name).partition(".")[0] for a in node.names)
    return bound, used


def not_known(notebook: str) -> dict[str, set[str]]:
    """Map each exercise in a notebook's .py file to the names that its solution uses but that no
    earlier cell binds."""
    known, found = set(dir(builtins)), {}
    for cell in jupytext.reads(notebook, fmt="py:percent").cells:
        if cell.cell_type != "code":
            continue
        if cell.metadata.get("part") == "skeleton":
            name = cell.metadata["exercise"]
            bound, used = names_of(exercise(name).source.solution)
            if missing := used - bound - known:
                found[name] = missing
        known |= names_of(cell.source)[0]
    return found


@pytest.mark.parametrize(
    "path",
    sorted(find_course().glob("week*/*.py")),
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_solutions_find_their_names_in_their_notebook(path):
    assert not_known(path.read_text(encoding="utf-8")) == {}


def test_a_solution_without_its_import_is_found():
    text = HEADER + "# %%\nimport cutlass.cute as cute\n" + cell("week1/warp_argmax", "skeleton")
    assert "Int32" in not_known(text)["week1/warp_argmax"]


def notebooks() -> Iterator[object]:
    """Yield each notebook with exercises; mark all but the first of each week as weekly."""
    seen: set[Path] = set()
    for path in find_pairs():
        if 'part="skeleton"' in path.read_text(encoding="utf-8"):
            marks = pytest.mark.weekly if path.parent in seen else ()
            yield pytest.param(path.resolve(), id=path.stem, marks=marks)
            seen.add(path.parent)


def other_solutions(name: str) -> dict[str, str]:
    """Map labels to the code of an exercise's alternative solutions."""
    e = exercise(name)
    return {f"{name}, {other.name}": other.of(e.source.solution) for other in alternatives(e)}


@pytest.mark.parametrize("source", list(notebooks()))
def test_alternatives_and_folded_solutions_pass_in_their_notebook(source, monkeypatch):
    monkeypatch.setenv("FORGEKIT_PROGRESS", "off")
    notebook = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    folded = {}
    for c in notebook.cells:
        if c.metadata.get("part") == "solution":
            folded[c.metadata["exercise"]] = re.findall(r"```python\n(.*?)```", c.source, re.S)[0]
    cells = []
    for c in notebook.cells:
        name, part = (c.metadata.get(key, "") for key in ("exercise", "part"))
        if part == "skeleton":
            for label, code in other_solutions(name).items():  # inserted before the solution
                grade = f'fk.exercise("{name}").grade({exercise(name).entry})'
                cells.append(nbformat.v4.new_code_cell(code))
                cells.append(nbformat.v4.new_code_cell(grade, metadata={"graded": label}))
            c.source = folded[name]
        elif part == "grade":
            c.metadata["graded"] = name
        cells.append(c)
    notebook.cells = cells
    place = {"metadata": {"path": str(source.parent)}}
    NotebookClient(notebook, timeout=300, allow_errors=True, resources=place).execute()
    shown = {x: str(c.outputs) for c in cells if (x := c.metadata.get("graded"))}
    assert {x: text for x, text in shown.items() if f"PASSED  {x.split(',')[0]}:" not in text} == {}
