"""Test pictures and profiles in a real browser: themes, a phone, keys, pages without scripts."""

from __future__ import annotations

import itertools
from importlib import resources
from typing import Any

import numpy as np
import pytest

import forgekit as fk
from forgekit.layouts import Layout
from forgekit.tracing.banks import bank_use
from forgekit.tracing.warp_access import WarpAccess
from forgekit.viz import draw_layout, mismatch_map

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.viz import warp_kernels as kernels


@pytest.fixture(scope="module")
def page_html() -> str:
    wide = draw_layout(Layout((8, 32), (32, 1)))
    wrong = mismatch_map([float("nan"), 0.0, 3.0], [1.0, 2.0, 3.0])
    shown = "".join(p._repr_mimebundle_()["text/html"] for p in (wide, wrong, wide))
    return f"<body style='margin:8px'>{shown}</body>"


def opened(browser: Any, html: str, **options: Any) -> Any:
    page = browser.new_page(**options)
    page.set_content(html)
    return page


def test_colours_follow_the_page(browser: Any, page_html: str) -> None:
    page = opened(browser, page_html, color_scheme="light")
    assert page.locator("img").count() == 0
    assert page.get_by_role("img").count() == 3  # equal pictures count separately
    card = "getComputedStyle(document.querySelector('.fk-card')).backgroundColor"
    drawn = "[...document.querySelectorAll('image')].map((i) => getComputedStyle(i).display)"
    assert page.evaluate(card) == "rgb(255, 255, 255)"
    assert page.evaluate(drawn) == ["inline", "none"]  # the NaN map's colours on light pages
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")  # overrides the system's
    assert page.evaluate(card) == "rgb(27, 29, 33)"
    assert page.evaluate(drawn) == ["none", "inline"]
    page.close()


def test_a_phone_scrolls_what_it_cannot_show(browser: Any, page_html: str) -> None:
    page = opened(browser, page_html, viewport={"width": 390, "height": 800})
    wide, narrow = (page.locator(".fk-scroll").nth(k) for k in (0, 1))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide.and_(page.locator("[tabindex='0']")).wait_for()
    assert "gradient" in wide.evaluate("(box) => box.style.maskImage")
    assert narrow.get_attribute("tabindex") is None
    wide.evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_function("!document.querySelector('.fk-scroll').style.maskImage")
    title = page.locator(".fk-card p").first  # the text wraps instead of scrolling
    assert title.bounding_box()["width"] < 380
    page.close()


def test_without_scripts_the_png_stays(browser: Any, page_html: str) -> None:
    page = opened(browser, page_html, java_script_enabled=False)
    assert page.get_by_role("img").count() == 3 == page.locator("img").count()
    assert page.locator("img").first.is_visible()
    page.close()


# -- the linked profile -----------------------------------------------------------------------
@pytest.fixture(scope="module")
def profile() -> fk.Profile:
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    return fk.profile(fk.compile(kernels.tiled, x, y, 0, device="virtual"), x, y, 0)


def test_a_line_of_the_profile_opens_its_picture(browser: Any, profile: fk.Profile) -> None:
    page = opened(browser, profile._repr_mimebundle_()["text/html"])
    view, buttons = page.locator(".fk-accesses"), page.locator("tr.fk-has button")
    assert buttons.all_inner_texts() == ["global load", "shared store", "shared load",
                                         "global store"]  # fmt: skip
    assert not view.is_visible() and page.locator("img").count() == 0
    page.locator("tr.fk-has").nth(2).click(position={"x": 90, "y": 8})  # anywhere in the row
    assert "32 wavefronts, 1 would do: all 32 lanes in bank 0" in view.inner_text()
    page.locator(".cell").nth(5).hover()
    assert "lane 5 · thread (5, 0, 0) of block 0 · bytes 640–643 of shared memory, bank 0" in (
        page.locator(".facts").inner_text()
    )
    # Select the third warp's second access with the keyboard only.
    buttons.nth(2).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert "4 sectors for 128 bytes requested (100 % used)" in view.inner_text()
    page.get_by_role("slider", name="warp").press("End")
    page.get_by_role("slider", name="access").press("ArrowRight")
    page.locator(".fk-accesses svg").focus()
    page.keyboard.press("End")
    asked = profile.first_accesses[profile.lines[3].source, "global_load"]
    (access,) = (a for a in asked if (a.warp, a.index) == (3, 1))
    told = page.locator(".facts").inner_text()
    assert f"lane 31 · thread (31, 3, 0) of block 0 · {access.element[31]} · address " in told
    assert hex(int(access.address[31])) in told and page.locator(".cell.on").count() == 1
    assert "warp 3 of block 0" in view.inner_text() and "2 of 4" in view.inner_text()
    page.close()


