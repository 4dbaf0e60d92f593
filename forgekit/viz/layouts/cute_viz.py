"""cute-viz's names: `render_…` writes a picture to a file, `display_…` shows it in a notebook (also
from the body of a @cute.jit function, while it is traced).

Names and arguments are those of https://github.com/NTT123/cute-viz, so its tutorials work
unchanged; what comes after a `*` is forgekit's. The pictures are those of `draw_…` beside them.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from forgekit.arguments import checked
from forgekit.errors import PlatformError, UsageError, brief, got_needed, usage_error
from forgekit.viz.layouts.mma import draw_mma_from_layouts
from forgekit.viz.layouts.offsets import draw_offsets
from forgekit.viz.layouts.picture import LayoutPicture
from forgekit.viz.layouts.plain import draw_layout
from forgekit.viz.layouts.swizzle import draw_swizzle_layout
from forgekit.viz.layouts.tiled import draw_tiled_copy, draw_tiled_mma
from forgekit.viz.layouts.tv import draw_copy_layout, draw_tv_layout

F = TypeVar("F", bound=Callable[..., None])
Path = str | os.PathLike[str]
OURS = "forgekit"
_REMEDY = (
    "install it (Python 3.12: pip install git+https://github.com/NTT123/cute-viz), or leave "
    "backend out to have forgekit draw"
)


def _or_cute_viz(function: F) -> F:
    """Decorate a function of cute-viz's name: with backend="cute-viz", that package draws."""

    @functools.wraps(function)
    def call(*args: Any, backend: str = OURS, **options: Any) -> None:
        if backend == OURS:
            function(*args, **options)
            return
        if backend != "cute-viz":
            remedy = "leave it out to have forgekit draw"
            raise usage_error("backend", brief(backend), "'forgekit' or 'cute-viz'", remedy)
        try:
            cute_viz = importlib.import_module("cute_viz")
        except ImportError as error:
            got = f"no module {error.name}"
            message = got_needed("backend='cute-viz'", got, "cute_viz", _REMEDY)
            raise PlatformError(message) from None
        getattr(cute_viz, function.__name__)(*args)

    return cast(F, call)


# -- files ------------------------------------------------------------------------------------
@checked()
@_or_cute_viz
def render_layout_svg(
    layout: Any, output_file: Path, flatten_hierarchical: bool = True, *,
    arrange: str | None = None, backend: str = OURS,
) -> None:  # fmt: skip
    """Write `draw_layout`'s picture to a file; `backend="cute-viz"` has cute-viz draw it."""
    flatten = flatten_hierarchical
    draw_layout(layout, flatten_hierarchical=flatten, arrange=arrange).save(output_file)


@checked()
@_or_cute_viz
def render_swizzle_layout_svg(
    layout: Any, output_file: Path, *, element_bits: int | None = None, backend: str = OURS
) -> None:
    """Write `draw_swizzle_layout`'s picture to a file."""
    draw_swizzle_layout(layout, element_bits=element_bits).save(output_file)


@checked()
@_or_cute_viz
def render_tv_layout_svg(
    layout: Any, tile_mn: Any, output_file: Path, *, both: bool = False, backend: str = OURS
) -> None:
    """Write `draw_tv_layout`'s picture to a file."""
    draw_tv_layout(layout, tile_mn, both=both).save(output_file)


@checked()
@_or_cute_viz
def render_copy_layout_svg(
    layout_s: Any, layout_d: Any, tile_mn: Any, output_file: Path, *, backend: str = OURS
) -> None:
    """Write `draw_copy_layout`'s picture to a file."""
    draw_copy_layout(layout_s, layout_d, tile_mn).save(output_file)


@checked()
@_or_cute_viz
def render_tiled_copy_svg(
    tiled_copy: Any, tile_mn: Any, output_path: Path, *, backend: str = OURS
) -> None:
    """Write `draw_tiled_copy`'s picture to a file."""
    draw_tiled_copy(tiled_copy, tile_mn).save(output_path)


