"""Draw SVG shapes for the book's pictures, with colours for light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["FONT", "MONO", "THEME", "arrow", "box", "svg", "text"]

# Maps each role to its colours on a light page and on a dark page.
THEME = {
    "ink": ("#1f2933", "#e6e9ee"),
    "dim": ("#52606d", "#a9b4c0"),
    "rim": ("#cbd2d9", "#4a5561"),
    "sheet": ("#ffffff", "#1b1f25"),
    "cell": ("#eef1f4", "#2a3038"),
    "waste": ("#e9b28e", "#a5633a"),
    "wrong": ("#b34700", "#ff9a57"),
    "glow": ("#fdf0e6", "#38271b"),
    "accent": ("#0b6e5f", "#53c7b2"),
    "tint": ("#e3f3ef", "#17352f"),
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def svg(width: int, height: int, body: Sequence[str], theme: int | None = None) -> str:
    """Return an SVG picture whose colours follow the theme of JupyterLab, the book or the system.

    theme: 0 for fixed light colours, 1 for fixed dark colours.
    """

    def variables(index: int) -> str:
        return "".join(f"--{role}:{both[index]};" for role, both in THEME.items())

    style = f".forge{{{variables(theme or 0)}}}"
    if theme is None:
        dark = f"[data-theme=dark] .forge{{{variables(1)}}}"
        style += f"@media (prefers-color-scheme:dark){{.forge{{{variables(1)}}}}}"
        style += f"[data-theme=light] .forge{{{variables(0)}}}{dark}"
    style += "".join(
        f".forge .{r}{{fill:var(--{r})}}.forge .{r}-s{{stroke:var(--{r})}}" for r in THEME
    )
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="forge" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" style="max-width:100%;height:auto" '
        f'font-family="{escape(FONT)}">',
        f"<style>{style}</style>", *body, "</svg>\n",
    ])  # fmt: skip


def box(x: int, y: int, width: int, title: str, note: str, *, strong: bool = False) -> str:
    """Draw a rounded box that contains a title and a smaller line of text."""
    middle = x + width / 2
    ground, rim = ("tint", "accent") if strong else ("sheet", "rim")
    return (
        f'<rect class="{ground} {rim}-s" x="{x}" y="{y}" width="{width}" height="54" rx="8"/>'
        f'<text class="ink" x="{middle:g}" y="{y + 23}" text-anchor="middle" font-size="15" '
        f'font-weight="600">{escape(title)}</text>'
        f'<text class="dim" x="{middle:g}" y="{y + 42}" text-anchor="middle" font-size="13">'
        f"{escape(note)}</text>"
    )


def arrow(*points: tuple[int, int]) -> str:
    path = "M" + " L".join(f"{x} {y}" for x, y in points)
    return (
        f'<path class="dim-s" fill="none" stroke-width="1.4" marker-end="url(#head)" d="{path}"/>'
    )


def text(x: float, y: float, words: str, *, role: str = "ink", size: float = 14,
         weight: int = 400, mono: bool = False) -> str:  # fmt: skip
    """Draw a line of text that begins at x and has its baseline at y. mono: True to draw it as
    code.
    """
    font = f' font-family="{escape(MONO)}"' if mono else ""
    size = 13 if mono else size
    return (
        f'<text class="{role}" x="{x:g}" y="{y:g}" font-size="{size:g}" '
        f'font-weight="{weight}"{font} xml:space="preserve">{escape(words)}</text>'
    )
