"""Define the colours of all pictures, and their meanings, on light and dark pages.

Orange means waste or wrong values, and grey means untouched. Viridis shows lanes or threads.
Blocks, warps and tiles have the hues of Okabe and Ito (https://jfly.uni-koeln.de/color/), which
readers with common forms of colour blindness can distinguish. A ramp from yellow to blue shows
positions in memory or frequencies. Cells are light on every page, so dark text is readable on them,
and a number in a cell repeats the meaning of its colour.
"""

from __future__ import annotations

from collections.abc import Sequence

# Maps each role to its colours on a light page and on a dark page.
THEME = {
    "card": ("#FFFFFF", "#1B1D21"),  # the picture's background
    "rim": ("#DADDE2", "#3A3E46"),  # the edge of the card
    "ink": ("#16191D", "#ECEEF1"),  # titles
    "dim": ("#5B636E", "#A9B1BC"),  # axes and notes
    "rule": ("#858D98", "#78818D"),  # brackets on axes, edges of empty cells
    "quiet": ("#F1F3F5", "#282B31"),  # unremarkable: equal elements, idle lanes
    "alarm": ("#B34700", "#FF9A57"),  # error messages
    "nan": ("#7A2E00", "#FFB27F"),  # a wrong element that is NaN
    "waste": ("#FBE4D3", "#4A2A14"),  # the fill inside a border of WRONG
    "focus": ("#0B62C4", "#7CB8FF"),  # the selection
}
# CSS selectors for pages that declare a light or dark theme: JupyterLab, the book's theme, VS Code.
_LIGHT = ("[data-jp-theme-light=true]", "[data-theme=light]", ".vscode-light")
_DARK = ("[data-jp-theme-light=false]", "[data-theme=dark]", ".vscode-dark")
INK, PAPER = "#16191D", "#FFFFFF"  # text on cells, and space between cells, on every page
NOTHING = "#E9EBEE"  # a cell that no thread holds
WRONG = "#D55E00"  # vermillion: waste or wrong values; visible on light and dark pages
RIGHT, NOTE = "#009E73", "#0072B2"  # bluish green, blue; visible on light and dark pages
UNTOUCHED = "#868C95"  # visible on light and dark pages

# Okabe and Ito's hues without the oranges, which mean waste, plus three more hues, ordered so that
# neighbours in the list differ clearly.
_HUES = ("#56B4E9", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#7A6FBF", "#5B8C2A", "#882255")
_TINTS = (0.38, 0.5, 0.62, 0.74)  # the proportion of white for each bank of four
# Matplotlib's viridis without its first quarter, mixed with 40 % of white.
_VIRIDIS = ("#8997B9", "#80AABB", "#7ABDBA", "#7ECEB3", "#9EDFA1", "#CEEA83", "#FEF17C")

# Lightness decreases along the ramp, so the order is visible even without hue. Dark text is
# readable on every colour.
_RAMP = ("#FCFBDC", "#DDF0BC", "#ADDDB5", "#7CC7BF", "#5FB0CE", "#6698D2", "#7C82CC")
_STEPS = 128


def theme_style(name: str, light: str, dark: str) -> str:
    """Return CSS that gives a class these declarations on light pages and on dark pages."""

    def on(pages: tuple[str, ...]) -> str:
        return ",".join(f"{page} .{name}" for page in pages)

    return (
        f".{name}{{{light}}}@media (prefers-color-scheme:dark){{.{name}{{{dark}}}}}"
        f"{on(_LIGHT)}{{{light}}}{on(_DARK)}{{{dark}}}"
    )


def variables(theme: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """Return declarations of CSS variables for a theme's roles, for light and for dark pages."""
    light, dark = ("".join(f"--fk-{role}:{both[i]};" for role, both in theme.items())
                   for i in range(2))  # fmt: skip
    return light, dark


def mix(colour: str, other: str, share: float) -> str:
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def _along(ramp: Sequence[str], share: float) -> str:
    place = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    at = min(int(place), len(ramp) - 2)
    return mix(ramp[at], ramp[at + 1], place - at)


def offset_colour(offset: int, span: int) -> str:
    """Return an offset's colour: light for the first of `span` offsets, dark for the last."""
    share = offset / max(span - 1, 1)
    if span > _STEPS:  # in a large layout, neighbours share a colour
        share = round(share * (_STEPS - 1)) / (_STEPS - 1)
    return _along(_RAMP, share)


def thread_colour(thread: int, threads: int = 32) -> str:
    """Return a lane's colour on viridis, or a thread's colour among `threads`."""
    return _along(_VIRIDIS, thread % threads / max(threads - 1, 1))


def block_colour(block: int) -> str:
    """Return the colour of a block, a warp or a tile: one of eight hues."""
    return mix(_HUES[block % len(_HUES)], PAPER, _TINTS[0])


def bank_colour(bank: int) -> str:
    """Return one of 32 colours: each group of four banks (16 bytes) has a hue, and each of its
    banks a tint of this hue.
    """
    return mix(_HUES[bank // 4 % len(_HUES)], PAPER, _TINTS[bank % 4])
