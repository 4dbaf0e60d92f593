"""Test cute-viz's names and arguments, files, notebooks, and delegation to cute-viz itself."""

from __future__ import annotations

import base64
import html
import inspect
import io
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cutlass.cute as cute
import pytest
from PIL import Image

import forgekit.viz
from forgekit.errors import PlatformError, UsageError
from forgekit.layouts import Layout
from forgekit.viz import draw_layout
from forgekit.viz.page import living
from forgekit.viz.svg import svg_text

TV = Layout((32, 4))
C, A, B = Layout((32, 4)), Layout((32, 8)), Layout((32, 4))

# The names and arguments of cute-viz 0.1.0, commit 92320ed.
CUTE_VIZ = {
    "render_layout_svg": "layout, output_file, flatten_hierarchical=True",
    "render_swizzle_layout_svg": "layout, output_file",
    "render_tv_layout_svg": "layout, tile_mn, output_file",
    "render_copy_layout_svg": "layout_s, layout_d, tile_mn, output_file",
    "render_tiled_copy_svg": "tiled_copy, tile_mn, output_path",
    "render_mma_layout_svg": "tiled_mma, tile_mnk, output_file",
    "render_mma_from_layouts": "layoutC, layoutA, layoutB, tile_mnk, output_file",
    "render_tiled_mma_svg": "tiled_mma, tile_mnk, output_path",
    "display_svg": "file_path",
    "display_layout": "layout, flatten_hierarchical=True",
    "display_swizzle_layout": "layout",
    "display_tv_layout": "layout, tile_mn",
    "display_copy_layout": "layout_s, layout_d, tile_mn",
    "display_tiled_copy": "tiled_copy, tile_mn",
    "display_mma_layout": "tiled_mma, tile_mnk",
    "display_tiled_mma": "tiled_mma, tile_mnk",
    "tidfrg_S": "tiled_copy, tile_mn",
    "tidfrg_D": "tiled_copy, tile_mn",
}


@pytest.mark.parametrize(("name", "arguments"), CUTE_VIZ.items())
def test_names_and_arguments_are_cute_vizs(name: str, arguments: str) -> None:
    parameters = inspect.signature(getattr(forgekit.viz, name)).parameters.values()
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    shown = [p.name if p.default is p.empty else f"{p.name}={p.default}" for p in positional]
    assert ", ".join(shown) == arguments
    assert all(p.default is not p.empty for p in parameters if p.kind is p.KEYWORD_ONLY)
    assert name in forgekit.viz.__all__


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'render_everything'"):
        forgekit.viz.render_everything  # noqa: B018


RENDERED = [
    ("render_layout_svg", (Layout((4, 8)),)),
    ("render_swizzle_layout_svg", (Layout((4, 8)),)),
    ("render_tv_layout_svg", (TV, (16, 8))),
    ("render_copy_layout_svg", (TV, TV, (16, 8))),
    ("render_mma_from_layouts", (C, A, B, (16, 8, 16))),
]


@pytest.mark.parametrize(("name", "args"), RENDERED)
def test_render_writes_what_display_shows(
    name: str, args: Any, tmp_path: Path, shown: list[Any]
) -> None:
    file = tmp_path / "picture.svg"
    assert getattr(forgekit.viz, name)(*args, str(file)) is None
    assert file.read_text(encoding="utf-8").startswith("<svg ")
    twin = name.replace("render", "display").removesuffix("_svg")
    assert getattr(forgekit.viz, twin)(*args) is None
    (picture,) = shown
    assert picture.svg == file.read_text(encoding="utf-8")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that collects the arguments of IPython's display()."""
    found: list[Any] = []
    display = "IPython.display.display"
    monkeypatch.setattr(display, lambda *objects, **options: found.extend(objects))
    return found


