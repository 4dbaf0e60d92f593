"""What forgekit.viz offers for layouts: cute-viz's names, drawn here, and `draw_…` beside them.

`render_…` writes an SVG file, `display_…` shows the picture in a notebook (also from the body of a
@cute.jit function, while it is traced), `draw_…` returns it as a LayoutPicture. Names and arguments
of the first two are those of https://github.com/NTT123/cute-viz, so its tutorials work unchanged;
what comes after a `*` is forgekit's.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from forgekit.arguments import checked
from forgekit.errors import PlatformError, UsageError, brief, got_needed, usage_error
from forgekit.viz.layouts.picture import LayoutPicture

Path = str | os.PathLike[str]
OURS = "forgekit"


# -- pictures as objects ----------------------------------------------------------------------
@checked()
def draw_layout(
    layout: Any, *, flatten_hierarchical: bool = True, arrange: str | None = None
) -> LayoutPicture:
    """The offset of every coordinate: mode 0 down, mode 1 across, a grid for each of the others.

    Args:
        layout: CuTe's (while it is traced) or forgekit's, a tensor, the text that CuTe prints, or a
            tuple (shape, stride).
        flatten_hierarchical: False shows nested modes as such, with their coordinates on the axes
            and a border round each group.
        arrange: how nested modes lie. "modes": mode 0 down, mode 1 across. "tiles": mode 0 is a
            tile and mode 1 counts tiles, as zipped_divide leaves a matrix; None takes this where
            both modes are nested pairs.

    Raises:
        UsageError: no layout, dynamic modes, or more than 65,536 cells.
    """
    from forgekit.viz.layouts.plain import layout_scene

    scene = layout_scene(layout, flatten_hierarchical=flatten_hierarchical, arrange=arrange)
    return LayoutPicture(scene)


@checked()
def draw_offsets(table: Any, *, title: str = "offsets") -> LayoutPicture:
    """A table of offsets, drawn as `draw_layout` draws a layout, which is not named.

    Args:
        table: rows of integers: nested lists or tuples, or an array of two dimensions.
        title: stands where a layout's picture has the layout.

    Raises:
        UsageError: not rows of integers, rows of different lengths, or more than 65,536 cells.
    """
    from forgekit.viz.layouts.offsets import offsets_scene

    return LayoutPicture(offsets_scene(table, title=title))


@checked()
def draw_swizzle_layout(layout: Any, *, element_bits: int | None = None) -> LayoutPicture:
    """Each element's offset and bank in shared memory, and how a warp fares that reads a row or a
    column.

    Args:
        layout: of rank 1 or 2, composed with a swizzle or not; offsets count elements.
        element_bits: an element's width; by default the tensor's own, or 32.

    Raises:
        UsageError: as `draw_layout`; rank above 2; a width that no type has.
    """
    from forgekit.viz.layouts.swizzle import swizzle_scene

    return LayoutPicture(swizzle_scene(layout, element_bits=element_bits))


@checked()
def draw_tv_layout(layout: Any, tile_mn: Any, *, both: bool = False) -> LayoutPicture:
    """Which thread holds each element of a tile, and as which of its values.

    Args:
        layout: ((threads),(values)) to linear indices of the tile, rows fastest, or to
            coordinates (tidfrg_S). tile_mn: rows and columns, as make_layout_tv returns.
        both: show the other direction beside it, too: (thread, value) to coordinate.

    Raises:
        UsageError: not of rank 2, dynamic modes, a value outside the tile, too many cells.
    """
    from forgekit.viz.layouts.tv import tv_scene

    return LayoutPicture(tv_scene(layout, tile_mn, both=both))


@checked()
def draw_copy_layout(layout_s: Any, layout_d: Any, tile_mn: Any) -> LayoutPicture:
    """Source and destination of a copy side by side; arguments as those of `draw_tv_layout`."""
    from forgekit.viz.layouts.tv import copy_layouts

    return LayoutPicture(copy_layouts(layout_s, layout_d, tile_mn))


@checked()
def draw_tiled_copy(tiled_copy: Any, tile_mn: Any) -> LayoutPicture:
    """Source and destination of a `cute.TiledCopy`, inside the function that makes it.

    A tile of several times what the copy covers at once (its tiler) repeats the pattern, as CuTe
    does.

    Raises:
        UsageError: no tiled copy, one whose trace has ended, a tile that is no multiple of it.
    """
    from forgekit.viz.layouts.tiled import tiled_copy_scene

    return LayoutPicture(tiled_copy_scene(tiled_copy, tile_mn))


@checked()
def draw_tiled_mma(tiled_mma: Any, tile_mnk: Any) -> LayoutPicture:
    """A, B and C of a `cute.TiledMma`, inside the function that makes it: a row of A and a column
    of B meet in their element of C. Raises as `draw_tiled_copy`.
    """
    from forgekit.viz.layouts.tiled import tiled_mma_scene

    return LayoutPicture(tiled_mma_scene(tiled_mma, tile_mnk))


@checked()
def draw_mma_from_layouts(layoutC: Any, layoutA: Any, layoutB: Any, tile_mnk: Any) -> LayoutPicture:
    """As `draw_tiled_mma`, from thread-value layouts of C (M, N), A (M, K) and B (N, K)."""
    from forgekit.viz.layouts.mma import mma_scene

    return LayoutPicture(mma_scene((layoutC, layoutA, layoutB), tile_mnk))


# -- files ------------------------------------------------------------------------------------
@checked()
def render_layout_svg(
    layout: Any, output_file: Path, flatten_hierarchical: bool = True, *,
    arrange: str | None = None, backend: str = OURS,
) -> None:  # fmt: skip
    """Write `draw_layout`'s picture to a file; `backend="cute-viz"` has cute-viz draw it."""
    if not _handed_over(backend, "render_layout_svg", layout, output_file, flatten_hierarchical):
        flatten = flatten_hierarchical
        draw_layout(layout, flatten_hierarchical=flatten, arrange=arrange).save(output_file)


