"""The explorer in a real browser, from its file: pointer, keys, touch, sliders, themes, a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forgekit as fk
from forgekit.layouts import Layout, Swizzle, make_layout_tv
from forgekit.viz.layouts.swizzle import bank_of, conflict_ways
from forgekit.viz.page import packed

MATRIX = "tensor<ptr<f32, gmem> o (16,32):(32,1)>"
TV = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2), (2, 1)))
TILE = "tensor<ptr<f32, smem> o (32,32):(32,1)>"

Open = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Open an explorer from its file; no error and no request to the network may follow."""
    faults: list[str] = []
    contexts = []

    def open_page(*parts: Any, width: int = 1000, **options: Any) -> Any:
        file = tmp_path / f"page{len(contexts)}.html"
        parts[0].save(file)
        if len(parts) > 1:  # several on one page, as in a notebook
            more = "".join(part.html for part in parts[1:])
            file.write_text(file.read_text().replace("</body>", more + "</body>"))
        context = browser.new_context(viewport={"width": width, "height": 844}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda r: r.url.startswith(("file:", "data:")) or faults.append(r.url))
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def facts(page: Any) -> dict[str, str]:
    return {node.get_attribute("data-fact"): node.inner_text()
            for node in page.locator("[data-fact]").all()}  # fmt: skip


def cell(page: Any, index: int) -> Any:
    return page.locator(f".c[data-i='{index}']")


def lit(page: Any) -> list[int]:
    return sorted(int(c.get_attribute("data-i")) for c in page.locator(".c.on").all())


def test_hover_an_element_and_a_thread(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV))
    cell(page, 5 + 2 * 16).hover()
    assert facts(page) == {"coordinate": "(5,2)", "inside": "(5,2)", "tile": "(0,0)",
                           "offset": "162", "bytes": "648–651", "bank": "2", "sector": "20",
                           "line": "5", "thread": "T17, V2"}  # fmt: skip
    assert page.locator(".fkx-say").inner_text() == "(5,2) → offset 5×32 + 2×1 = 162"
    page.locator(".fkx-live", has_text="32-byte sector 20").wait_for(state="attached")
    page.get_by_role("button", name="T17", exact=True).hover()
    assert lit(page) == [4 + 32, 5 + 32, 4 + 48, 5 + 48]
    assert "Thread 17 holds 4 elements in 2 sectors, at offsets 130, 131, 162, 163." in (
        page.locator(".fkx-say").inner_text()
    )


def test_steps(visit: Open) -> None:
    explorer = fk.explore(MATRIX, tv=TV)
    page = visit(explorer)
    following = page.get_by_role("button", name="Next")
    results = []
    for number in range(5):
        results.append(page.locator(".fkx-result").inner_text())
        if number < 4:
            following.click()
    assert results == [step["result"] for step in explorer.data["steps"]]
    assert following.get_attribute("aria-disabled") == "true"
    assert lit(page) == [0, 1, 16, 17]  # thread 0 of the first tile
    cell(page, 13 + 20 * 16).click()  # in tile (1,1), thread 18
    assert "thrA = tidA[(18,(_,_))]" in page.locator(".fkx-step").inner_text()
    assert "thread 18 begins at offset 404" in page.locator(".fkx-step").inner_text()
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="3 one tile").click()
    assert "gA[((_,_),(1,1))]" in page.locator(".fkx-step").inner_text()
    assert "offset 272" in page.locator(".fkx-step").inner_text()
    assert len(lit(page)) == 128
    page.get_by_role("button", name="(0,1)").click()
    assert "gA[((_,_),(0,1))]" in page.locator(".fkx-step").inner_text()