@checked()
@_or_cute_viz
def render_mma_layout_svg(
    tiled_mma: Any, tile_mnk: Any, output_file: Path, *, backend: str = OURS
) -> None:
    """Write `draw_tiled_mma`'s picture to a file."""
    draw_tiled_mma(tiled_mma, tile_mnk).save(output_file)


@checked()
@_or_cute_viz
def render_mma_from_layouts(
    layoutC: Any, layoutA: Any, layoutB: Any, tile_mnk: Any, output_file: Path, *,
    backend: str = OURS,
) -> None:  # fmt: skip
    """Write `draw_mma_from_layouts`'s picture to a file."""
    draw_mma_from_layouts(layoutC, layoutA, layoutB, tile_mnk).save(output_file)


@checked()
@_or_cute_viz
def render_tiled_mma_svg(
    tiled_mma: Any, tile_mnk: Any, output_path: Path, *, backend: str = OURS
) -> None:
    """Write `draw_tiled_mma`'s picture to a file."""
    draw_tiled_mma(tiled_mma, tile_mnk).save(output_path)


# -- notebooks --------------------------------------------------------------------------------
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


@checked()
@_or_cute_viz
def display_layout(
    layout: Any, flatten_hierarchical: bool = True, *, arrange: str | None = None,
    backend: str = OURS,
) -> None:  # fmt: skip
    """Show `draw_layout`'s picture in a notebook."""
    _show(draw_layout(layout, flatten_hierarchical=flatten_hierarchical, arrange=arrange))


@checked()
def display_offsets(table: Any, *, title: str = "offsets") -> None:
    """Show `draw_offsets`'s picture in a notebook."""
    _show(draw_offsets(table, title=title))


@checked()
@_or_cute_viz
def display_swizzle_layout(
    layout: Any, *, element_bits: int | None = None, backend: str = OURS
) -> None:
    """Show `draw_swizzle_layout`'s picture in a notebook."""
    _show(draw_swizzle_layout(layout, element_bits=element_bits))


@checked()
@_or_cute_viz
def display_tv_layout(
    layout: Any, tile_mn: Any, *, both: bool = False, backend: str = OURS
) -> None:
    """Show `draw_tv_layout`'s picture in a notebook."""
    _show(draw_tv_layout(layout, tile_mn, both=both))


@checked()
@_or_cute_viz
def display_copy_layout(layout_s: Any, layout_d: Any, tile_mn: Any, *, backend: str = OURS) -> None:
    """Show `draw_copy_layout`'s picture in a notebook."""
    _show(draw_copy_layout(layout_s, layout_d, tile_mn))


@checked()
@_or_cute_viz
def display_tiled_copy(tiled_copy: Any, tile_mn: Any, *, backend: str = OURS) -> None:
    """Show `draw_tiled_copy`'s picture in a notebook."""
    _show(draw_tiled_copy(tiled_copy, tile_mn))


@checked()
@_or_cute_viz
def display_mma_layout(tiled_mma: Any, tile_mnk: Any, *, backend: str = OURS) -> None:
    """Show `draw_tiled_mma`'s picture in a notebook."""
    _show(draw_tiled_mma(tiled_mma, tile_mnk))


@checked()
def display_mma_from_layouts(layoutC: Any, layoutA: Any, layoutB: Any, tile_mnk: Any) -> None:
    """Show `draw_mma_from_layouts`'s picture in a notebook."""
    _show(draw_mma_from_layouts(layoutC, layoutA, layoutB, tile_mnk))


@checked()
@_or_cute_viz
def display_tiled_mma(tiled_mma: Any, tile_mnk: Any, *, backend: str = OURS) -> None:
    """Show `draw_tiled_mma`'s picture in a notebook."""
    _show(draw_tiled_mma(tiled_mma, tile_mnk))


def _show(picture: LayoutPicture | dict[str, str]) -> None:
    """In a notebook the picture; elsewhere its words."""
    raw = isinstance(picture, dict)
    try:
        from IPython.display import display
    except ImportError:
        print(picture["text/plain"] if isinstance(picture, dict) else picture)
    else:
        display(picture, raw=raw)
