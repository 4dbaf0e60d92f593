"""Test notebook pairs: comparison, repeated builds, failing cells, and changes that nbval
detects."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest

from forgekit.commands import build_notebooks as notebooks
from forgekit.commands.cli import main
from forgekit.commands.notebook_outputs import comparable, normalise
from forgekit.errors import ForgekitError, UsageError

ROOT = Path(__file__).resolve().parents[2]
HEAD = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

"""
LESSON = """\
# %% [markdown]
# # A lesson

# %%
import os, time, warnings

warnings.warn("of this machine only")
print(os.environ["FORGEKIT_DEVICE"], f"{time.perf_counter():.6f} s", print)
print(os.path.abspath("here"))

# %%
os.system("echo printed by C")
time.sleep(0.3)  # Jupyter reads that in a thread of its own


# %%
def show():
    return (lambda: 0).__code__.co_filename


show()

# %% tags=["raises-exception"]
1 / 0
"""


def write_pair(folder: Path, text: str, name: str = "00_lesson") -> Path:
    source = folder / f"{name}.py"
    source.write_text(HEAD + text)
    return source


def cells(source: Path) -> list:
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4).cells


@pytest.fixture(scope="module")
def lesson(tmp_path_factory) -> Path:
    """Return a built pair; tests that change it work on a copy."""
    source = write_pair(tmp_path_factory.mktemp("course"), LESSON)
    assert notebooks.build(source)
    return source


@pytest.fixture
def copy(lesson, tmp_path) -> Path:
    for file in (lesson, lesson.with_suffix(".ipynb")):
        shutil.copy(file, tmp_path)
    return tmp_path / lesson.name


def test_all_pairs_of_the_course_match():
    problems = [notebooks.first_difference(source) for source in notebooks.find_pairs()]
    assert not [problem for problem in problems if problem]


def test_a_built_notebook_holds_nothing_of_this_machine(lesson):
    code = [cell for cell in cells(lesson) if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4]
    printed = code[0].outputs[0].text
    assert printed.startswith("virtual ")
    assert printed.endswith("here\n")
    assert all(output.get("name") != "stderr" for output in code[0].outputs)
    assert code[1].outputs[0].text == "printed by C\n"
    assert code[2].outputs[0].data["text/plain"].startswith("'/tmp/ipykernel_0/")
    assert code[3].outputs[0].ename == "ZeroDivisionError"
    text = lesson.with_suffix(".ipynb").read_text()
    assert str(lesson.parent) not in text
    assert str(ROOT) not in text
    assert "lines_to_next_cell" not in text
    metadata = nbformat.read(lesson.with_suffix(".ipynb"), as_version=4).metadata
    assert metadata == notebooks.METADATA


def test_a_second_build_changes_nothing(copy):
    before = copy.with_suffix(".ipynb").read_bytes()
    assert main(["build-notebooks", str(copy)]) == 0
    assert copy.with_suffix(".ipynb").read_bytes() == before


PRINTED = nbformat.v4.new_output("stream", name="stdout", text="printed by C\n")
RESULT = nbformat.v4.new_output("execute_result", {"text/plain": "0"}, execution_count=1)
PICTURE = nbformat.v4.new_output("display_data", {"text/plain": "<Figure>"})


def test_text_that_the_pipe_brought_late_stands_before_the_result():
    late = nbformat.v4.new_output("stream", name="stdout", text="more\n")
    stored = normalise([PRINTED, RESULT, late], ROOT)
    assert [out.output_type for out in stored] == ["stream", "execute_result"]
    assert stored[0].text == "printed by C\nmore\n"


def test_the_order_of_text_and_pictures_is_not_compared():
    before, after = (comparable(outs, ROOT) for outs in ([PRINTED, PICTURE], [PICTURE, PRINTED]))
    assert before == after
    assert comparable([PICTURE], ROOT) != before


def test_ids_stay_when_cells_are_edited_added_and_moved(lesson):
    old = cells(lesson)
    edited = [nbformat.from_dict(dict(cell)) for cell in old]
    edited[0].source = "# Another title"
    edited.insert(1, nbformat.v4.new_markdown_cell("new"))
    notebooks._give_ids(edited, old)
    assert edited[0].id == old[0].id
    assert [cell.id for cell in edited[2:]] == [cell.id for cell in old[1:]]
    assert len({cell.id for cell in edited}) == len(edited)


