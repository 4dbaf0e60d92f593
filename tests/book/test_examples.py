"""Test that the reference's examples print the text below them, and that code on the weeks' pages
gives the stated results.
"""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
from pathlib import Path
from typing import Any

import cutlass
import cutlass.cute as cute
import pytest
import torch
from forgebook import reference

import forgekit as fk
from forgekit.lessons.wrong import wrong_solutions
from forgekit.profiling import predictions
from tests.book.conftest import ROOT
from tests.lessons.submitted import load

KERNEL = ROOT / "book" / "examples" / "kernel.py"


def test_the_examples_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples run in order and in one namespace, as if typed one after another."""
    monkeypatch.setenv("FORGEKIT_PROGRESS", str(tmp_path))
    monkeypatch.setattr(predictions, "_answered", {})
    spec = importlib.util.spec_from_file_location("example_kernel", KERNEL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    text = "\n\n".join(reference.examples().values())
    with fk.use_target("virtual"):
        spec.loader.exec_module(module)
        names = {**vars(module), "torch": torch}
        test = doctest.DocTestParser().get_doctest(text, names, "examples.md", None, 0)
        said: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


def test_every_function_has_one() -> None:
    found = reference.items("forgekit")
    functions = {item.name for item in found if isinstance(item.node, ast.FunctionDef)}
    assert functions <= set(reference.examples()) <= {item.name for item in found}
    assert "Layout" in reference.examples()


def test_an_example_on_the_page_has_nothing_of_doctest() -> None:
    shown = reference._example("use_target") + reference._example("progress")
    assert "BLANKLINE" not in shown and "\n…\n" in shown and "0 of … exercises" in shown
    assert "\n...     print(" in shown


# -- suggestions on the pages of weeks 1 and 2 ---------------------------------------------
def tried(week: str) -> Any:
    """Run the code on a week's page on the virtual GPU; return the value of its last line."""
    (code,) = re.findall(
        r"^```python\n(.+?)^```", (ROOT / week / "README.md").read_text("utf-8"), re.M | re.S
    )
    *lines, last = code.splitlines()
    names: dict[str, Any] = {}
    with fk.use_target("virtual", arch="sm_90a"):
        exec("\n".join(lines), names)
        return eval(last, names)


@pytest.mark.parametrize(
    ("week", "times", "few", "many", "share"),
    [
        ("week1_reduce", {"naive": 8, "smem": 1, "shuffle": 1}, "vectorized", "shuffle", 0.37),
        ("week2_softmax", {"three_pass": 2, "two_pass": 1.5, "online": 1}, "vectorized", "online",
         0.43),
    ],
)  # fmt: skip
def test_it_counts_what_the_page_says(
    week: str, times: dict[str, float], few: str, many: str, share: float
) -> None:
    found = tried(week)
    assert found.failed == {}
    for name, wanted in times.items():
        moved = found[name].counters.global_bytes
        assert moved / found.moved_bytes == pytest.approx(wanted, rel=0.01)
    fewer, more = (found[name].counters.thread_instructions for name in (few, many))
    assert fewer / more == pytest.approx(share, abs=0.005)


# -- the steps from a failing grade to the fix --------------------------------------------------
@pytest.mark.parametrize(
    ("week", "name", "mistake"),
    [
        ("week1_reduce", "week1/two_rows", "tree inside the predicate"),
        ("week2_softmax", "week2/confidence", "no guard"),
    ],
)
def test_a_week_shows_a_grade(
    week: str, name: str, mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGEKIT_PROGRESS", "off")
    e = fk.exercise(name)
    (wrong,) = (w for w in wrong_solutions(e) if w.name == mistake)
    known = " ".join(repr(e.grade(load(e, wrong.of(e.source.solution)))).split())
    page = (ROOT / week / "README.md").read_text("utf-8")
    shown = re.findall(r"^```text\n(NOT YET.+?)^```", page, re.M | re.S)[0].splitlines()
    lines = [" ".join(line.split()) for line in shown if "…" not in line]
    assert len(lines) > 5 and [line for line in lines if line not in known] == []


def test_week_0_shows_the_output_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGEKIT_PROGRESS", "off")
    e = fk.exercise("week0/lower_triangle")
    (down,) = (w for w in wrong_solutions(e) if w.name == "by columns")
    printed: list[object] = []
    for name, text in (("cell", down.of(e.source.solution)), ("fixed", e.source.solution)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        vars(module).update(cutlass=cutlass, cute=cute)  # in a notebook, another cell imports them
        spec.loader.exec_module(module)
        printed.append(e.grade(module.lower_triangle))
        if name == "cell":
            printed += [fk.coalescing(*e.failed, kind="load"), fk.profile(*e.failed)]
    known = " ".join("\n".join(map(repr, printed)).replace("cell.py", "cell [2]").split())
    page = (ROOT / "week0_copy_transpose" / "README.md").read_text("utf-8")
    shown = "".join(re.findall(r"^```text\n(.+?)^```", page, re.M | re.S)).splitlines()
    assert len(shown) > 15
    assert [line for line in shown if " ".join(line.split()) not in known] == []