def test_display_svg_shows_the_file(tmp_path: Path, shown: list[Any]) -> None:
    file = tmp_path / "picture.svg"
    forgekit.viz.render_layout_svg(Layout((4, 8)), file)
    forgekit.viz.display_svg(file)
    assert shown == [{"image/svg+xml": file.read_text(), "text/plain": "<SVG of picture.svg>"}]
    with pytest.raises(UsageError, match=r"SVG file: got .*nothing\.svg.*render it first"):
        forgekit.viz.display_svg(tmp_path / "nothing.svg")


def test_without_ipython_the_words_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    forgekit.viz.display_layout(Layout((4, 8)))
    assert (
        capsys.readouterr().out
        == "(4,8):(1,4)\n  size 32, cosize 32: each offset from 0 to 31 once\n"
    )


def test_a_notebook_gets_a_png_that_a_script_makes_an_svg() -> None:
    """JupyterLab removes only the scripts from an untrusted notebook."""
    picture = draw_layout(Layout((4, 8)))
    data = picture._repr_mimebundle_()
    assert list(data) == ["text/plain", "text/html"] and data["text/plain"] == repr(picture)
    still, _, script = data["text/html"].partition("<script>")
    found = re.search(r'<img alt="([^"]*)" style="width:(\d+)px;.*base64,([^"]*)">', still)
    assert found is not None and html.unescape(found[1]) == picture.words
    image = Image.open(io.BytesIO(base64.b64decode(found[3])))
    assert image.width == 1.5 * int(found[2]) == 1.5 * picture.scene.width
    assert svg_text(picture.scene, body=True).replace("</", "<\\/") in script
    assert "<svg" not in still and "each offset from 0 to 31 once<" in script


def test_a_name_depends_on_what_is_drawn_and_on_no_pngs_bytes() -> None:
    """The compressed bytes from Pillow's zlib-ng depend on the vector instructions, and differ on
    arm64.
    """

    def name(png: bytes, data: str, text: str) -> str:
        drawn = f'<svg><image href="data:image/png;base64,{data}"/><text>{text}</text></svg>'
        return re.findall(r'data-fk="([^"]*)"', living(png, drawn, "words", 100))[0]

    first = name(b"one", "iVBORw0KGgo=", "warp 0")
    assert first == name(b"two", "iVBORw0K/+==", "warp 0")
    assert first != name(b"one", "iVBORw0KGgo=", "warp 1")


def test_the_png_shows_what_the_svg_shows() -> None:
    """Cells have their colours and positions even in an untrusted notebook."""
    picture = draw_layout(Layout((4, 8), (8, 1)))
    image = Image.open(io.BytesIO(picture.png)).convert("RGB")
    cells = [item for p in picture.scene.panels for item in p.items if hasattr(item, "lines")]
    assert len(cells) == 32
    for cell in cells:
        wanted = tuple(int(cell.fill[i : i + 2], 16) for i in (1, 3, 5))
        got = image.getpixel((round(cell.x * 2 + 6), round(cell.y * 2 + 6)))
        assert isinstance(got, tuple)
        assert max(abs(a - b) for a, b in zip(got, wanted, strict=True)) < 12  # the palette's
        middle = image.crop(tuple(round(2 * v) for v in (cell.x + 8, cell.y + 8, cell.x + 32,
                                                         cell.y + 32)))  # fmt: skip
        assert min(pixel for pixel in middle.convert("L").get_flattened_data()) < 90, "no text"


def test_save_goes_by_the_files_name(tmp_path: Path) -> None:
    picture = draw_layout(Layout((4, 8)))
    picture.save(tmp_path / "a.png")
    picture.save(tmp_path / "a.svg")
    assert (tmp_path / "a.png").read_bytes() == picture.png
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == picture.svg
    with pytest.raises(UsageError, match=r"output file: got .*No such file.*an existing folder"):
        picture.save(tmp_path / "no" / "a.svg")