@checked()
def render_swizzle_layout_svg(
    layout: Any, output_file: Path, *, element_bits: int | None = None, backend: str = OURS
) -> None:
    """Write `draw_swizzle_layout`'s picture to a file."""
    if not _handed_over(backend, "render_swizzle_layout_svg", layout, output_file):
        draw_swizzle_layout(layout, element_bits=element_bits).save(output_file)


@checked()
def render_tv_layout_svg(
    layout: Any, tile_mn: Any, output_file: Path, *, both: bool = False, backend: str = OURS
) -> None:
    """Write `draw_tv_layout`'s picture to a file."""
    if not _handed_over(backend, "render_tv_layout_svg", layout, tile_mn, output_file):
        draw_tv_layout(layout, tile_mn, both=both).save(output_file)


@checked()
def render_copy_layout_svg(
    layout_s: Any, layout_d: Any, tile_mn: Any, output_file: Path, *, backend: str = OURS
) -> None:
    """Write `draw_copy_layout`'s picture to a file."""
    name = "render_copy_layout_svg"
    if not _handed_over(backend, name, layout_s, layout_d, tile_mn, output_file):
        draw_copy_layout(layout_s, layout_d, tile_mn).save(output_file)


@checked()
def render_tiled_copy_svg(
    tiled_copy: Any, tile_mn: Any, output_path: Path, *, backend: str = OURS
) -> None:
    """Write `draw_tiled_copy`'s picture to a file."""
    if not _handed_over(backend, "render_tiled_copy_svg", tiled_copy, tile_mn, output_path):
        draw_tiled_copy(tiled_copy, tile_mn).save(output_path)


@checked()
def render_mma_layout_svg(
    tiled_mma: Any, tile_mnk: Any, output_file: Path, *, backend: str = OURS
) -> None:
    """Write `draw_tiled_mma`'s picture to a file."""
    if not _handed_over(backend, "render_mma_layout_svg", tiled_mma, tile_mnk, output_file):
        draw_tiled_mma(tiled_mma, tile_mnk).save(output_file)


@checked()
def render_mma_from_layouts(
    layoutC: Any, layoutA: Any, layoutB: Any, tile_mnk: Any, output_file: Path, *,
    backend: str = OURS,
) -> None:  # fmt: skip
    """Write `draw_mma_from_layouts`'s picture to a file."""
    name = "render_mma_from_layouts"
    if not _handed_over(backend, name, layoutC, layoutA, layoutB, tile_mnk, output_file):
        draw_mma_from_layouts(layoutC, layoutA, layoutB, tile_mnk).save(output_file)


