"""Write a Scene as SVG: the same scene, the same bytes; no ids, dates or outside references."""

from __future__ import annotations

import itertools
from xml.sax.saxutils import escape, quoteattr

from forgekit.viz.layouts.scene import Cell, Item, Label, Line, Rect, Scene, Tiles
from forgekit.viz.palette import INK, THEME, theme_style, variables

CELL_GAP = 0.75  # px between cells
HATCH = "#B4BAC3"

_SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_BASELINE = 0.35  # of the letters' size, from the middle of the line down to the baseline


def _style() -> str:
    # Renderers that know no variables keep the attribute beside the class, the light colour.
    fills = "".join(f".fk-layout .{role}{{fill:var(--fk-{role})}}" for role in THEME)
    strokes = "".join(f".fk-layout .{role}-s{{stroke:var(--fk-{role})}}" for role in THEME)
    numbers = ".fk-layout text{font-variant-numeric:tabular-nums;white-space:pre}"
    return theme_style("fk-layout", *variables(THEME)) + fills + strokes + numbers


def svg_text(scene: Scene) -> str:
    """The scene as an SVG document; cells carry `data-…` attributes with what they stand for."""
    width, height = _number(scene.width), _number(scene.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fk-layout" role="img" '
        f'aria-label={quoteattr(scene.title)} viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" style="max-width:100%;height:auto" font-family="{_SANS}">',
        f"<title>{escape(scene.title)}</title>",
        f"<desc>{escape(scene.words)}</desc>",
        f"<style>{_style()}</style>",
    ]
    for panel in scene.panels:
        parts.append(f"<g data-panel={quoteattr(panel.name)}>")
        for is_cell, items in itertools.groupby(panel.items, lambda item: isinstance(item, Cell)):
            written = [_item(item) for item in items]
            # What all cells have in common is said once: it halves the file.
            parts += (
                [f'<g fill="{INK}" text-anchor="middle">', *written, "</g>"] if is_cell else written
            )
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _paint(fill: str | None, stroke: str | None = None, width: float = 1.0) -> str:
    """Attributes for colours that are fixed, classes beside them for those of the page."""
    classes, out = [], ""
    for attribute, suffix, colour in (("fill", "", fill), ("stroke", "-s", stroke)):
        if colour is None:
            out += ' fill="none"' if attribute == "fill" else ""
            continue
        if colour in THEME:
            classes.append(colour + suffix)
            colour = THEME[colour][0]
        out += f' {attribute}="{colour}"'
    if stroke is not None and width != 1:
        out += f' stroke-width="{_number(width)}"'
    return out + (f' class="{" ".join(classes)}"' if classes else "")


def _item(item: Item) -> str:
    n = _number
    match item:
        case Cell():
            return _cell(item)
        case Label():
            return _label(item)
        case Line():
            paint = _paint(None, item.stroke, item.width)
            return f'<path d="M{n(item.x1)} {n(item.y1)}L{n(item.x2)} {n(item.y2)}"{paint}/>'
        case Rect():
            round_ = f' rx="{n(item.radius)}"' if item.radius else ""
            paint = _paint(item.fill, item.stroke, item.stroke_width)
            return f"{_rect(item.x, item.y, item.width, item.height)}{round_}{paint}/>"
        case Tiles():
            return _tiles(item)


def _rect(x: float, y: float, width: float, height: float) -> str:
    n = _number
    return f'<rect x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}"'


def _label(label: Label) -> str:
    y = label.y + label.size * _BASELINE
    anchor = "" if label.anchor == "start" else f' text-anchor="{label.anchor}"'
    weight = ' font-weight="600"' if label.bold else ""
    family = f' font-family="{_MONO}"' if label.mono else ""
    return (
        f'<text x="{_number(label.x)}" y="{_number(y)}" font-size="{_number(label.size)}"'
        f"{anchor}{weight}{family}{_paint(label.fill)}>{escape(label.text)}</text>"
    )


def _cell(cell: Cell) -> str:
    data = "".join(f" data-{key}={quoteattr(value)}" for key, value in cell.data)
    n = _number
    box = cell.x, cell.y, cell.width - CELL_GAP, cell.height - CELL_GAP
    out = [f'<g{data}>{_rect(*box)} fill="{cell.fill}"/>']
    if cell.hatched:
        out.append(f'<path d="{_strokes(cell)}" stroke="{HATCH}"/>')
    for x, y, text, size, bold, anchor in cell_texts(cell):
        more = ' font-weight="600"' if bold else ""
        more += f' text-anchor="{anchor}"' if anchor != "middle" else ""
        at = f'x="{n(x)}" y="{n(y + size * _BASELINE)}" font-size="{n(size)}"'
        out.append(f"<text {at}{more}>{escape(text)}</text>")
    return "".join([*out, "</g>"])


def cell_texts(cell: Cell) -> list[tuple[float, float, str, float, bool, str]]:
    """Where a cell's texts stand: x, y of the line's middle, text, size, bold, anchor."""
    middle = cell.x + cell.width / 2
    step = cell.size * 1.22
    top = cell.y + cell.height / 2 - step * (len(cell.lines) - 1) / 2
    if cell.corner and len(cell.lines) > 1:
        top += cell.size * 0.36
    texts = [(middle, top + step * i, line, cell.size if i == 0 else cell.size * 0.88,
              i == 0 and len(cell.lines) > 1, "middle")
             for i, line in enumerate(cell.lines)]  # fmt: skip
    if cell.corner:
        size = cell.size * 0.62
        right = cell.x + cell.width - 2
        texts.append((right, cell.y + size * 0.72, cell.corner, size, True, "end"))
    return texts


def hatch_lines(cell: Cell, step: float = 7.0) -> list[tuple[float, float, float, float]]:
    """Strokes across a cell, from lower left to upper right, as x1, y1, x2, y2."""
    lines, reach = [], step / 2
    while reach < cell.width + cell.height:
        x1, x2 = max(reach - cell.height, 0.0), min(reach, cell.width)
        lines.append((cell.x + x1, cell.y + reach - x1, cell.x + x2, cell.y + reach - x2))
        reach += step
    return lines


def _strokes(cell: Cell) -> str:
    n = _number
    return "".join(f"M{n(a)} {n(b)}L{n(c)} {n(d)}" for a, b, c, d in hatch_lines(cell))


def _tiles(tiles: Tiles) -> str:
    n, w, h = _number, tiles.width, tiles.height
    out = []
    for colour, runs in tiles.runs.items():
        path = "".join(
            f"M{n(tiles.x + c * w)} {n(tiles.y + r * h)}h{n(k * w)}v{n(m * h)}h{n(-k * w)}z"
            for c, r, k, m in runs
        )
        out.append(f'<path d="{path}" fill="{colour}" shape-rendering="crispEdges"/>')
    return "".join(out)
