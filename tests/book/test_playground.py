"""Compare the playground's arithmetic with forgekit.layouts (test_browser.py tests the page
itself)."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from forgekit import layouts
from forgekit.errors import UsageError
from forgekit.layouts import ComposedLayout, Layout, slice_and_offset
from forgekit.layouts.swizzle import outer_of
from forgekit.layouts.tuples import flat
from forgekit.layouts.tuples import text as spelt
from forgekit.layouts.wording import coverage
from forgekit.viz.layouts.swizzle import conflict_ways
from tests.book.conftest import ROOT
from tests.layouts.generate import Choices

SCRIPT = ROOT / "forgekit" / "viz" / "explorer" / "layouts.js"
CASES, SHOWN = 10_000, 8  # the number of cases, and of coordinates per case

# Computes a case's result, coordinates, offsets, coverage and conflicts, or its error.
COMPUTE = """(cases, shown) => cases.map(([name, a, b, bits]) => {
  try {
    const by = b === null ? null : read(b);
    const found = OPERATIONS[name](asWhole(read(a)), by);
    const count = sizeOf(found), step = Math.max(Math.floor(count / shown), 1);
    const shape = (found.outer ?? found).shape;
    const all = [...Array(Math.ceil(count / step)).keys()].map((i) => i * step);
    const offsets = all.map((i) => offsetAt(found, i));
    const coords = all.map((i) => coordinate(i, shape));
    const whole = bits && offsets.every(Number.isInteger);
    return [text(found), coords.map(text), offsets.map(text), coverage(found),
      coords.map((c) => indexAt(shape, c)), whole ? conflictWays(offsets, bits) : 0];
  } catch (error) {
    if (error instanceof LayoutError) return error.message;
    throw error;
  }
})"""


@pytest.fixture(scope="session")
def compute(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that runs COMPUTE with the page's scripts, in Node.js if it is installed,
    otherwise in the browser.
    """
    source = SCRIPT.read_text(encoding="utf-8")
    if node := shutil.which("node"):

        def in_node(cases: list[Any]) -> Any:
            program = f"{source}\nconst given = JSON.parse(require('fs').readFileSync(0));"
            program += f"console.log(JSON.stringify(({COMPUTE})(given, {SHOWN})));"
            done = subprocess.run([node, "-e", program], input=json.dumps(cases),
                                  capture_output=True, text=True)  # fmt: skip
            assert done.returncode == 0, done.stderr[-2000:]
            return json.loads(done.stdout)

        return in_node
    page = request.getfixturevalue("browser").new_page()
    page.add_script_tag(content=source)
    return lambda cases: page.evaluate(f"([cases, shown]) => ({COMPUTE})(cases, shown)",
                                       [cases, SHOWN])  # fmt: skip


# -- random cases ---------------------------------------------------------------------------------
DIVIDES = tuple(f"{k}_divide" for k in ("logical", "zipped", "tiled", "flat"))
PRODUCTS = tuple(f"{k}_product" for k in ("zipped", "tiled", "flat", "blocked", "raked"))


def a_case(draw: Choices) -> tuple[str, Any, Any, int]:
    name = draw.one_of((*OPERATIONS, "composition", *DIVIDES))
    a: Any = draw.layout(negative=True)
    while a.size() > 192:
        a = draw.layout(negative=True)
    if draw.below(12) == 1:
        a = layouts.make_identity_layout(a.shape)
    elif draw.below(7) == 1 and name != "swizzle":
        a = ComposedLayout(draw.swizzle(), draw.below(9), a)
    bits = draw.one_of((8, 16, 32, 64, 128, *[0] * 12))
    return name, a, a_second(draw, name, a), bits


def a_second(draw: Choices, name: str, a: Any) -> Any:
    """Draw the second argument of an operation, whose first argument is the layout `a`."""
    if name in ("", "right_inverse", "left_inverse"):
        return None
    if name == "coalesce":
        return draw.one_of((None, (1,), (1, 1), 1))
    if name == "complement":
        return draw.one_of((None, 24, 64, (4, 8), draw.layout(depth=1)))
    if name in (*PRODUCTS, "make_layout_tv"):
        return draw.layout(depth=1) if draw.below(10) else 4
    if name == "swizzle":
        return draw.swizzle()
    if name == "slice":
        coord = draw.coordinate(a.shape, slicing=True)
        return coord if None in flat(coord) else (None, 0)
    if name == "composition" and draw.below(10) == 1:
        return layouts.make_identity_layout(outer_of(a).shape)
    return draw.tiler(a if draw.below(2) else draw.layout(depth=1))  # sometimes for another layout