# -- cute-viz itself --------------------------------------------------------------------------
@pytest.mark.parametrize("name", [n for n in CUTE_VIZ if n not in ("display_svg", "tidfrg_S",
                                                                   "tidfrg_D")])  # fmt: skip
def test_the_backend_gets_the_same_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []
    module = types.ModuleType("cute_viz")
    setattr(module, name, lambda *args: calls.append(args))
    monkeypatch.setitem(sys.modules, "cute_viz", module)
    given = tuple(False if "=" in a else a for a in CUTE_VIZ[name].split(", "))
    getattr(forgekit.viz, name)(*given, backend="cute-viz")
    assert calls == [given]


def test_a_missing_or_unknown_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cute_viz", None)
    with pytest.raises(PlatformError, match=r"cute_viz; add it with `uv pip install git\+https"):
        forgekit.viz.display_layout(Layout(4), backend="cute-viz")
    with pytest.raises(UsageError, match="backend: got 'x', needed 'forgekit' or 'cute-viz'"):
        forgekit.viz.display_layout(Layout(4), backend="x")


DRAWN: dict[str, tuple[str, Callable[[], tuple[Any, ...]]]] = {
    "rows": ("layout", lambda: (cute.make_layout((4, 6), stride=(6, 1)),)),
    "one mode": ("layout", lambda: (cute.make_layout(8, stride=2),)),
    "nested": ("layout", lambda: (cute.make_layout(((2, 2), (3, 4)), stride=((1, 6), (2, 12))),)),
    "swizzle": ("swizzle_layout", lambda: (cute.make_composed_layout(
        cute.make_swizzle(3, 0, 3), 0, cute.make_layout((8, 8), stride=(8, 1))),)),
    "TV": ("tv_layout", lambda: (
        cute.make_layout(((4, 8), 4), stride=((32, 1), 8)), (8, 16))),
}  # fmt: skip


@pytest.mark.weekly
@pytest.mark.parametrize("case", DRAWN)
def test_its_cells_say_what_cute_vizs_say(case: str, tmp_path: Path) -> None:
    """Both draw the same layout, and the cells' contents are equal, row by row."""
    pytest.importorskip("cute_viz", reason="cute-viz is missing; see book/setup.md")
    kind, make = DRAWN[case]

    @cute.jit
    def draw() -> None:
        for backend in ("forgekit", "cute-viz"):
            file = str(tmp_path / f"{backend}.svg")
            getattr(forgekit.viz, f"render_{kind}_svg")(*make(), file, backend=backend)

    draw()
    ours, theirs = (cells(tmp_path / f"{name}.svg") for name in ("forgekit", "cute-viz"))
    if kind == "swizzle_layout":  # the bank is below the offset
        ours = [text.partition("b")[0] for text in ours]
    assert len(theirs) > 7 and ours == theirs


def cells(file: Path) -> list[str]:
    """Return the texts in an SVG's smallest boxes, row by row."""
    boxes: dict[tuple[float, ...], list[tuple[float, str]]] = {}
    texts = []
    for element in ElementTree.parse(file).iter():
        tag = element.tag.rpartition("}")[2]
        if tag in ("rect", "text"):
            x, y = float(element.attrib["x"]), float(element.attrib["y"])
            if tag == "text":
                texts.append((x, y, "".join(element.itertext())))
            elif element.attrib["width"] != "100%":
                wide, high = float(element.attrib["width"]), float(element.attrib["height"])
                boxes[y, x, wide, high] = []
    for x, y, text in texts:
        around = [b for b in boxes if b[1] <= x <= b[1] + b[2] and b[0] <= y <= b[0] + b[3]]
        if around:
            boxes[min(around, key=lambda b: b[2] * b[3])].append((y, text))
    side = min(box[2] * box[3] for box, held in boxes.items() if held)
    return ["".join(text for _, text in sorted(held))
            for box, held in sorted(boxes.items()) if held and box[2] * box[3] == side]  # fmt: skip
