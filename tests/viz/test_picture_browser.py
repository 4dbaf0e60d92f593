"""Pictures in a real browser: themes, a phone, pages that run no scripts."""

from __future__ import annotations

from typing import Any

import pytest

from forgekit.layouts import Layout
from forgekit.viz import draw_layout, mismatch_map


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
    assert page.locator("svg.fk-picture").count() == 3  # equal ones, too
    card = "getComputedStyle(document.querySelector('.fk-picture .card')).fill"
    drawn = "[...document.querySelectorAll('image')].map((i) => getComputedStyle(i).display)"
    assert page.evaluate(card) == "rgb(255, 255, 255)"
    assert page.evaluate(drawn) == ["inline", "none"]  # of the map of NaN that on light pages
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")  # whatever the system says
    assert page.evaluate(card) == "rgb(27, 29, 33)"
    assert page.evaluate(drawn) == ["none", "inline"]
    page.close()


def test_a_phone_scrolls_what_it_cannot_show(browser: Any, page_html: str) -> None:
    page = opened(browser, page_html, viewport={"width": 390, "height": 800})
    wide, narrow = (page.locator(".fk-figure").nth(k) for k in (0, 1))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide.and_(page.locator("[tabindex='0']")).wait_for()
    assert "gradient" in wide.evaluate("(box) => box.style.maskImage")
    assert narrow.get_attribute("tabindex") is None
    wide.evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_function("!document.querySelector('.fk-figure').style.maskImage")
    page.close()


def test_without_scripts_the_png_stays(browser: Any, page_html: str) -> None:
    page = opened(browser, page_html, java_script_enabled=False)
    assert page.get_by_role("img").count() == 3 == page.locator("img").count()
    assert page.locator("img").first.is_visible()
    page.close()