def as_layout(value: Any) -> Any:
    return value if isinstance(value, Layout | ComposedLayout) else Layout(value)


def sliced(a: Any, coord: Any) -> Any:
    if isinstance(a, Layout):
        return slice_and_offset(a, coord)[0]
    return a(coord)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "": lambda a, _: a,
    "complement": lambda a, b: layouts.complement(a, 1 if b is None else b),
    "right_inverse": lambda a, _: layouts.right_inverse(a),
    "left_inverse": lambda a, _: layouts.left_inverse(a),
    "make_layout_tv": lambda a, b: layouts.make_layout_tv(a, as_layout(b))[1],
    "swizzle": lambda a, b: ComposedLayout(b, 0, a),
    "slice": sliced,
    **{name: getattr(layouts, name)
       for name in ("coalesce", "composition", "logical_product", *DIVIDES, *PRODUCTS)},
}  # fmt: skip


def expected(name: str, a: Any, b: Any, bits: int) -> Any:
    try:
        found = OPERATIONS[name](a, b)
        indices = range(0, found.size(), max(found.size() // SHOWN, 1))
        coords = [found.coordinate(i) for i in indices]
        offsets = [found(i) for i in indices]
        outer = outer_of(found)
        whole = bits and all(isinstance(o, int) for o in offsets)
        ways = conflict_ways(np.array(offsets), bits) if whole else 0
        return [str(found), [*map(spelt, coords)], [*map(spelt, offsets)], coverage(outer),
                [outer.index(c) for c in coords], ways]  # fmt: skip
    except UsageError as error:
        return str(error)


@functools.cache
def random_cases() -> list[tuple[str, Any, Any, int]]:
    return [a_case(Choices(seed)) for seed in range(CASES)]


def fault(message: str) -> str:
    """Return a message's "got" and "needed" parts in a common spelling, without the remedy, which
    differs on the page.
    """
    words = message.partition(";")[0].replace(" ", "").replace("None", "_")
    return words.replace(",)", ")")


def typed(value: Any) -> str | None:
    return None if value is None else spelt(value)


def test_the_page_computes_what_forgekit_does(compute: Callable[..., Any]) -> None:
    cases = random_cases()
    found = compute([(name, str(a), typed(b), bits) for name, a, b, bits in cases])
    wanted = [expected(*case) for case in cases]
    found, wanted = (
        [fault(r) if isinstance(r, str) else r for r in results] for results in (found, wanted)
    )
    wrong = [(c[:3], f, w) for c, f, w in zip(cases, found, wanted, strict=True) if f != w]
    assert not wrong, f"{len(wrong)} of {CASES}: {wrong[:5]}"
    refused = sum(isinstance(w, str) for w in wanted)
    assert CASES * 0.2 < refused < CASES * 0.6


def test_examples_and_links_are_no_mistakes(compute: Callable[..., Any]) -> None:
    pages = [ROOT / "book" / name for name in ("playground.md", "glossary.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    links = re.findall(r'href="[\w.]*#([^"]*=[^"]*)"', text)
    assert len(links) > 15
    states = [dict(parse_qsl(link.replace("&amp;", "&"))) for link in links]
    found = compute([(s.get("op", ""), s["layout"], s.get("by"), 32) for s in states])
    assert [r for r in found if isinstance(r, str)] == []


@pytest.mark.parametrize(
    ("typed", "got"),
    [("(4,8):(1", "the end"), ("(4,8):(8,1) x", "x"), ("(4,?):(1,4)", "? (known only at run time)"),
     ("4096:99999999999", "the end"), ("(0,2)", "0"), ("S<3,0,1> o 0 o 8:1", "(3, 0, 1)"),
     ("(4,8):(8)", "(8) for shape (4,8)"), ("", "the end"), ("((2,_),4):(1,2)", "None")],
)  # fmt: skip
def test_a_slip_is_refused_in_words(compute: Callable[..., Any], typed: str, got: str) -> None:
    (message,) = compute([("", typed, None, 32)])
    assert isinstance(message, str) and f"got {got}" in message and ", needed " in message
    assert "; " in message


@pytest.mark.parametrize(
    "typed",
    ["tensor<ptr<f32, gmem, align<16>> o (4,8):(8,1)>", "Tensor<0x7f@gmem o (4,8):(8,1)>",
     '!cute.layout<"(4,8):(8,1)">', " ( 4, 8 ) : ( 8, 1 ) "],
)  # fmt: skip
def test_what_cute_prints_is_read(compute: Callable[..., Any], typed: str) -> None:
    ((found, *_),) = compute([("", typed, None, 32)])
    assert found == str(layouts.parse(typed).layout) == "(4,8):(8,1)"
