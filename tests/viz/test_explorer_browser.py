"""Test the explorer's file in a real browser: pointer, keys, touch, sliders, themes, a phone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forgekit as fk
from forgekit.layouts import ComposedLayout, Layout, Swizzle, make_layout_tv, zipped_divide
from forgekit.viz.layouts.swizzle import bank_of, conflict_ways, worst_ways
from forgekit.viz.page import packed

MATRIX = "tensor<ptr<f32, gmem> o (16,32):(32,1)>"
TV = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2), (2, 1)))
TILE = "tensor<ptr<f32, smem> o (32,32):(32,1)>"

Open = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Yield a function that opens an explorer's file and fails on any error or network request."""
    faults: list[str] = []
    contexts = []

    def open_page(*parts: Any, width: int = 1000, **options: Any) -> Any:
        file = tmp_path / f"page{len(contexts)}.html"
        parts[0].save(file)
        if len(parts) > 1:  # several explorers on one page, as in a notebook
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


def cell(page: Any, offset: int, picture: str = "Tensor") -> Any:
    return page.get_by_role("grid", name=picture).locator(f"td[data-key='{offset}']")


def said(page: Any) -> str:
    return str(page.locator(".pg-say").inner_text())


def lit(page: Any, picture: str = "Tensor", kind: str = "pg-with") -> list[int]:
    found = page.get_by_role("grid", name=picture).locator(f"td.{kind}")
    return sorted(int(c.get_attribute("data-key")) for c in found.all())


def kept(page: Any) -> list[int]:
    """Return the offsets of the tensor's coloured elements."""
    found = page.get_by_role("grid", name="Tensor").locator("td[tabindex]:not(.pg-plain)")
    return sorted(int(c.get_attribute("data-key")) for c in found.all())


def test_hover_an_element_and_its_thread(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV))
    page.get_by_role("button", name="4 composition").click()
    cell(page, 162).hover()
    assert said(page) == (
        "(5,2), index 37: offset 162, byte 648, bank 2, sector 20, 128-byte line 5; thread 17, "
        "value 2; 5×32 + 2×1 = 162. Thread 17 holds 4 elements in 2 sectors, at offsets 130, 131, "
        "162, 163"
    )
    assert lit(page) == lit(page, "Result") == lit(page, "Memory") == [130, 131, 162, 163]
    assert lit(page, "Result", "pg-on") == [162]


WALKED = [
    (Layout((16, 32), (32, 1)), TV[0], TV[1]),
    (Layout((16, 32), (1, 16)), (Layout(4, 4), 16), None),
    (Layout((8, (4, 4)), (4, (1, 32))), (2, 4), None),
    (Layout(64, 2), (16,), None),
    (ComposedLayout(Swizzle(2, 0, 3), 1, Layout((8, 8), (8, 1))), (4, 2), Layout((4, 2), (2, 1))),
    (Layout((4, 8), (8, 1)), None, Layout((8, 4), (4, 1))),
]


@pytest.mark.parametrize(("layout", "tile", "tv"), WALKED, ids=str)
def test_steps_give_what_python_does(visit: Open, layout: Any, tile: Any, tv: Any) -> None:
    steps = fk.explore(layout, tile=tile, tv=tv, memory="gmem").data["steps"]
    page = visit(fk.explore(layout, tile=tile, tv=tv, memory="gmem"))
    following = page.get_by_role("button", name="Next")
    for number, step in enumerate(steps):
        assert page.locator(".pg-result").inner_text() == step["result"]
        assert page.locator(".pg-fault:visible").count() == 0
        if number < len(steps) - 1:
            following.click()
    assert following.is_disabled()
    words = page.locator(".pg-step").inner_text()
    assert "{" not in words and f"offset {layout(0)}" in words


def test_a_tile_and_a_thread_are_chosen(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV))
    words = page.locator(".pg-step")
    divided = zipped_divide(Layout((16, 32), (32, 1)), TV[0])
    page.get_by_role("button", name="5 one thread").click()
    assert kept(page) == [0, 1, 32, 33]
    cell(page, 13 * 32 + 20).click()  # in tile (1,1), thread 18
    assert "thrA = tidA[(18,(_,_))]" in words.inner_text()
    assert "thread 18 begins at offset 404" in words.inner_text()
    assert kept(page) == [404, 405, 436, 437]
    page.get_by_role("button", name="Back").click()
    assert kept(page) == sorted(divided((e, 3)) for e in range(128))
    page.get_by_role("button", name="3 one tile").click()
    assert "gA[((_,_),(1,1))]" in words.inner_text() and "offset 272" in words.inner_text()
    page.get_by_role("combobox", name="Tile", exact=True).select_option("(0,1)")
    assert "gA[((_,_),(0,1))]" in words.inner_text() and "offset 16" in words.inner_text()
    assert page.get_by_role("textbox", name="Layout", exact=True).input_value() == str(divided)


