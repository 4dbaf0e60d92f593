"""Draw pictures. A picture that consists of cells is a Scene, which is written as SVG and PNG;
plots use matplotlib.

    runs/       a kernel's accesses: footprint, coalescing, banks, timeline
    layouts/    layouts, thread-value layouts, swizzles, copies, mma
    explorer/   interactive pictures of layouts
    timing/     plots of benchmarks: bars, lines over sizes, rooflines; their style
    report_pages.py, profile_page.py        the HTML of other results
    mismatch.py                             the positions of wrong values
    scene.py, svg.py, raster.py             a picture as data, as SVG, as PNG
    compose.py, grid.py, cells.py           cards, grids of cells, tensors as cells
    palette.py, page.py, picture.py         colours and their meaning; HTML

Names are imported on first use, so `import forgekit.viz` alone is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forgekit.tracing.footprint import Footprint, footprint
    from forgekit.viz.layouts.cute_viz import (
        display_copy_layout,
        display_layout,
        display_mma_from_layouts,
        display_mma_layout,
        display_offsets,
        display_svg,
        display_swizzle_layout,
        display_tiled_copy,
        display_tiled_mma,
        display_tv_layout,
        render_copy_layout_svg,
        render_layout_svg,
        render_mma_from_layouts,
        render_mma_layout_svg,
        render_swizzle_layout_svg,
        render_tiled_copy_svg,
        render_tiled_mma_svg,
        render_tv_layout_svg,
    )
    from forgekit.viz.layouts.offsets import draw_layout, draw_offsets
    from forgekit.viz.layouts.swizzle import draw_swizzle_layout
    from forgekit.viz.layouts.tiled import (
        draw_mma_from_layouts,
        draw_tiled_copy,
        draw_tiled_mma,
        tidfrg_D,
        tidfrg_S,
    )
    from forgekit.viz.layouts.tv import draw_copy_layout, draw_tv_layout
    from forgekit.viz.mismatch import mismatch_map
    from forgekit.viz.picture import LayoutPicture

_ELSEWHERE = {
    "Footprint": "tracing.footprint",
    "LayoutPicture": "viz.picture",
    "footprint": "tracing.footprint",
    "mismatch_map": "viz.mismatch",
    "tidfrg_D": "viz.layouts.tiled",
    "tidfrg_S": "viz.layouts.tiled",
}

__all__ = [
    "Footprint", "LayoutPicture", "display_copy_layout", "display_layout",
    "display_mma_from_layouts", "display_mma_layout", "display_offsets", "display_svg",
    "display_swizzle_layout", "display_tiled_copy", "display_tiled_mma", "display_tv_layout",
    "draw_copy_layout", "draw_layout", "draw_mma_from_layouts", "draw_offsets",
    "draw_swizzle_layout", "draw_tiled_copy", "draw_tiled_mma", "draw_tv_layout", "footprint",
    "mismatch_map", "render_copy_layout_svg", "render_layout_svg", "render_mma_from_layouts",
    "render_mma_layout_svg", "render_swizzle_layout_svg", "render_tiled_copy_svg",
    "render_tiled_mma_svg", "render_tv_layout_svg", "tidfrg_D", "tidfrg_S",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'forgekit.viz' has no attribute {name!r}")
    module = importlib.import_module(f"forgekit.{_ELSEWHERE.get(name, 'viz.layouts.cute_viz')}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