def test_keys(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV))
    assert page.locator(".c[tabindex='0']").count() == 1
    page.locator(".c[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert facts(page)["coordinate"] == "(1,1)"
    assert page.locator(".ring").is_visible()
    page.keyboard.press("End")
    assert facts(page)["coordinate"] == "(1,31)"
    page.keyboard.press("Control+End")
    assert facts(page)["coordinate"] == "(15,31)"
    page.keyboard.press("ArrowDown")
    assert facts(page)["coordinate"] == "(15,31)"
    page.keyboard.press("Enter")
    page.get_by_role("button", name="5 one thread").press("Enter")
    assert "tidA[(31,(_,_))]" in page.locator(".fkx-step").inner_text()
    page.get_by_role("button", name="T0", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert "tidA[(1,(_,_))]" in page.locator(".fkx-step").inner_text()
    assert page.get_by_role("grid").get_attribute("aria-rowcount") == "16"


def test_sliders_against_python(visit: Open) -> None:
    explorer = fk.explore(TILE)
    page, lab = visit(explorer), explorer.data["lab"]
    padding = page.get_by_role("slider", name="row padding")
    swizzle = page.get_by_role("slider", name="swizzle")
    verdict = page.locator(".fkx-verdict b")
    assert verdict.inner_text() == "32-way conflict"
    for slider, layouts in ((padding, lab["layouts"][0]), (swizzle, lab["layouts"][1])):
        for number, text in enumerate(layouts):
            slider.fill(str(number))
            layout = Layout.of(text)
            assert page.locator(".fkx-result").inner_text() == text
            offsets = page.locator(".fkx").evaluate("root => root.fkx.offsets()")
            assert offsets == [layout(i) for i in range(1024)]
            assert [int(x) for x in cell_texts(page)] == [bank_of(o, 32) for o in offsets]
            ways = conflict_ways(np.array(offsets[:32]), 32)
            assert verdict.inner_text() == ("no conflict" if ways == 1 else f"{ways}-way conflict")
    assert padding.input_value() == "0"  # the swizzle set it back
    padding.fill("1")
    assert swizzle.input_value() == "0"
    page.locator(".fkx-live", has_text="no conflict. column 0").wait_for(state="attached")


def cell_texts(page: Any) -> list[str]:
    script = "cells => cells.sort((a, b) => a.dataset.i - b.dataset.i).map((c) => c.textContent)"
    return list(page.locator(".c").evaluate_all(script))


@pytest.fixture(scope="module")
def functions(browser: Any) -> Iterator[Any]:
    """A page that knows the functions of math.js."""
    page = browser.new_page()
    for package, name in (("forgekit.viz", "shared.js"), ("forgekit.viz.explorer", "math.js")):
        page.add_script_tag(content=resources.files(package).joinpath(name).read_text("utf-8"))
    yield page
    page.close()


@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64, 128])
def test_banks_in_the_page_are_pythons(functions: Any, bits: int) -> None:
    rng = np.random.default_rng(bits)
    lines = [rng.integers(0, 4096, 32).tolist() for _ in range(20)]
    lines += [list(range(0, 32 * s, s)) for s in (1, 2, 8, 32, 33)]
    script = "([lines, b]) => lines.map((l) => Math.max(...wordsOfBanks(l, b)))"
    assert functions.evaluate(script, [lines, bits]) == [
        conflict_ways(np.array(line), bits) for line in lines
    ]
    banks = functions.evaluate("([l, b]) => l.map((o) => bankOf(o, b))", [lines[0], bits])
    assert banks == [bank_of(o, bits) for o in lines[0]]


@pytest.mark.parametrize("s", [Swizzle(3, 4, 3), Swizzle(2, 0, -2), Swizzle(5, 1, 6)], ids=str)
def test_swizzles_in_the_page_are_pythons(functions: Any, s: Swizzle) -> None:
    script = "(s) => [...Array(4096).keys()].map((o) => swizzled(o, s))"
    assert functions.evaluate(script, [s.bits, s.base, s.shift]) == [s(o) for o in range(4096)]


def test_coordinates_and_runs_in_the_page_are_pythons(functions: Any) -> None:
    nested = Layout((4, (2, (3, 2))))
    script = "(s) => [...Array(48).keys()].map((i) => shown(coordinate(i, s)))"
    found = functions.evaluate(script, [4, [2, [3, 2]]])
    assert found == [str(nested.coordinate(i)).replace(" ", "") for i in range(48)]
    data = {"a": [*range(40), 3, 2, 1, 9], "b": [[1, 2], None, {"c": [-1] * 50}], "d": "x"}
    assert functions.evaluate("unpacked", packed(data)) == data


def test_a_phone(visit: Open) -> None:
    for explorer, scheme in ((fk.explore(TILE), "light"), (fk.explore(MATRIX, tv=TV), "dark")):
        page = visit(explorer, width=390, color_scheme=scheme, has_touch=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        box = page.locator(".fkx-scroll")
        assert box.evaluate("box => box.scrollWidth > box.clientWidth + 100")
        cell(page, 35).tap()
        assert facts(page)["offset"] == str(explorer.data["offsets"][35])


def test_themes(visit: Open) -> None:
    page = visit(fk.explore(TILE), color_scheme="dark")
    colour = "getComputedStyle(document.querySelector('.fkx')).backgroundColor"
    assert page.evaluate(colour) == "rgb(27, 29, 33)"
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")  # JupyterLab knows better
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


def test_several_on_a_page(visit: Open) -> None:
    explorer = fk.explore(TILE)
    page = visit(explorer, explorer, fk.explore(MATRIX, tv=TV))
    assert page.get_by_role("grid").count() == 3
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((x) => x.id)")
    assert len(ids) == len(set(ids)) == 4
    page.get_by_role("slider", name="row padding").nth(1).fill("1")
    verdicts = page.locator(".fkx-verdict b").all_inner_texts()
    assert verdicts == ["32-way conflict", "no conflict"]
    page.get_by_role("radio", name="a row").nth(1).check()
    assert page.get_by_role("radio", name="a column").first.is_checked()


def test_without_scripts(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV), java_script_enabled=False)
    assert page.get_by_role("img").is_visible()
    page.get_by_text("In words").click()
    assert "((8,16),(2,2)):((32,1),(256,16))" in page.locator("pre").inner_text()
