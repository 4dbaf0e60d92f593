"""Test the built site in headless Chromium: layout, themes, search, folds, accessibility."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.book.page import Page

Open = Callable[..., Any]

LAYOUTS = "week0_copy_transpose/03_see_layouts.html"
WHY = "week0_copy_transpose/01_why_slow_why_wrong.html"
PLAYGROUND = "book/playground.html"
LOOKED_AT = ("book/index.html", WHY, LAYOUTS, "book/benchmarks.html", "book/architecture.html")

MORE = ("book/reference_check.html", "book/glossary.html", "book/exercises.html", "book/setup.html",
        "search.html", PLAYGROUND)  # fmt: skip

# Transitions are disabled, so that colours do not change while they are read.
STILL = {"reduced_motion": "reduce"}


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Open]:
    """Yield a function that opens a page and fails on any error or request to another host."""
    faults: list[str] = []
    contexts = []

    def open_page(name: str, *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **STILL, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and faults.append(m.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda r: r.url.startswith((address, "data:")) or faults.append(r.url))
        page.goto(f"{address}/{name}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_screenshots(visit: Open, tmp_path: Path, width: int, scheme: str) -> None:
    """FORGEKIT_SHOTS names a folder in which to keep the screenshots."""
    folder = Path(os.environ.get("FORGEKIT_SHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    for name in LOOKED_AT:
        page = visit(name, width=width, color_scheme=scheme)
        picture = page.screenshot(path=folder / f"{Path(name).stem}_{width}.png")
        assert len(picture) > 20_000
        assert page.locator("article h1").bounding_box()["y"] < 200


def test_every_page_fits_a_phone(visit: Open, pages: dict[str, Page], address: str) -> None:
    page = visit("book/index.html", width=390)
    wide = []
    for name in pages:
        if name != "index.html":
            page.goto(f"{address}/{name}", wait_until="domcontentloaded")
            width = page.evaluate("document.documentElement.scrollWidth")
            wide += [(name, width)] if width > 390 else []
    assert wide == []


def test_pictures_can_be_read_on_a_phone(visit: Open) -> None:
    """Wide pictures scroll instead of shrinking to the phone's width."""
    page = visit(WHY, width=390)
    scales = page.locator("article div.cell_output .fk-scroll svg").evaluate_all(
        "found => found.filter(s => s.checkVisibility())"
        ".map(s => [s.viewBox.baseVal.width, s.clientWidth])"
        ".filter(([wide, _]) => wide > 700).map(([wide, shown]) => shown / wide)"
    )
    assert len(scales) >= 3 and min(scales) > 0.85


OVERFLOWING = """() => [...document.querySelectorAll("article div.cell_input pre")]
    .filter((p) => p.clientWidth && p.scrollWidth > p.clientWidth)
    .map((p) => p.textContent.slice(0, 80))"""


def test_code_fits_its_cell(visit: Open, pages: dict[str, Page], address: str) -> None:
    """Lines may have up to 100 columns, ruff's limit."""
    page = visit("book/index.html", width=1280)
    names = [name for name in pages if name.startswith("week0")]
    assert names
    for name in names:
        page.goto(f"{address}/{name}", wait_until="domcontentloaded")
        assert page.evaluate(OVERFLOWING) == [], name