def test_a_field_leaves_the_steps(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV))
    page.get_by_role("textbox", name="Layout", exact=True).fill("(2,3):(3,1)")
    assert page.locator("[aria-current]").count() == 0
    assert not page.locator(".pg-step").is_visible()
    page.get_by_label("Operation").select_option("coalesce")
    assert page.locator(".pg-result").inner_text() == "(2,3):(3,1)"
    page.get_by_role("button", name="2 zipped_divide").click()
    assert page.locator(".pg-result").inner_text() == "((8,16),(2,2)):((32,1),(256,16))"


def test_keys(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV))
    page.get_by_role("button", name="5 one thread").press("Enter")
    page.get_by_role("grid", name="Tensor").locator("td[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert said(page).startswith("(1,1), index 17: offset 33")
    page.keyboard.press("End")
    assert said(page).startswith("(1,31)")
    page.keyboard.press("ArrowRight")
    assert said(page).startswith("(1,31)")
    page.keyboard.press("Enter")  # Enter selects the cell, which keeps the focus
    assert "tidA[(7,(_,_))]" in page.locator(".pg-step").inner_text()
    assert page.evaluate("document.activeElement.dataset.key") == "63"
    page.get_by_role("combobox", name="Thread", exact=True).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert "tidA[(1,(_,_))]" in page.locator(".pg-step").inner_text()


def test_tiles_beyond_the_tensor_hold_none_of_its_other_elements(visit: Open) -> None:
    # Row 10 of a tile has the same offset as row 0 in the next column.
    layout = Layout((10, 12), (1, 10))
    page = visit(fk.explore(layout, tile=(4, 8)))
    page.get_by_role("button", name="2 zipped_divide").click()
    for i, j in itertools.product(range(10), range(12)):
        label = cell(page, layout((i, j))).locator("small").inner_text()
        assert label == f"#{i // 4 + 3 * (j // 8)}"


def banks_of(page: Any) -> list[str]:
    """Return the offsets and banks in the cells of a 32 × 32 picture, row by row."""
    found = page.get_by_role("grid", name="Layout").locator("td[tabindex]")
    return list(found.evaluate_all("all => all.map((c) => [...c.childNodes]"
                                   ".map((x) => x.textContent).join(' '))"))  # fmt: skip


def test_sliders_against_python(visit: Open) -> None:
    page = visit(fk.explore(TILE))
    padding = page.get_by_role("slider", name="Row padding")
    swizzle = page.get_by_role("slider", name="Swizzle")
    verdict = page.locator(".pg-verdict b")
    assert verdict.inner_text() == "32-way conflict"
    plain = Layout((32, 32), (32, 1))
    padded: list[Any] = [Layout((32, 32), (32 + p, 1)) for p in range(9)]
    swizzled = [plain, *(ComposedLayout(Swizzle(b, 0, 5), 0, plain) for b in range(1, 6))]
    for slider, layouts in ((padding, padded), (swizzle, swizzled)):
        assert slider.get_attribute("max") == str(len(layouts) - 1)
        for number, layout in enumerate(layouts):
            slider.fill(str(number))
            assert page.locator(".pg-result").inner_text() == str(layout)
            offsets = [layout((i, j)) for i in range(32) for j in range(32)]
            assert banks_of(page) == [f"{o} b{bank_of(o, 32)}" for o in offsets]
            ways = conflict_ways(np.array([layout((i, 0)) for i in range(32)]), 32)
            assert verdict.inner_text() == ("no conflict" if ways == 1 else f"{ways}-way conflict")
    assert padding.input_value() == "0"  # the swizzle reset the padding
    padding.fill("1")
    assert swizzle.input_value() == "0"


def test_a_warp_reads_the_pointed_line(visit: Open) -> None:
    page = visit(fk.explore(TILE))
    cell(page, 3 * 32 + 5, "Layout").hover()
    assert lit(page, "Layout") == [5 + 32 * i for i in range(32)]
    page.get_by_label("A warp reads").select_option("a row")
    assert lit(page, "Layout") == [3 * 32 + j for j in range(32)]
    assert page.locator(".pg-verdict").inner_text() == (
        "no conflict row 3: 32 lanes need words of 32 banks, served in 1 wavefront; column 5: "
        "32-way conflict"
    )
    words = page.locator(".pg-bars").get_attribute("aria-label")
    assert words == "Words that each bank serves, bank 0 to 31:" + " 1" * 32


@pytest.mark.parametrize(
    ("dtype", "bits"), [("int8", 8), ("float16", 16), ("f32", 32), ("f64", 64)]
)
@pytest.mark.parametrize("shape", [(32, 32), (16, 16), (64, 8), (8, 64)])
def test_the_last_swizzle_is_the_best_of_them(
    functions: Any, shape: tuple[int, int], dtype: str, bits: int
) -> None:
    script = "([a, bits]) => fkSwizzles(fkRows(read(a)), bits).slice(1).map(text)"
    plain = Layout(shape, (shape[1], 1))
    ways = []
    for found in functions.evaluate(script, [str(plain), bits]):
        layout = Layout.of(f"{found} o 0 o {plain}")
        table = np.array([[layout((i, j)) for j in range(shape[1])] for i in range(shape[0])])
        row, column = worst_ways(table, bits)
        assert row == 1
        ways.append(column)
    assert ways == sorted(ways, reverse=True)
    assert len(ways) == {8: 3, 16: 4, 32: 5, 64: 4}[bits] or shape != (32, 32)


@pytest.mark.parametrize("a", ["(32,32):(33,1)", "(32,32):(1,40)", "S<3,2,3> o 0 o (32,32):(32,1)"])
def test_sliders_begin_where_the_tile_is(visit: Open, a: str) -> None:
    page = visit(fk.explore(a, memory="smem"))
    shown = [page.locator(f"[id$='-{name}-is']").inner_text() for name in ("pad", "swizzle")]
    assert shown == {"(32,32):(33,1)": ["1 element per row", "none"],
                     "(32,32):(1,40)": ["8 elements per row", "none"]}.get(
                         a, ["none", "S<3,2,3>"])  # fmt: skip


OTHERS = ["(2,2,2):(1,2,4)", "(128,128):(128,1)", "4096:2", "(3,5):(-5,1)", "(4,8):(1@0,1@1)"]


@pytest.mark.parametrize("layout", OTHERS)
def test_other_layouts_are_drawn(visit: Open, layout: str) -> None:
    page = visit(fk.explore(layout))
    assert page.locator(".pg-result").inner_text() == layout
    page.get_by_role("grid", name="Layout").locator("td[tabindex]").last.hover()
    assert "offset" in said(page)


def test_the_last_valid_picture_stays(visit: Open) -> None:
    page = visit(fk.explore(Layout((2, 4), (4, 1))))
    answer = page.locator("[id$='-answer']")
    page.get_by_role("textbox", name="Layout", exact=True).fill("(2,4):(4,")
    assert page.locator(".pg-fault:visible").count() == 1
    assert answer.is_visible() and "pg-stale" in answer.get_attribute("class")
    assert page.locator(".pg-result").inner_text() == "(2,4):(4,1)"
    assert float(answer.evaluate("x => getComputedStyle(x).opacity")) < 0.6
    page.get_by_role("textbox", name="Layout", exact=True).fill("(2,4):(5,1)")
    assert "pg-stale" not in answer.get_attribute("class")


def test_values_of_make_layout_tv_may_be_a_shape(visit: Open) -> None:
    page = visit(fk.explore(Layout((2, 4), (4, 1))))
    page.get_by_label("Operation").select_option("make_layout_tv")
    page.get_by_label("Layout of one thread's values").fill("(2,4)")
    tiler, tv = make_layout_tv(Layout((2, 4), (4, 1)), Layout((2, 4)))
    assert page.locator(".pg-result").inner_text() == str(tv)
    assert (
        f"The tile is ({tiler[0]},{tiler[1]})"
        in page.locator(".pg li", has_text="tile").inner_text()
    )


@pytest.fixture(scope="module")
def functions(browser: Any) -> Iterator[Any]:
    """Yield a page that has loaded the playground's functions."""
    page = browser.new_page()
    for package, names in (
        ("forgekit.viz", ["shared.js"]),
        ("forgekit.viz.explorer", ["layouts.js", "pictures.js", "panels.js"]),
    ):
        for name in names:
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


def test_runs_are_unpacked_in_the_page(functions: Any) -> None:
    data = {"a": [*range(40), 3, 2, 1, 9], "b": [[1, 2], None, {"c": [-1] * 50}], "d": "x"}
    assert functions.evaluate("unpacked", packed(data)) == data


def test_a_phone(visit: Open) -> None:
    explorers = (fk.explore(TILE), "Layout", "light"), (fk.explore(MATRIX, tv=TV), "Tensor", "dark")
    for explorer, picture, scheme in explorers:
        page = visit(explorer, width=390, color_scheme=scheme, has_touch=True)
        cell(page, 35, picture).tap()
        assert "offset 35, " in said(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        box = page.locator(".pg-scroll").first
        assert box.evaluate("box => box.scrollWidth > box.clientWidth + 100")
        cut = "all => all.filter((c) => c.scrollWidth > c.clientWidth + 1).length"
        assert page.locator("td[tabindex]").evaluate_all(cut) == 0


def test_themes(visit: Open) -> None:
    page = visit(fk.explore(TILE), color_scheme="dark")
    page.locator(".pg form").wait_for()
    colour = "getComputedStyle(document.querySelector('.pg')).backgroundColor"
    assert page.evaluate(colour) == "rgb(27, 29, 33)"
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")  # takes precedence
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


def test_several_on_a_page(visit: Open) -> None:
    explorer = fk.explore(TILE)
    page = visit(explorer, explorer, fk.explore(MATRIX, tv=TV))
    page.locator(".pg form").nth(2).wait_for()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((x) => x.id)")
    assert len(ids) == len(set(ids)) > 3
    page.get_by_role("slider", name="Row padding").nth(1).fill("1")
    verdicts = page.locator(".pg-verdict:visible b").all_inner_texts()
    assert verdicts == ["32-way conflict", "no conflict"]
    cell(page, 3, "Layout").nth(1).hover()
    assert page.locator(".pg").first.locator(".pg-on").count() == 0


def test_without_scripts(visit: Open) -> None:
    page = visit(fk.explore(MATRIX, tv=TV), java_script_enabled=False)
    assert page.get_by_role("img").is_visible()
    assert "trust the notebook" in page.locator("p").first.inner_text()
    page.get_by_text("In words").click()
    assert "((8,16),(2,2)):((32,1),(256,16))" in page.locator("pre").inner_text()


def test_large_layouts_are_told_and_shown_whole(visit: Open) -> None:
    """A 32 × 32 layout needs no scroll box, has no colour step within a row, and has sizes with
    grouped digits.
    """
    page = visit(fk.explore("(32,32):(32,1)"))
    assert "1,024 elements. It spans 1,024 elements" in page.locator(".pg ul").inner_text()
    for box in page.locator(".pg-scroll").all():
        assert box.evaluate("b => b.scrollHeight <= b.clientHeight + 1")
    read = "a => a.map(c => getComputedStyle(c).backgroundColor.match(/[\\d.]+/g).map(Number))"
    cells = page.get_by_role("grid", name="Layout").locator("td[tabindex]")
    colours = np.array(cells.evaluate_all(read))
    steps = np.abs(np.diff(colours.reshape(32, 32, -1), axis=1)).max()
    assert 0 < steps * (255 if colours.max() <= 1 else 1) < 2  # color(srgb r g b) or rgb()
    page.get_by_role("textbox", name="Layout", exact=True).fill("(128,4096):(4096,1)")
    assert "the first 64 × 64 of 128 × 4,096" in page.locator(".pg figcaption").first.inner_text()


def test_a_slice_outside_its_layout_is_said(visit: Open) -> None:
    page = visit(fk.explore("(4,12):(12,1)"))
    page.get_by_label("Operation").select_option("slice")
    page.get_by_label("Coordinate with _").fill("(_,72)")
    assert page.locator(".pg-out").inner_text().startswith(
        "Outside the layout: coordinate 72 in a mode of size 12 (0 to 11)."
    )  # fmt: skip
    page.get_by_label("Coordinate with _").fill("(_,11)")
    assert page.locator(".pg-out").count() == 0
