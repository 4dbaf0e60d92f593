"""The reference's examples give what stands below them."""

from __future__ import annotations

import ast
import doctest
import importlib.util
from pathlib import Path

import pytest
import torch
from forgebook import reference

import forgekit as fk
from forgekit.profiling import predictions
from tests.book.conftest import ROOT

KERNEL = ROOT / "book" / "examples" / "kernel.py"


def test_the_examples_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order and in one namespace, as if typed one after another."""
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