def test_new_ids_depend_on_the_content_alone():
    first, second = ([nbformat.v4.new_code_cell("same") for _ in range(3)] for _ in range(2))
    notebooks._give_ids(first, [])
    notebooks._give_ids(second, [])
    assert [cell.id for cell in first] == [cell.id for cell in second]
    assert len({cell.id for cell in first}) == 3


def test_a_failing_cell_is_reported_and_nothing_written(tmp_path, capsys):
    source = write_pair(tmp_path, "# %%\nx = 1\n\n# %%\nx.no_such_thing\n")
    assert main(["build-notebooks", str(source)]) == 1
    error = capsys.readouterr().err
    assert "cell 2: AttributeError: 'int' object has no attribute 'no_such_thing'" in error
    assert "    x.no_such_thing" in error
    assert "Traceback" not in error
    assert not source.with_suffix(".ipynb").exists()


def test_a_cell_that_should_fail_and_does_not(tmp_path):
    source = write_pair(tmp_path, '# %% tags=["raises-exception"]\nx = 1\n')
    with pytest.raises(ForgekitError, match="cell 1: tagged raises-exception but raised"):
        notebooks.build(source)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("# A lesson", "# Another lesson", "cell 1: text differs\n    .py:    # Another lesson\n"),
        ("1 / 0", "2 / 0", "cell 5: text differs\n    .py:    2 / 0\n    .ipynb: 1 / 0\n"),
        (' tags=["raises-exception"]', "", "cell 5: tags differs"),
        ("# %% [markdown]\n# # A lesson", "# %%\n# A lesson", "cell 1: kind differs"),
        ("1 / 0", "1 / 0\n\n# %%\n3", "6 cells in the .py, but 5 in the .ipynb"),
    ],
)
def test_check_names_the_first_difference_and_the_remedy(copy, capsys, old, new, expected):
    assert notebooks.first_difference(copy) is None
    copy.write_text(copy.read_text().replace(old, new))
    assert main(["build-notebooks", "--check", str(copy)]) == 1
    out = capsys.readouterr().out
    assert expected in out
    assert "rebuild it with `forgekit build-notebooks" in out


def test_check_sees_cells_run_out_of_order(copy):
    notebook = nbformat.read(copy.with_suffix(".ipynb"), as_version=4)
    notebook.cells[2].execution_count = 7
    nbformat.write(notebook, copy.with_suffix(".ipynb"))
    assert "cell 3: not run in order" in notebooks.first_difference(copy)


def test_check_sees_a_missing_half(copy, tmp_path):
    copy.rename(tmp_path / "elsewhere.py")
    [orphan, other] = sorted(notebooks.find_pairs([tmp_path]))
    assert "lacks its source 00_lesson.py" in notebooks.first_difference(orphan)
    assert "has no elsewhere.ipynb" in notebooks.first_difference(other)


def test_what_is_no_notebook_is_refused(tmp_path):
    (tmp_path / "plain.py").write_text("x = 1\n")
    with pytest.raises(UsageError, match="percent format"):
        notebooks.find_pairs([tmp_path / "plain.py"])
    assert notebooks.find_pairs([tmp_path]) == []


def test_outputs_that_differ_only_in_timings_are_equal():
    def outputs(text):
        return [nbformat.v4.new_output("stream", name="stdout", text=text)]

    first, second = outputs("2 errors in 1.53 ms, 20 MB/s"), outputs("2 errors in 9 µs, 3.1 GB/s")
    assert comparable(first, ROOT) == comparable(second, ROOT)
    third = outputs("3 errors in 1.53 ms, 20 MB/s")
    assert comparable(first, ROOT) != comparable(third, ROOT)
    stored = normalise(outputs(f"{ROOT}/a.py at /tmp/ipykernel_77/12.py"), ROOT)
    assert stored == outputs("a.py at /tmp/ipykernel_0/12.py")
    assert normalise(stored, ROOT) == stored


def test_nbval_compares_outputs_and_overlooks_what_may_differ(lesson, tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    shutil.copy(lesson.with_suffix(".ipynb"), tmp_path / "same.ipynb")
    text = lesson.with_suffix(".ipynb").read_text()
    (tmp_path / "other.ipynb").write_text(text.replace("printed by C\\n", "printed by Z\\n"))
    environment = {key: text for key, text in os.environ.items() if "PYTEST" not in key}
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-n0", "-q"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    summary = textwrap.shorten(done.stdout.splitlines()[-1], 200)
    assert "1 failed, 7 passed" in summary, done.stdout
    assert "other.ipynb::Cell 1" in done.stdout