@checked()
def render_tiled_mma_svg(
    tiled_mma: Any, tile_mnk: Any, output_path: Path, *, backend: str = OURS
) -> None:
    """Write `draw_tiled_mma`'s picture to a file."""
    if not _handed_over(backend, "render_tiled_mma_svg", tiled_mma, tile_mnk, output_path):
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
def display_layout(
    layout: Any, flatten_hierarchical: bool = True, *, arrange: str | None = None,
    backend: str = OURS,
) -> None:  # fmt: skip
    """Show `draw_layout`'s picture in a notebook."""
    if not _handed_over(backend, "display_layout", layout, flatten_hierarchical):
        _show(draw_layout(layout, flatten_hierarchical=flatten_hierarchical, arrange=arrange))


@checked()
def display_offsets(table: Any, *, title: str = "offsets") -> None:
    """Show `draw_offsets`'s picture in a notebook."""
    _show(draw_offsets(table, title=title))


@checked()
def display_swizzle_layout(
    layout: Any, *, element_bits: int | None = None, backend: str = OURS
) -> None:
    """Show `draw_swizzle_layout`'s picture in a notebook."""
    if not _handed_over(backend, "display_swizzle_layout", layout):
        _show(draw_swizzle_layout(layout, element_bits=element_bits))


@checked()
def display_tv_layout(
    layout: Any, tile_mn: Any, *, both: bool = False, backend: str = OURS
) -> None:
    """Show `draw_tv_layout`'s picture in a notebook."""
    if not _handed_over(backend, "display_tv_layout", layout, tile_mn):
        _show(draw_tv_layout(layout, tile_mn, both=both))


@checked()
def display_copy_layout(layout_s: Any, layout_d: Any, tile_mn: Any, *, backend: str = OURS) -> None:
    """Show `draw_copy_layout`'s picture in a notebook."""
    if not _handed_over(backend, "display_copy_layout", layout_s, layout_d, tile_mn):
        _show(draw_copy_layout(layout_s, layout_d, tile_mn))


@checked()
def display_tiled_copy(tiled_copy: Any, tile_mn: Any, *, backend: str = OURS) -> None:
    """Show `draw_tiled_copy`'s picture in a notebook."""
    if not _handed_over(backend, "display_tiled_copy", tiled_copy, tile_mn):
        _show(draw_tiled_copy(tiled_copy, tile_mn))


@checked()
def display_mma_layout(tiled_mma: Any, tile_mnk: Any, *, backend: str = OURS) -> None:
    """Show `draw_tiled_mma`'s picture in a notebook."""
    if not _handed_over(backend, "display_mma_layout", tiled_mma, tile_mnk):
        _show(draw_tiled_mma(tiled_mma, tile_mnk))


@checked()
def display_mma_from_layouts(layoutC: Any, layoutA: Any, layoutB: Any, tile_mnk: Any) -> None:
    """Show `draw_mma_from_layouts`'s picture in a notebook."""
    _show(draw_mma_from_layouts(layoutC, layoutA, layoutB, tile_mnk))


@checked()
def display_tiled_mma(tiled_mma: Any, tile_mnk: Any, *, backend: str = OURS) -> None:
    """Show `draw_tiled_mma`'s picture in a notebook."""
    if not _handed_over(backend, "display_tiled_mma", tiled_mma, tile_mnk):
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


def _handed_over(backend: str, name: str, *args: Any) -> bool:
    """Whether cute-viz was asked to draw, and did."""
    if backend == OURS:
        return False
    if backend != "cute-viz":
        remedy = "leave it out to have forgekit draw"
        raise usage_error("backend", brief(backend), "'forgekit' or 'cute-viz'", remedy)
    try:
        cute_viz = importlib.import_module("cute_viz")
    except ImportError as error:
        remedy = ("install it (Python 3.12: pip install git+https://github.com/NTT123/cute-viz), "
                  "or leave backend out to have forgekit draw")  # fmt: skip
        message = got_needed("backend='cute-viz'", f"no module {error.name}", "cute_viz", remedy)
        raise PlatformError(message) from None
    getattr(cute_viz, name)(*args)
    return True
