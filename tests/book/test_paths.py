"""Test that files named in backticks on the pages exist."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest

from tests.book.conftest import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md",
         *(f"{p.parent.name}/{p.name}" for p in ROOT.glob("[bw]*/*.md"))]  # fmt: skip
FOLDERS = ("forgekit", "book", "tests", "week*", ".ci", ".github")
NAMED = re.compile(r"`((?:\.ci|\.github|\w[\w.*-]*)(?:/[\w.*-]+)*/?)`")
ENDINGS = (".py", ".ipynb", ".json", ".md", ".svg", ".toml", ".yml")
ELSEWHERE = (
    "NN_",
    "NAME",
    "_build/",
    "source/",
    "results.json",
)  # parts of generated names, and placeholders


def known() -> set[str]:
    """Return all ends of the paths of files and folders (`c.py`, `b/c.py`, `a/b/c.py`), and the
    names of exercises.
    """
    there = [p for folder in FOLDERS for top in ROOT.glob(folder) for p in (top, *top.rglob("*"))]
    found = set()
    for path in [*there, *ROOT.glob("*.*")]:
        parts = path.relative_to(ROOT).parts
        found |= {"/".join(parts[k:]) for k in range(len(parts)) if "_build" not in parts}
    exercises = ROOT.glob("week*/exercises/*")
    return found | {f"{p.parts[-3].partition('_')[0]}/{p.name}" for p in exercises}


@pytest.fixture(scope="module")
def there() -> set[str]:
    return known()


@pytest.mark.parametrize("page", PAGES)
def test_they_are_there(page: str, there: set[str]) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text("utf-8"), flags=re.M | re.S)
    named = {name.rstrip("/") for name in NAMED.findall(text) if "/" in name}
    named |= {name for name in NAMED.findall(text) if name.endswith(ENDINGS)}
    missing = [
        name
        for name in sorted(named)
        if not any(part in name for part in ELSEWHERE)
        and not {name, f"{name}.py", f"{name}.ipynb"} & there
        and not ("*" in name and fnmatch.filter(there, name))
    ]
    assert missing == []


def test_a_file_that_is_not_there_is_noticed(there: set[str]) -> None:
    assert NAMED.findall("`forgekit/notebook_outputs.py`") == ["forgekit/notebook_outputs.py"]
    assert "forgekit/notebook_outputs.py" not in there
    assert {"forgekit/commands/notebook_outputs.py", "vgpu/machine/machine.py", ".ci/run"} <= there
    assert Path(__file__).name in there
