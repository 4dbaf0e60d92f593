"""Style matplotlib plots with the fonts and colours of the other pictures, for light and dark
pages.
"""

from __future__ import annotations

import functools
import hashlib
import html
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from PIL import Image

from forgekit.show import Picture
from forgekit.viz.page import living
from forgekit.viz.palette import THEME
from forgekit.viz.raster import small_png
from forgekit.viz.svg import SANS, responsive

TEXT, INK = THEME["dim"][0], THEME["ink"][0]
# Colours that are visible on light and dark pages. Orange is excluded, because it means waste.
SERIES = ("#0072B2", "#009E73", "#C4609A", "#2E9BD6", "#7A6FBF", "#8C7A2B", "#5B8C2A")
SMALL = 8.0  # in points
WIDTH = 8.3  # in inches; 797 CSS pixels
_DPI, CSS_PIXELS = 144, 96  # pixels per inch in the PNG and on the page

# Print the `$` in names and messages literally.
STYLE: Any = {
    "font.size": SMALL, "text.color": TEXT, "text.parse_math": False,
    "axes.titlesize": SMALL, "axes.titlecolor": TEXT, "axes.titlelocation": "left",
    "axes.labelsize": SMALL, "axes.labelcolor": TEXT, "axes.edgecolor": TEXT,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "legend.fontsize": SMALL, "legend.labelcolor": TEXT, "legend.frameon": False,
}  # fmt: skip
styled = matplotlib.rc_context(STYLE)  # a decorator for functions that draw


@dataclass(frozen=True, eq=False, repr=False)
class TimingPicture(Picture):
    """A matplotlib picture. figure: the figure; words: text that contains all facts and numbers in
    the figure.
    """

    figure: Figure
    words: str

    @functools.cached_property
    def png(self) -> bytes:
        return figure_png(self.figure, _DPI)

    @functools.cached_property
    def svg(self) -> str:
        """Return the picture as an SVG document with the page's colours."""
        drawn = figure_svg(self.figure, hashlib.sha256(self.words.encode()).hexdigest()[:8])
        for role, (light, _) in THEME.items():
            drawn = re.sub(rf"(fill|stroke): {light}", rf"\1: var(--fk-{role},{light})", drawn,
                           flags=re.IGNORECASE)  # fmt: skip
        width, height = (CSS_PIXELS * inches for inches in self.figure.get_size_inches())
        body = drawn[drawn.index("<defs") : drawn.rindex("</svg>")]
        scale = width / float(re.findall(r'viewBox="0 0 ([\d.]+)', drawn)[0])
        card = f'<rect class="card rim-s" width="{width:g}" height="{height:g}" rx="8"/>'
        inside = f'{card}<g transform="scale({scale:.6g})">{body}</g>'
        return responsive((0.0, 0.0, width, height), self.alt, inside)

    @property
    def summary(self) -> str:
        return self.words


def timing_html(shown: TimingPicture) -> str:
    drawn = f'<div class="fk-scroll" style="overflow-x:auto">{shown.svg}</div>'
    return living(shown.png, drawn, shown.alt, shown.figure.get_size_inches()[0] * CSS_PIXELS)


def figure_png(figure: Figure, dpi: int) -> bytes:
    """Return a figure as a PNG on a white background. Equal figures give equal bytes."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi)
    drawn = Image.open(file).convert("RGBA")
    return small_png(Image.alpha_composite(Image.new("RGBA", drawn.size, "white"), drawn))


def figure_svg(figure: Figure, key: str) -> str:
    """Return a figure as SVG, with unique ids and with text as text elements. Equal figures give
    equal bytes.
    """
    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": key, "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = re.sub(r"<metadata>.*?</metadata>", "", file.getvalue(), flags=re.DOTALL)
    # Some ids in matplotlib's SVG depend on memory addresses.
    made = dict.fromkeys(re.findall(r'\bid="([mp][0-9a-f]{10})"', svg))
    for number, name in enumerate(made):
        svg = svg.replace(name, f"{name[0]}{number}")
    seen: Counter[str] = Counter()

    def once(found: re.Match[str]) -> str:  # several texts may share a gid
        seen[found[1]] += 1
        return found[0] if seen[found[1]] == 1 else f'id="{found[1]}-{seen[found[1]]}"'

    svg = re.sub(r'\bid="([^"]+)"', once, svg[svg.index("<svg") :])
    svg = re.sub(r'\b(id="|url\(#|href="#)', rf"\g<1>{key}-", svg).replace("xlink:href", "href")
    return " ".join(svg.replace("'DejaVu Sans'", html.escape(SANS)).split())


def text_at(figure: Figure, x: float, y: float, text: str, **style: Any) -> None:
    """Draw text with its top at (x, y), in inches."""
    width, height = figure.get_size_inches()
    figure.text(x / width, y / height, text, va="top", **style)
