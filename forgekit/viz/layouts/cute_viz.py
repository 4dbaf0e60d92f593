"""Provide cute-viz's functions: `render_…` writes a picture to a file, and `display_…` shows it in
a notebook (even from the body of a @cute.jit function during tracing).

The names and arguments are those of https://github.com/NTT123/cute-viz, so its tutorials work
unchanged; forgekit's additional arguments are keyword-only. The `draw_…` functions draw the
pictures.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from forgekit.arguments import checked
from forgekit.errors import PlatformError, UsageError, brief, got_needed, usage_error
from forgekit.viz.layouts.offsets import draw_layout, draw_offsets
from forgekit.viz.layouts.swizzle import draw_swizzle_layout
from forgekit.viz.layouts.tiled import draw_mma_from_layouts, draw_tiled_copy, draw_tiled_mma
from forgekit.viz.layouts.tv import draw_copy_layout, draw_tv_layout
from forgekit.viz.picture import LayoutPicture

Path = str | os.PathLike[str]
_OURS = "forgekit"
_REMEDY = (
    "add it with `uv pip install git+https://github.com/NTT123/cute-viz` (Python 3.12 or newer), "
    "or leave backend out to let forgekit draw"
)


def _named(name: str, draw: Callable[..., LayoutPicture], file: str = "") -> Callable[..., None]:
    """Return a function with this cute-viz name that writes or shows the picture that `draw`
    returns. file: the name of the path argument, or "" to show the picture.
    """
    signature = _signature(draw, file)
    places = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]

    def call(*args: Any, backend: str = _OURS, **options: Any) -> None:
        if backend != _OURS:
            getattr(_cute_viz(backend), name)(*args)
            return
        given: dict[str, Any] = dict(zip(places, args, strict=False))
        path: Any = given.pop(file, None)
        picture = draw(**given, **options)
        if file:
            picture.save(path)
        else:
            _show(picture)

    call.__name__ = call.__qualname__ = name
    does = "Write `{}`'s picture to a file" if file else "Show `{}`'s picture in a notebook"
    call.__doc__ = f'{does.format(draw.__name__)}; `backend="cute-viz"` draws it with cute-viz.'
    call.__signature__ = signature  # type: ignore[attr-defined]
    return checked()(call)


def _signature(draw: Callable[..., LayoutPicture], file: str) -> inspect.Signature:
    """Return a signature with the parameters in cute-viz's order: those of `draw`, the path, and
    then forgekit's additions.
    """
    own = [*inspect.signature(draw).parameters.values()]
    needed = [p for p in own if p.default is p.empty]
    usual = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in own
             if p.name == "flatten_hierarchical"]  # fmt: skip
    options = [p for p in own[len(needed) :] if p.name != "flatten_hierarchical"]
    options.append(Parameter("backend", Parameter.KEYWORD_ONLY, default=_OURS, annotation="str"))
    if file:
        needed.append(Parameter(file, Parameter.POSITIONAL_OR_KEYWORD, annotation="Path"))
    return inspect.Signature([*needed, *usual, *options], return_annotation="None")


def _cute_viz(backend: str) -> Any:
    if backend != "cute-viz":
        remedy = "leave it out to let forgekit draw"
        raise usage_error("backend", brief(backend), "'forgekit' or 'cute-viz'", remedy)
    try:
        return importlib.import_module("cute_viz")
    except ImportError as error:
        got = f"no module {error.name}"
        message = got_needed("backend='cute-viz'", got, "cute_viz", _REMEDY)
        raise PlatformError(message) from None


# -- files ------------------------------------------------------------------------------------
_FILE = "output_file"
render_layout_svg = _named("render_layout_svg", draw_layout, _FILE)
render_swizzle_layout_svg = _named("render_swizzle_layout_svg", draw_swizzle_layout, _FILE)
render_tv_layout_svg = _named("render_tv_layout_svg", draw_tv_layout, _FILE)
render_copy_layout_svg = _named("render_copy_layout_svg", draw_copy_layout, _FILE)
render_tiled_copy_svg = _named("render_tiled_copy_svg", draw_tiled_copy, "output_path")
render_mma_layout_svg = _named("render_mma_layout_svg", draw_tiled_mma, _FILE)
render_mma_from_layouts = _named("render_mma_from_layouts", draw_mma_from_layouts, _FILE)
render_tiled_mma_svg = _named("render_tiled_mma_svg", draw_tiled_mma, "output_path")

# -- notebooks --------------------------------------------------------------------------------
display_layout = _named("display_layout", draw_layout)
display_swizzle_layout = _named("display_swizzle_layout", draw_swizzle_layout)
display_tv_layout = _named("display_tv_layout", draw_tv_layout)
display_copy_layout = _named("display_copy_layout", draw_copy_layout)
display_tiled_copy = _named("display_tiled_copy", draw_tiled_copy)
display_mma_layout = _named("display_mma_layout", draw_tiled_mma)
display_tiled_mma = _named("display_tiled_mma", draw_tiled_mma)


@checked()
def display_mma_from_layouts(layoutC: Any, layoutA: Any, layoutB: Any, tile_mnk: Any) -> None:
    """Show the picture that `draw_mma_from_layouts` returns in a notebook."""
    _show(draw_mma_from_layouts(layoutC, layoutA, layoutB, tile_mnk))


@checked()
def display_offsets(table: Any, *, title: str = "offsets") -> None:
    """Show the picture that `draw_offsets` returns in a notebook."""
    _show(draw_offsets(table, title=title))


@checked()
def display_svg(file_path: Path) -> None:
    """Show an SVG file in a notebook. Raises UsageError if it cannot be read."""
    try:
        with open(file_path, encoding="utf-8") as file:
            svg = file.read()
    except OSError as error:
        got = f"{os.fspath(file_path)!r} ({error.strerror})"
        message = got_needed("SVG file", got, "a file that can be read", "render it first")
        raise UsageError(message) from None
    _show({"image/svg+xml": svg, "text/plain": f"<SVG of {os.path.basename(file_path)}>"})


def _show(picture: LayoutPicture | dict[str, str]) -> None:
    """Show a picture in a notebook; outside a notebook, print it as text."""
    raw = isinstance(picture, dict)
    try:
        from IPython.display import display
    except ImportError:
        print(picture["text/plain"] if isinstance(picture, dict) else picture)
    else:
        display(picture, raw=raw)
