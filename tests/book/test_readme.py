"""Test the README: its length, its recorded numbers, and its links and commands."""

from __future__ import annotations

import re

import make_readme
import pytest
from forgebook.course import anchor

from forgekit.commands.cli import COMMANDS
from forgekit.lessons.exercise import all_exercises
from tests.book.conftest import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = ROOT / "book" / "pictures"


def test_it_is_short() -> None:
    assert len(TEXT.splitlines()) <= 150


def test_its_numbers_are_the_recorded_ones() -> None:
    """If this test fails, run `uv run python book/make_readme.py` to write the numbers again."""
    for name, blocks in make_readme.FILES.items():
        text = (ROOT / name).read_text("utf-8")
        assert re.findall(r"<!-- numbers: (\w+) -->", text) == list(blocks)
        assert make_readme.filled(text, blocks) == text, name


def test_its_markers_break_no_paragraph() -> None:
    lines = ["", *TEXT.splitlines(), ""]
    marks = [k for k, line in enumerate(lines) if "<!--" in line]
    assert marks and not [lines[k] for k in marks if lines[k - 1] or lines[k + 1]]


@pytest.mark.parametrize("week", ["week0", "week1", "week2"])
def test_its_weeks_have_so_many_notebooks_and_exercises(week: str) -> None:
    text = " ".join(TEXT.split())
    said = re.search(
        rf"\({week}_\w+/\S+ \|[^|]+\| (\d+) notebooks, (\d+) exercises, (\d+) of them whole", text
    )
    exercises = [e for e in all_exercises() if e.week == week]
    whole = [e for e in exercises if e.is_whole_kernel]
    notebooks = list(ROOT.glob(f"{week}_*/[0-9]*.ipynb"))
    assert said and [int(n) for n in said.groups()] == [len(notebooks), len(exercises), len(whole)]


def test_what_you_can_do_now_is_what_the_exercises_ask_for() -> None:
    """Each link leads to the exercise with that name; those after "whole:" are whole kernels."""
    page = (ROOT / "book" / "what_you_can_do_now.md").read_text(encoding="utf-8")
    said = {
        (address, name): k == 1
        for line in page.splitlines()
        for k, part in enumerate(line.split("whole: "))
        for name, address in re.findall(r"\[`(\w+)`\]\(\.\./([^)]+)\)", part)
    }
    asked = {}
    for e in all_exercises():
        where = f"{e.folder.parents[1].name}/{e.notebook}.ipynb{'#' + anchor(e.name)}"
        asked[where, e.name.partition("/")[2]] = e.is_whole_kernel
    assert len(said) > 40 and said.items() <= asked.items(), said.items() - asked.items()


def test_a_changed_number_is_noticed() -> None:
    changed = re.sub(r"\d\.\d\d×", "9.99×", TEXT, count=1)
    assert changed != TEXT and make_readme.filled(changed) == TEXT


def test_a_block_that_nobody_writes() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        make_readme.filled("<!-- numbers: nonsense -->\n<!-- /numbers -->")


def test_its_links_and_pictures_are_there() -> None:
    found = re.findall(r'\]\(([^)#]+)|(?:src|srcset)="([^"]+)"', TEXT)
    names = [link or picture for link, picture in found]
    assert len(names) > 8
    workflows = [
        name.replace("../../actions", ".github").removesuffix("/badge.svg") for name in names
    ]
    here = [name for name in workflows if not name.startswith("https://")]
    assert [name for name in here if not (ROOT / name).is_file()] == []
    assert TEXT.count("<img ") == len(re.findall(r'<img [^>]*alt="[^"]{40,}"', TEXT)) == 1


def test_its_commands_are_there() -> None:
    assert not re.findall(r"`(?:forgekit|python|pytest) ", TEXT), "cannot be pasted without uv run"
    named = set(re.findall(r"`uv run (?:--extra \w+ )?forgekit ([a-z-]+)", TEXT))
    assert named >= {"lab", "doctor", "bench", "profile", "sanitize"}
    assert named <= set(COMMANDS)


def test_the_picture_says_what_the_profile_says() -> None:
    light, dark = ((PICTURES / f"profile_{t}.svg").read_text("utf-8") for t in ("light", "dark"))
    words = re.findall(r"<text[^>]*>([^<]+)</text>", light)
    assert words == re.findall(r"<text[^>]*>([^<]+)</text>", dark)
    assert "store: 32 sectors, 4 would do" in words and "    mY[col, row] = mX[row, col]" in words
    (bad,) = [text for text in words if text.startswith("line 5: every warp&#x27;s store")]
    assert "256 bytes apart" in bad and "no line stands out" in words[-2]
    assert "prefers-color-scheme" not in light + dark
