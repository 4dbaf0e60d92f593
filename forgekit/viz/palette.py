"""Colours of pictures: of offsets, threads, banks, and of the page in light and dark.

Hues are Okabe and Ito's, which people with any of the usual colour blindnesses can tell apart
(https://jfly.uni-koeln.de/color/); a number in each cell says the same as its colour.
"""

from __future__ import annotations

from collections.abc import Sequence

# Role -> colour on a light page, colour on a dark page.
THEME = {
    "card": ("#FFFFFF", "#1B1D21"),  # the picture's own ground
    "rim": ("#DADDE2", "#3A3E46"),  # of the card
    "ink": ("#16191D", "#ECEEF1"),  # titles
    "dim": ("#5B636E", "#A9B1BC"),  # axes and notes
    "rule": ("#9AA2AD", "#6F7783"),  # brackets of axes
}
# Pages that say whether they are light or dark: JupyterLab, the book's theme, VS Code.
_LIGHT = ("[data-jp-theme-light=true]", "[data-theme=light]", ".vscode-light")
_DARK = ("[data-jp-theme-light=false]", "[data-theme=dark]", ".vscode-dark")
INK, PAPER = "#16191D", "#FFFFFF"  # text on cells, which are light on every page, and between them
NOTHING = "#E9EBEE"  # a cell that no thread holds
ACCENT = "#D55E00"  # what deserves attention

# Neighbours in the list differ most; yellow and the two blues lie apart.
_HUES = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#D55E00", "#7A6FBF")
_TINTS = (0.38, 0.58, 0.74, 0.16)  # how much white; the eighth, sixteenth … thread takes the next

# Lightness falls all the way, so the order stays visible without hue; dark text reads on all.
_RAMP = ("#FCFBDC", "#DDF0BC", "#ADDDB5", "#7CC7BF", "#5FB0CE", "#6698D2", "#7C82CC")
_STEPS = 128


def theme_style(name: str, light: str, dark: str) -> str:
    """CSS that gives a class its declarations on light pages, or those on dark ones."""

    def on(pages: tuple[str, ...]) -> str:
        return ",".join(f"{page} .{name}" for page in pages)

    return (
        f".{name}{{{light}}}@media (prefers-color-scheme:dark){{.{name}{{{dark}}}}}"
        f"{on(_LIGHT)}{{{light}}}{on(_DARK)}{{{dark}}}"
    )


def variables(theme: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """CSS variables of a theme's roles, on light pages and on dark ones."""
    light, dark = ("".join(f"--fk-{role}:{both[i]};" for role, both in theme.items())
                   for i in range(2))  # fmt: skip
    return light, dark


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(colour: str, other: str, share: float) -> str:
    """`colour` with a share (0 to 1) of `other`."""
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2: 0 is black, 1 white."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
              for c in (v / 255 for v in _rgb(colour))]  # fmt: skip
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def offset_colour(offset: int, span: int) -> str:
    """Light for the first offset of `span`, dark for the last: the way memory runs."""
    share = offset / max(span - 1, 1)
    if span > _STEPS:  # neighbours of a large layout share a colour
        share = round(share * (_STEPS - 1)) / (_STEPS - 1)
    place = min(max(share, 0.0), 1.0) * (len(_RAMP) - 1)
    at = min(int(place), len(_RAMP) - 2)
    return mix(_RAMP[at], _RAMP[at + 1], place - at)


def _tinted(hues: Sequence[str], hue: int, tint: int) -> str:
    return mix(hues[hue % len(hues)], PAPER, _TINTS[tint % len(_TINTS)])


def thread_colour(thread: int) -> str:
    """One of 32 colours: equal for equal lanes of different warps."""
    return _tinted(_HUES, thread, thread // len(_HUES))


def bank_colour(bank: int) -> str:
    """One of 32 colours: a hue for each 16 bytes (four banks), a tint for the bank in it."""
    return _tinted(_HUES, bank // 4, (3, 0, 1, 2)[bank % 4])