def test_orange_and_the_rows_of_a_profile_answer(browser: Any) -> None:
    """The profile is inside an element of class `cell`, like each output of the book."""
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    shown = fk.profile(fk.compile(kernels.naive, x, y, device="virtual"), x, y)
    page = opened(browser, f"<div class=cell>{shown._repr_mimebundle_()['text/html']}</div>")
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.locator("tr.fk-has button").last.click()
    picture, facts = page.locator(".fk-accesses svg"), page.locator(".fk-accesses .facts")
    picture.locator(".waste").first.hover(position={"x": 60, "y": 8})
    assert facts.inner_text().startswith("The warp requests 4 bytes of this 32-byte sector; the ")
    picture.press("Home")
    for key, lane in (("", 0), ("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)):
        if key:
            picture.press(key)
        assert facts.inner_text().startswith(f"lane {lane} ·")
    assert faults == []
    page.close()


def test_without_scripts_the_profile_says_the_same(browser: Any, profile: fk.Profile) -> None:
    html = profile._repr_mimebundle_()["text/html"]
    page = opened(browser, html, java_script_enabled=False)
    alt = page.get_by_role("img").get_attribute("alt")
    assert "32 wavefronts, 1 would do" in alt
    page.get_by_text("First accesses of each line, in words").click()
    words = page.locator("pre").inner_text()
    for accesses in profile.first_accesses.values():
        assert f"  {accesses[0].place}: " in words and accesses[0].details in words
    assert len(html) < 70_000
    page.close()


def test_rows_in_the_page_are_pythons(browser: Any) -> None:
    page = browser.new_page()
    file = resources.files("forgekit.viz").joinpath("profile.js")
    page.add_script_tag(content=file.read_text("utf-8"))
    rng = np.random.default_rng(0)
    for kind, width in itertools.product(("load", "store", "atomic"), (4, 8, 16)):
        address = rng.integers(0, 64, 32) * width
        active = rng.random(32) < 0.8
        at = np.where(active, address, -1)
        access = WarpAccess(kind, None, "", 0, 0, 0, 1, at, active, width, ("",) * 32)
        use = bank_use(access)
        wanted = [
            {bank: [*words[row][1]] for bank, words in sorted(part.words.items())
             if row < len(words)}
            for part in use.passes for row in range(part.wavefronts)
        ]  # fmt: skip
        given = {"at": at.tolist(), "width": width, "share": kind != "atomic",
                 "passes": [[p.lanes.start, p.lanes.stop] for p in use.passes]}  # fmt: skip
        rows = page.evaluate("(a) => fkWavefronts(a)", given)
        assert [{c["at"]: c["lanes"] for c in row["cells"]} for row in rows] == wanted
        lines = page.evaluate("(a) => fkLines(a)", given)
        assert [(line["number"], [(c["at"], c["lanes"]) for c in line["cells"]])
                for line in lines] == [
            (number, [(a % 128, np.flatnonzero(at == a).tolist())
                      for a in np.unique(address[active]).tolist() if a // 128 == number])
            for number in np.unique(address[active] // 128).tolist()]  # fmt: skip
    page.close()
