"""Test that on the built pages nothing is broken, missing, or loaded from another host."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.book.conftest import REPOSITORY, ROOT
from tests.book.page import Page, target

Pages = dict[str, Page]

NOTEBOOKS = sorted(p.relative_to(ROOT) for p in ROOT.glob("week*/[0-9]*.ipynb"))
TERMS = ["grid", "block", "thread", "warp", "lane", "divergence", "predicate", "barrier", "race",
         "occupancy", "request", "sector", "coalesced", "bank", "bank conflict", "wavefront",
         "mode", "swizzle", "stride", "tiler", "tile", "layout", "kernel", "PTX",
         "thread-value layout (TV layout)"]  # fmt: skip
INTRODUCED = ("warp", "lane", "sector", "request", "wavefront", "bank conflict", "mode", "stride",
              "layout", "block", "grid", "race", "shared memory")  # fmt: skip


def cells(notebook: Path) -> list[dict]:
    return json.loads((ROOT / notebook).read_text(encoding="utf-8"))["cells"]


def test_links_lead_somewhere(pages: Pages, site: Path) -> None:
    broken = []
    for name, page in pages.items():
        for link in page.links:
            found = target(name, link)
            if found is None:
                continue
            there, anchor = found
            if there == "book/playground.html" and "=" in anchor:
                continue  # test_playground.py checks its content
            known = pages[there].ids if there in pages else None
            if not (site / there).exists() or (
                anchor and known is not None and anchor not in known
            ):
                broken.append((name, link))
    assert broken == []


def test_links_are_relative(pages: Pages) -> None:
    wrong = [(name, link) for name, page in pages.items() for link in page.links
             if link.startswith(("/", "file:"))]  # fmt: skip
    assert wrong == []


def test_every_notebook_is_there(pages: Pages) -> None:
    assert NOTEBOOKS
    assert [n for n in NOTEBOOKS if n.with_suffix(".html").as_posix() not in pages] == []
    contents = {target("book/index.html", link)[0] for link in pages["book/index.html"].links
                if target("book/index.html", link)}  # fmt: skip
    assert {n.with_suffix(".html").as_posix() for n in NOTEBOOKS} <= contents


def test_pictures_say_what_they_show(pages: Pages) -> None:
    mute = [(name, what) for name, page in pages.items() for what, alt in page.pictures
            if not alt.strip() or alt.startswith("<")]  # fmt: skip
    assert mute == []
    shown = pages["week0_copy_transpose/03_see_layouts.html"].pictures
    assert any("(4,6):(6,1)" in alt for _, alt in shown)


def test_weeks_at_a_glance_have_their_pictures(pages: Pages) -> None:
    shown = {
        "week0_copy_transpose": "32 by 32 elements",
        "week1_reduce": "five steps",
        "week2_softmax": "three softmax kernels",
    }
    for week, words in shown.items():
        ((what, alt),) = pages[f"{week}/README.html"].pictures
        assert what == "svg forge" and words in alt
    assert pages["book/weeks.html"].pictures == [
        picture for week in shown for picture in pages[f"{week}/README.html"].pictures
    ]


def test_headings_are_in_order(pages: Pages) -> None:
    wrong = []
    for name, page in pages.items():
        levels = [level for level, _ in page.headings]
        if levels.count(1) != 1 or levels[0] != 1:
            wrong.append((name, "one h1, which is first", levels[:3]))
        steps = zip(page.headings, page.headings[1:], strict=False)
        wrong += [(name, text) for (before, _), (level, text) in steps if level > before + 1]
    assert wrong == []


def test_exercises_and_warnings_are_boxes(pages: Pages) -> None:
    for notebook in NOTEBOOKS:
        parts = [c["metadata"].get("part") for c in cells(notebook)]
        sources = ["".join(c["source"]) for c in cells(notebook) if c["cell_type"] == "markdown"]
        page = pages[notebook.with_suffix(".html").as_posix()]
        assert page.classes.count("exercise") == parts.count("task"), notebook
        warnings = sum(s.startswith("> **Looks right but is wrong.**") for s in sources)
        assert page.classes.count("wrong") >= warnings, notebook


def test_only_intended_errors(pages: Pages) -> None:
    for notebook in NOTEBOOKS:
        promised = 0
        for cell in cells(notebook):
            errors = [o for o in cell.get("outputs", []) if o["output_type"] == "error"]
            assert not errors or "raises-exception" in cell["metadata"].get("tags", []), notebook
            promised += len(errors)
        page = pages[notebook.with_suffix(".html").as_posix()]
        assert sum("traceback" in c.split() for c in page.classes) == promised, notebook


def test_nothing_from_elsewhere(pages: Pages, site: Path) -> None:
    away = []
    for name, page in pages.items():
        for address in page.resources:
            found = target(name, address)
            if address.startswith("data:"):
                continue
            if found is None or not (site / found[0]).is_file():
                away.append((name, address))
        away += [(name, css[:80]) for css in page.styles if _fetches(css)]
    for file in site.rglob("*.css"):
        text = file.read_text(encoding="utf-8")
        away += [(file.name, found) for found in _fetches(text)]
    assert away == []


def _fetches(css: str) -> list[str]:
    return re.findall(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^)'\"]+)", css)


def test_points_of_a_chart_say_what_they_are(pages: Pages) -> None:
    text = pages_text(pages, "benchmarks")
    said = r"<title>forgekit, 8,192 × 8,192: \d+ % of the ceiling, [\d.,]+ µs</title>"
    assert len(re.findall(said, text)) > 5
    assert text.index("geometric mean over all") < text.index("<svg")


def test_formulas_need_no_script(pages: Pages) -> None:
    text = pages["book/benchmarks.html"].path.read_text(encoding="utf-8")
    assert "<math" in text and "<mfrac>" in text
    assert not any("mathjax" in r.lower() for page in pages.values() for r in page.resources)


def test_exercises_are_complete(pages: Pages) -> None:
    from forgekit.lessons.exercise import all_exercises

    standing = {
        c["metadata"]["exercise"]
        for n in NOTEBOOKS
        for c in cells(n)
        if c["metadata"].get("part") == "task"
    }
    page = pages["book/exercises.html"]
    text = page.path.read_text(encoding="utf-8")
    names = [e.name for e in all_exercises()]
    assert text.count("<li><p><strong>") == len(names)
    for name in names:
        anchor = "exercise-" + re.sub("[/_]", "-", name)
        assert any(link.endswith(f"#{anchor}") for link in page.links) == (name in standing), name


def test_hints_and_solutions_are_folded(pages: Pages) -> None:
    for notebook in NOTEBOOKS:
        wanted = sum("<details>" in line for c in cells(notebook) if c["cell_type"] == "markdown"
                     for line in c["source"])  # fmt: skip
        text = (pages[notebook.with_suffix(".html").as_posix()].path).read_text(encoding="utf-8")
        assert text.count("<details><summary>") >= wanted, notebook
        assert "<details open" not in text
        code = [c for c in cells(notebook) if c["cell_type"] == "code" and c["outputs"]]
        hidden = sum(bool(c["metadata"].get("jupyter", {}).get("outputs_hidden")) for c in code)
        assert text.count('hide below-input"') == hidden, notebook


def test_glossary_is_complete(pages: Pages) -> None:
    page = pages["book/glossary.html"]
    terms = {text.rstrip("#").strip() for level, text in page.headings if level == 3}
    assert [t for t in TERMS if t not in terms] == []
    text = page.path.read_text(encoding="utf-8")
    sections = re.split(r"<h3>", text)
    for term in INTRODUCED:
        (section,) = [s for s in sections if s.startswith(f"{term}<")]
        assert "week0_copy_transpose/" in section, f"no notebook introduces {term} in bold"


def test_reference_is_complete(pages: Pages) -> None:
    import forgekit as fk

    assert [name for name in fk.__all__ if f"fk.{name}" not in pages_text(pages, "reference")] == []
    assert "&quot;--opt-level<" in pages_text(pages, "reference_tensors")


def pages_text(pages: Pages, name: str) -> str:
    return pages[f"book/{name}.html"].path.read_text(encoding="utf-8")


def test_pages_have_names_and_a_language(pages: Pages) -> None:
    titles = [page.title for page in pages.values()]
    assert all(titles) and len(set(titles)) >= len(titles) - 1  # two pages have the book's title
    assert {page.language for page in pages.values()} == {"en"}
    assert [(name, page.twice) for name, page in pages.items() if page.twice] == []


def test_launch_buttons(pages: Pages) -> None:
    links = pages["week0_copy_transpose/00_start_here.html"].links
    if not any(REPOSITORY in link for link in links):
        return  # a site built without a repository
    path = "blob/main/week0_copy_transpose/00_start_here.ipynb"
    assert any("colab" in link and link.endswith(path) for link in links)
    assert REPOSITORY.replace("github.com", "codespaces.new") in links


def test_how_to_fetch_the_course(pages: Pages) -> None:
    text = pages["book/setup.html"].path.read_text(encoding="utf-8")
    plain = re.sub(r"<[^>]+>", "", text)
    if REPOSITORY in text:
        assert f"git clone {REPOSITORY} kernel-forge" in plain and "URL" not in plain
    else:  # a site built without a repository
        assert "git clone URL kernel-forge" in plain and "in place of URL" in plain


def test_previous_and_next(pages: Pages) -> None:
    links = [target("week0_copy_transpose/00_start_here.html", link)
             for link in pages["week0_copy_transpose/00_start_here.html"].links]  # fmt: skip
    assert ("book/weeks.html", "") in links
    assert ("week0_copy_transpose/01_why_slow_why_wrong.html", "") in links


def test_no_paths_of_this_machine(site: Path) -> None:
    for file in [*site.rglob("*.html"), *site.rglob("*.js")]:
        text = file.read_text(encoding="utf-8")
        assert str(ROOT) not in text and str(Path.home()) + "/" not in text, file


def test_tables_have_headings() -> None:
    """A table that begins with `| | |` has columns without names."""
    bare = re.compile(r"^\|[|\s]*\|\n\|[-:|\s]+\|$", re.MULTILINE)
    texts = [*(ROOT / "book").glob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("week*/README.md")]
    assert [f.name for f in texts if bare.search(f.read_text(encoding="utf-8"))] == []


def test_the_weeks_have_a_picture_each(pages: Pages, site: Path) -> None:
    assert [what for what, _ in pages["book/weeks.html"].pictures] == ["svg forge"] * 3
    text = (site / "book/weeks.html").read_text(encoding="utf-8")
    assert "You will learn" not in text and "You need" not in text
