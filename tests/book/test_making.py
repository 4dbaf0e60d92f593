"""Test generated parts of the pages without Sphinx: notebooks, glossary, reference, benchmarks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from forgebook import benchmarks, course, glossary, notebooks, pages, reference

from forgekit.commands import book
from forgekit.errors import PlatformError
from tests.book.conftest import ROOT


def markdown(text: str, **metadata: str) -> dict:
    return {"cell_type": "markdown", "metadata": metadata, "source": text.splitlines(True)}


def test_a_notebook_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# Copy it\n\n**You will build** a\ncopy.\n**You need** none. About 20\nminutes, "
    text += "and 15 more for the two exercises.\n"
    cells = [
        markdown(text),
        markdown(
            "## 1. `mX`, all of it\n\nA **warp** and\na **bank\nconflict**.\n\n```\n# no\n```\n"
        ),
        markdown("### Exercise 1: scale", exercise="week0/scale", part="task"),
        markdown("A **lane**, behind the exercise."),
    ]
    path = tmp_path / "week0_copy_transpose" / "00_copy.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(course, "ROOT", tmp_path)
    found = course.read(path)
    assert (found.title, found.promise, found.minutes) == ("Copy it", "a copy.", (20, 15))
    assert [s.slug for s in found.sections] == ["copy-it", "1-mx-all-of-it"]
    assert found.sections[1].terms == ("warp", "bank conflict", "lane")
    assert found.exercises == ("week0/scale",)


def test_notebooks_say_how_long_they_take() -> None:
    found = course.notebooks()
    assert [nb.path for nb in found if nb.exercises and not nb.minutes] == []
    week = pages.filled("<!-- made: weeks -->\n")
    for name in {nb.week for nb in found}:
        held = [nb.minutes for nb in found if nb.week == name and nb.minutes]
        hours = [sum(minutes[k] for minutes in held) / 60 for k in (0, 1)]
        assert "about {:.2g} hours, and about {:.2g} hours more for".format(*hours) in week


def test_a_notebook_is_made_ready() -> None:
    svg = '<?xml version="1.0"?><svg role="img" aria-label="x" viewBox="0 0 1 1"><g/></svg>'
    picture = {"image/svg+xml": [svg], "image/png": "AAAA", "text/plain": ["(4,6):(6,1)\n", "  24"]}
    figure = {"image/png": "AAAA\n", "text/plain": ["<Figure size 1x1>"]}
    report = {"text/html": ['<b style="color:#7f7f7f;border-color:#7f7f7f">OPEN</b>']}
    outputs = [{"output_type": "display_data", "data": d} for d in (picture, figure, report)]
    code = {"cell_type": "code", "source": [], "outputs": outputs,
            "metadata": {"jupyter": {"outputs_hidden": True}}}  # fmt: skip
    text = (
        "### Exercise 1\n\nAs in `00_start_here`, `99_none`, `book/setup.md`:\n\n"
        "```\n`00_start_here`\n```\n"
    )
    task = markdown(text, exercise="week0/scale", part="task")
    text = json.dumps({"cells": [task, code]})
    ready = json.loads(notebooks.prepared(text, ROOT / "week0_copy_transpose"))["cells"]
    assert ready[0]["source"] == (
        '(exercise-week0-scale)=\n### Exercise 1\n\n<div class="exercise">\n\n'
        "As in [`00_start_here`](00_start_here.ipynb), "
        "`99_none`, [`book/setup.md`](../book/setup.md):\n\n```\n`00_start_here`\n```\n"
    )
    assert ready[1]["metadata"]["tags"] == ["hide-output"]
    shown = [o["data"]["text/html"] for o in ready[1]["outputs"]]
    assert shown[0].startswith('<svg viewBox="0 0 1 1" role="img" aria-label="(4,6):(6,1); 24">')
    assert 'src="data:image/png;base64,AAAA"' in shown[1] and "“Exercise 1”" in shown[1]
    assert shown[2] == '<b style="color:var(--forge-faint);border-color:#7f7f7f">OPEN</b>'


def test_a_prediction_has_a_field_before_its_answer() -> None:
    def code(source: str, **metadata: object) -> dict:
        return {"cell_type": "code", "source": [source], "outputs": [], "metadata": metadata}

    hidden = {"jupyter": {"outputs_hidden": True}}
    solution = markdown("<details>it</details>", exercise="week0/scale", part="solution")
    cells = [
        code('a = fk.predict("x < 3", None)'),
        code("a.against(2)", **hidden),
        code("fk.predict(\n    load_sectors=None,\n)\nfk.profile(run)", **hidden),
        solution,
    ]
    ready = json.loads(notebooks.prepared(json.dumps({"cells": cells}), ROOT))["cells"]
    fields = [re.findall('data-asks="(.*?)"', "".join(c["source"])) for c in ready]
    assert fields == [[], ["x &lt; 3"], [], ["load sectors"], [], []]
    assert ready[-1]["source"] == "<details>it</details>\n\n</div>"


@pytest.mark.parametrize(
    ("folder", "notebook", "page"),
    [
        ("book", "../week0_copy_transpose/", "setup.md"),
        (".", "week0_copy_transpose/", "book/setup.md"),
        ("week1_reduce", "../week0_copy_transpose/", "../book/setup.md"),
    ],
)
def test_pages_link_too(folder: str, notebook: str, page: str) -> None:
    text = "See `07_transpose` and `book/setup.md`, not [`07_transpose`](x) and `99_none`."
    assert notebooks.linked(text, ROOT / folder) == (
        f"See [`07_transpose`]({notebook}07_transpose.ipynb) and [`book/setup.md`]({page}), "
        "not [`07_transpose`](x) and `99_none`."
    )


def test_pages_say_where_the_course_is() -> None:
    text = (
        "Fetch it, with the repository's\naddress in place of `URL`:\n\n```\ngit clone URL\n```\n"
    )
    assert pages.addressed(text, "") == text
    known = "Fetch it:\n\n```\ngit clone https://x.org/a\n```\n"
    assert pages.addressed(text, "https://x.org/a") == known
    for name in ("setup", "classroom"):
        text = (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
        assert "URL" in text and "URL" not in pages.addressed(text, "https://x.org/a")


def test_links_of_the_glossary(monkeypatch: pytest.MonkeyPatch) -> None:
    section = course.Section("1. Warps", "1-warps", ("warps",))
    title = course.Section("Start", "start")
    nb = course.Notebook("week0/00_a.ipynb", "Start", "", None, (title, section), ())
    monkeypatch.setattr(glossary, "notebooks", lambda: (nb,))
    text = "# G\n\n## A\n\n### warp\n\n32 threads.\n\n## B\n\n### `lane`\n\nOne.\n"
    made = glossary.with_links(text)
    assert made.startswith("# G\n\n<p") and "{.letters}\n[L](#l) [W](#w)\n" in made
    assert made.endswith(
        "## L\n\n### `lane`\n\nOne.\n\n## W\n\n### warp\n\n32 threads.\n\n{.met}\nIntroduced in "
        "[Start, 1. Warps](../week0/00_a.ipynb#1-warps)\n"
    )


# Maps each term that no notebook introduces to the reason why.
ELSEWHERE = {
    "reduction": "it is the title of week 1",
    **dict.fromkeys(("ceiling", "cold"), "the benchmarks page defines it"),
    **dict.fromkeys(("predicted time", "calibration"), "the page on the virtual GPU defines it"),
}


def test_terms_of_the_glossary_lead_to_notebooks() -> None:
    """A notebook introduces a term in bold."""
    text = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    assert {term for term in terms if not glossary.where(term)} == set(ELSEWHERE)


def test_the_reference_has_all_public_names() -> None:
    import forgekit

    names = {item.name for item in reference.items("forgekit")}
    assert names == set(forgekit.__all__) - {
        "device",
        "target",
    }  # these are values, which the page's text mentions
    assert {item.name for item in reference.items("forgekit.layouts")} >= {
        "zipped_divide",
        "Layout",
    }


def test_the_reference_lists_what_a_class_inherits() -> None:
    (item,) = [i for i in reference.items("forgekit.viz") if i.name == "LayoutPicture"]
    text = reference.markdown(item, "viz")
    assert "- `.save(path: " in text and text.count("- `.svg`") == 1


def test_a_docstring_as_markdown() -> None:
    (item,) = [i for i in reference.items("forgekit") if i.name == "compile"]
    text = reference.markdown(item, "fk")
    assert text.startswith(
        "### `fk.compile`\n\n```{code-block} python\n:class: signature\ncompile(\n"
    )
    assert "**Args:**\n\n- `fn`: the host function" in text
    assert "**Raises:**\n\n- `CompileError`: " in text
    assert '`"--opt-level 2"`' in text
    assert reference._plain("a *b* `c*d` [e]") == r"a \*b\* `c*d` \[e\]"


def test_each_attribute_is_listed_by_itself() -> None:
    text = (
        "What it is.\n\nAttributes:\n    ptx: text; key, name: both. cubin: code, where\n    it is."
    )
    assert reference._text(text) == (
        "What it is.\n\n**Attributes:**\n\n"
        "- `ptx`: text.\n- `key, name`: both.\n- `cubin`: code, where it is.\n"
    )
    (item,) = [i for i in reference.items("forgekit") if i.name == "CompiledKernel"]
    text = reference.markdown(item, "fk")
    assert "\n- `cubin`: the machine code.\n- `ptxas`: the assembler's report" in text


def test_benchmarks_of_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "_OTHER", tmp_path)
    assert benchmarks.made("vgpu") == "None are recorded yet.\n"
    rows = [{"step": "naive", "shape": [64, 64], "dtype": "float32", "ms": 1.0, "gbps": 50.0}]
    run = {"gpu": "H200", "date": "2026-11-21", "ceiling_gbps": 100, "rows": rows}
    (tmp_path / "a_run.json").write_text(json.dumps(run))
    (tmp_path / "b_other.json").write_text(
        json.dumps({"cpu": "x<y", "rows": [{"n": 1, "ms": None}]})
    )
    (tmp_path / "c_alien.json").write_text(json.dumps([1, 2]))
    text = benchmarks.made("vgpu")
    assert "### A run\n\nH200, 2026-11-21." in text and "--part:0.5000" in text and "50 %" in text
    assert "### B other" in text and "<td>–</td>" in text and "alien" not in text


def test_a_marker_that_nothing_makes() -> None:
    assert not pages.is_made("# A page\n")
    with pytest.raises(KeyError):
        pages.filled("<!-- made: nonsense -->\n")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PlatformError, match="uv run --extra book forgekit book"):
        book.book.main([], standalone_mode=False)


def test_warnings_are_shown_without_colours_and_paths() -> None:
    text = f"\x1b[91m{ROOT}/book/index.md:3: WARNING: no such page\x1b[0m\nreading\n"
    assert book._faults(text, ROOT) == "book/index.md:3: WARNING: no such page"