def test_dark_mode(visit: Open) -> None:
    page = visit("book/index.html", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    cell = "getComputedStyle(document.querySelector('svg.forge .cell, svg.forge rect')).fill"
    light = page.evaluate(ground), page.evaluate(cell)
    for _ in range(3):  # the button cycles through system, light and dark
        page.locator("button.theme-switch-button:visible").first.click()
        if page.locator("html[data-theme=dark]").count():
            break
    page.locator("html[data-theme=dark]").wait_for(state="attached")
    assert page.evaluate(ground) != light[0]


def test_search_finds_a_word(visit: Open) -> None:
    page = visit("book/index.html")
    page.keyboard.press("Control+k")
    field = page.locator("input[type=search]:visible").first
    field.fill("wavefront")
    field.press("Enter")
    page.wait_for_url("**/search.html?q=wavefront*")
    # The page adds results one by one.
    page.locator(
        "#search-results a", has_text="Find out why a kernel is slow or wrong"
    ).first.wait_for()


def test_search_shows_the_text_and_the_section_first(visit: Open) -> None:
    page = visit("search.html?q=bank+conflict")
    results = page.locator("#search-results li")
    results.locator("p.context").nth(2).wait_for()
    found = results.all_inner_texts()
    assert found[0].startswith("Glossary > bank conflict")
    assert not [text for text in found if "Contents A alignment" in " ".join(text.split())]


def test_paper_has_folded_outputs_and_whole_lines(visit: Open) -> None:
    page = visit(WHY, width=700)  # the width of an A4 sheet without margins
    page.emulate_media(media="print")
    hidden = "all => all.filter(x => !x.checkVisibility({contentVisibilityAuto: true})).length"
    assert page.locator("details .output, details pre").count() > 10
    assert page.locator("details .output, details pre").evaluate_all(hidden) == 0
    cut = "all => all.filter(x => x.scrollWidth > x.clientWidth + 1).length"
    assert page.locator("article pre, article .cell_output").evaluate_all(cut) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


def test_code_is_85_percent_of_prose(visit: Open) -> None:
    """`test_code_fits_its_cell` checks that the code is small enough."""
    page = visit(WHY)
    size = "x => parseFloat(getComputedStyle(x).fontSize)"
    code, prose = (page.locator(f"article {x}").first.evaluate(size) for x in ("pre", "p"))
    assert code / prose >= 0.85


def test_bars_have_a_ceiling_and_grey_peers(visit: Open) -> None:
    page = visit("book/benchmarks.html")
    assert page.evaluate("document.documentElement.scrollHeight") < 20_000  # it was once 32,662
    assert not [h for h in page.locator("article h3").all_inner_texts() if "h200" in h.lower()]
    table = page.locator("table.bars[style]").first
    line = "x => getComputedStyle(x, '::before').borderLeftStyle"
    assert table.locator("tbody").evaluate(line) == "dashed"
    ground = "x => getComputedStyle(x).backgroundColor"
    colours = {row.locator("th").inner_text(): row.locator(".bar").evaluate(ground)
               for row in table.locator("tr").all()}  # fmt: skip
    assert colours.pop("torch") not in colours.values() and len(set(colours.values())) == 1


def test_the_film_keeps_its_own_look(visit: Open) -> None:
    """The theme's Bootstrap styles would stretch `.row > *` to the whole width."""
    page = visit("book/index.html")
    play = page.locator(".fk-idea").get_by_role("button", name="Play")
    assert play.bounding_box()["width"] < 100
    play.click()
    page.locator(".fk-idea").get_by_role("slider").press("End")
    assert "in the whole run" in page.locator(".fk-idea .facts").inner_text()


def test_a_solution_opens(visit: Open) -> None:
    page = visit(WHY)
    code = page.locator("details", has_text="Solution of exercise 2").last
    assert not code.locator("pre").first.is_visible()
    code.locator("summary").focus()
    page.keyboard.press("Enter")
    assert code.locator("pre").first.is_visible()
    assert "lower_triangle_kernel" in code.inner_text()


def test_a_prediction_stays_hidden(visit: Open) -> None:
    page = visit(WHY)
    fold = page.locator("details.hide").first
    assert not fold.locator(".cell_output, .output").first.is_visible()
    question = "global load sectors per request"
    page.get_by_label(f"Your prediction: {question}").fill("12")
    page.reload()  # the page keeps the prediction
    page.get_by_label(f"Your prediction: {question}").press("Enter")
    page.keyboard.press("Enter")
    assert fold.locator(".output").first.is_visible()
    assert fold.locator(".predicted").inner_text() == f"{question}: you predicted 12, it is 32"


def test_code_can_be_copied(visit: Open) -> None:
    page = visit(WHY, permissions=["clipboard-read", "clipboard-write"])
    cell = page.locator("div.cell_input").first
    cell.hover()
    cell.locator("button.copybtn").click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("import cutlass")


def test_the_explorer_reacts(visit: Open) -> None:
    page = visit(LAYOUTS)
    explorer = page.locator(".pg").first
    explorer.scroll_into_view_if_needed()
    before = explorer.locator(".pg-result").inner_text()
    explorer.get_by_role("button", name="Next").click()
    assert explorer.locator(".pg-result").inner_text() != before
    explorer.locator("td[tabindex]").nth(5).hover()
    assert "offset" in explorer.locator(".pg-say").inner_text()


def test_the_glossary_is_filtered(visit: Open) -> None:
    page = visit("book/glossary.html")
    page.get_by_label("Filter").fill("bank")
    shown = page.locator("article h3:visible").all_inner_texts()
    assert "bank conflict" in shown and "grid" not in shown
    assert page.locator("p.filter [role=status]").inner_text() == f"{len(shown)} terms"
    page.get_by_label("Filter").fill("")
    assert page.locator("article h3:visible").count() > 40


def test_the_playground_computes_and_keeps_what_is_typed(visit: Open) -> None:
    page = visit(f"{PLAYGROUND}#layout=(8,8):(8,1)&op=zipped_divide&by=(2,4)&at=(1,2)")
    result, by = page.locator("#pg-result"), page.get_by_label("Tiler")
    assert result.inner_text() == "((2,4),(4,2)):((8,1),(16,4))"
    assert "offset 40, index 17" in page.locator("#pg-coord-is").inner_text()
    assert page.locator("td.pg-on").count() == 3
    by.fill("((2,2):(2,2),4)")
    fault = page.locator("#pg-by-fault")
    assert fault.inner_text().startswith("complement of (2,2):(2,2): got the stride 2, within")
    assert by.get_attribute("aria-invalid") == "true"
    assert result.inner_text() == "((2,4),(4,2)):((8,1),(16,4))"  # the last valid result remains
    assert "pg-stale" in page.locator("#pg-answer").get_attribute("class")
    by.fill("(4,4)")
    assert "by=(4,4)" in page.url and fault.inner_text() == ""
    page.get_by_role("button", name="Continue with the result").click()
    page.get_by_label("Operation").select_option("coalesce")
    assert result.inner_text() == "(4,4,2,2):(8,1,32,4)"
    page.reload()
    assert result.inner_text() == "(4,4,2,2):(8,1,32,4)"


def test_the_playground_marks_an_element_in_every_picture(visit: Open) -> None:
    page = visit(f"{PLAYGROUND}#layout=(4,6):(4,1)")
    twice = page.locator("td.pg-twice")
    assert twice.count() == 6 and twice.first.inner_text() == "2×"
    page.get_by_role("grid", name="Layout").locator("td[tabindex='0']").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.locator("td.pg-on").count() == 3  # (0,4), (1,0), and offset 4 in the memory picture
    assert page.locator("#pg-say").inner_text().startswith("(0,4), index 16: offset 4, byte 16")
    page.get_by_label("Offset → coordinates").fill("4")
    assert page.locator("#pg-offset-is").inner_text() == "(1,0) (0,4)"


def test_keyboard_reaches_the_text(visit: Open) -> None:
    page = visit("book/index.html")
    page.keyboard.press("Tab")
    assert "Skip" in page.evaluate("document.activeElement.textContent")
    names = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        names.add(page.evaluate("document.activeElement.textContent.trim()"))
    assert "Start with the first kernel" in names


RUN_AXE = """async ([unseen, options]) => {
    // Taken away: axe.run's `exclude` asks of each element whether it is among them.
    document.querySelectorAll(unseen.join()).forEach((one) => one.remove());
    const found = await axe.run(document, {resultTypes: ["violations"], ...options});
    return found.violations.filter((v) => ["serious", "critical"].includes(v.impact))
        .map((v) => v.id + ": " + v.nodes.slice(0, 4).map((n) => n.target.join(" ")).join(" | "));
}"""
# Pictures, whose names test_pages.py checks, and rows like the first two are not checked here.
ALIKE = ["svg[role=img]", "[role=row]:not(:first-child)", "tr:nth-child(n+3)"]
CONTRAST = "color-contrast"


def violations(browser: Any, axe: str, addresses: list[str], scheme: str, *options: Any) -> Any:
    size = {"width": 1280, "height": 900}
    context = browser.new_context(color_scheme=scheme, viewport=size, **STILL)
    page = context.new_page()
    found = {}
    for address in addresses:
        page.goto(address)
        page.evaluate(axe)
        found[address] = page.evaluate(RUN_AXE, list(options))
    context.close()
    return {address: faults for address, faults in found.items() if faults}


def test_accessibility(browser: Any, address: str, pages: dict[str, Page], axe: str) -> None:
    """axe-core finds no serious or critical violation (colours: see below).

    The check takes seconds per page, so it covers one page of each kind, or all pages if
    FORGEKIT_AXE_ALL=1.
    """
    names = [name for name in pages if name != "index.html"]  # index.html redirects immediately
    if not os.environ.get("FORGEKIT_AXE_ALL"):
        names = [name for name in names if name in (*LOOKED_AT, *MORE)]
    addresses = [f"{address}/{name}" for name in names]
    options = {"rules": {CONTRAST: {"enabled": False}}}
    assert violations(browser, axe, addresses, "light", [*ALIKE, "pre"], options) == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Any, address: str, axe: str, scheme: str) -> None:
    addresses = [f"{address}/{name}" for name in LOOKED_AT]
    options = {"runOnly": [CONTRAST]}
    assert violations(browser, axe, addresses, scheme, ALIKE, options) == {}
