"""Compare predicted with measured times for the page on the virtual GPU, as numbers and as a
picture.

`make_readme.py` writes the text between the page's markers from BLOCKS; `make_pictures.py` writes
`pictures/predicted.svg`. Both use `measured/calibration_h200.json`, which was recorded on an H200,
`measured/predicted_h200.json`, and forgekit's constants for an H200.
"""

from __future__ import annotations

import functools
import json
import math
import statistics
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from drawing import svg, text

from forgekit.commands.calibrate import samples_of
from forgekit.profiling.predicting import constants, fitting
from forgekit.profiling.predicting.fitting import Sample
from forgekit.profiling.predicting.model import AGAIN_US, BOUNDS, bounds, microseconds
from forgekit.viz.predicted_page import PREDICTED

__all__ = ["BLOCKS", "accuracy", "drawn"]

MEASURED = Path(__file__).parent / "measured"
CALIBRATION = constants.calibration("H200")
H200 = CALIBRATION.constants
BAND = 1.35  # the factor that the picture's band shows
WORST = 5

# The names that the page uses for kinds of kernels whose own names are unclear.
KINDS = {
    "banks": "bank conflicts",
    "chain": "dependent loads",
    "columns": "sums over columns",
    "cp.async": "asynchronous copies",
    "divergence": "divergent branches",
    "fill": "only stores",
    "gather": "gathers and scatters",
    "imbalance": "blocks of unequal length",
    "product": "matrix products",
    "read": "only loads",
    "registers": "many registers",
    "room": "much shared memory per block",
    "row reduction": "sums over rows",
    "special": "special functions, division",
    "stride": "strided loads and stores",
    "tensor cores": "matrix products on tensor cores",
    "thread per row": "one thread per row",
    "transpose": "transposes",
    "window": "sliding windows",
}
OPERATORS = {
    ("softmax", -1): "softmax",
    ("softmax_backward", -1): "gradient of softmax",
    ("reduce_sum", -1): "sums over rows",
    ("reduce_sum", 0): "sums over columns",
    ("copy_transpose", -1): "transpose",
}


# -- recorded data -----------------------------------------------------------------------------
@functools.cache
def recorded() -> dict[str, Any]:
    """Return the calibration that was recorded on an H200."""
    found: dict[str, Any] = json.loads((MEASURED / "calibration_h200.json").read_text("utf-8"))
    return found


@functools.cache
def samples() -> tuple[Sample, ...]:
    return tuple(samples_of(recorded()))


@functools.cache
def operators() -> dict[str, Any]:
    """Return the predictions for forgekit's operators."""
    found: dict[str, Any] = json.loads((MEASURED / "predicted_h200.json").read_text("utf-8"))
    return found


def size_of(s: Sample) -> int:
    """Return the size under which a sample's time is listed."""
    mine = [other for other in samples() if other.number == s.number]
    return int(recorded()["cases"][s.number]["sizes"][mine.index(s)])


def predicted(s: Sample) -> float:
    return microseconds(s.facts, H200)


def error(s: Sample) -> float:
    return fitting.relative(s.us, predicted(s))


def held_out() -> list[Sample]:
    return [s for s in samples() if s.held_out]


def worst() -> list[Sample]:
    """Return the worst sample of each of the held-out kernels with the WORST largest errors."""
    found: dict[str, Sample] = {}
    for s in sorted(held_out(), key=lambda s: -error(s)):
        found.setdefault(s.case, s)
    return list(found.values())[:WORST]


# -- the page's text -------------------------------------------------------------------------------
def accuracy() -> str:
    """Describe the errors of the predictions for held-out kernels."""
    a = fitting.accuracy(held_out(), H200)
    return (
        f"half are predicted to within {_percent(a.median)}, nine in ten to within "
        f"{_percent(a.p90)}, and {_percent(a.within)} to within 35 %"
    )


def _accuracy() -> str:
    data, a = recorded(), fitting.accuracy(held_out(), H200)
    versions, kinds = data["versions"], {s.kind for s in samples()}
    kernels = len({s.number for s in held_out()})
    factors = {name: f for name, f in CALIBRATION.factors.items() if name != "all"}
    best, least = min(factors, key=lambda n: factors[n]), max(factors, key=lambda n: factors[n])
    return (
        f"On one {versions['gpu']} ({data['date']}, CUDA {versions['cuda']}, torch "
        f"{versions['torch']}, CuTe DSL {versions['nvidia-cutlass-dsl']}), {len(data['cases'])} "
        f"kernels of {len(kinds)} kinds were timed at three sizes each ({data['method']}). The "
        "constants were fitted to two of every three kernels. Every third kernel was held out: "
        f"{kernels} "
        f"kernels, {a.count} times. Of these, {accuracy()}. Of the pairs of held-out times that "
        "differ by 25 % or"
        f" more, {_percent(a.order)} are predicted in the right order.\n\n"
        f"![{_alt()}](pictures/predicted.svg)\n\n"
        "An error of 25 % means that the longer of the two times is 1.25 times as long as the "
        "shorter one. The interval around a prediction is given by a factor. The "
        f"{len(samples())} times are grouped by their longest bound; nine in ten times in each "
        f"group are within the interval. The factor ranges from {factors[best]:.2f} "
        f"({BOUNDS[best]}) to {factors[least]:.2f} ({BOUNDS[least]}), and is "
        f"{CALIBRATION.factors['all']:.2f} for a bound with fewer than 12 of these times."
    )


def _alt() -> str:
    low, high = (of(s.us for s in samples()) for of in (min, max))
    off = worst()[0]
    return (
        f"Predicted against measured microseconds of {len(samples())} launches, both axes "
        f"logarithmic, from {low:.1f} to {high:,.0f} µs. Most points lie on the line of equality or"
        f" close to it, within a band of 35 % on either side. {len(held_out())} triangles are times"
        f" of held-out kernels; {len(samples()) - len(held_out())} rings are times of the other "
        f"kernels. One triangle is far below the band: {off.case}, measured {off.us:.1f} µs, "
        f"predicted {predicted(off):.1f} µs."
    )


def _kinds() -> str:
    by_kind: dict[str, list[Sample]] = {}
    for s in samples():
        by_kind.setdefault(s.kind, []).append(s)
    rows = []
    for kind, all_ in by_kind.items():
        own = [s for s in all_ if s.held_out]
        a, kernels = fitting.accuracy(all_, H200), len(all_) // 3
        if own:
            half = fitting.accuracy(own, H200).median
            shown = f"{_percent(half)} | {_percent(max(map(error, own)))}"
        else:
            half, shown = math.inf, "– | –"
        name = KINDS.get(kind, kind)
        rows.append((half, f"| {name} | {len(own) // 3} of {kernels} | {shown} "
                           f"| {_percent(a.median)} |"))  # fmt: skip
    head = ("| kernels | held out | median error, held out | worst error, held out "
            "| median error, all times |")  # fmt: skip
    return "\n".join([head, "|---|---|---|---|---|", *(row for _, row in sorted(rows))])


def _worst() -> str:
    lines = []
    for s in worst():
        lines.append(
            f"- **`{s.case}`**, {size_of(s):,} {_sized(s)}: measured {_us(s.us)} µs, predicted "
            f"{_us(predicted(s))} µs, bound by {BOUNDS[_longest(s)]}. {_REASONS[s.case](s)}"
        )
    return "\n".join(lines)


def _sized(s: Sample) -> str:
    return "rows and columns" if s.kind == "tensor cores" else "elements"


def _longest(s: Sample) -> str:
    of = bounds(s.facts[0], H200)
    return max(of, key=lambda name: of[name])


def _room(s: Sample) -> float:
    """Return a sample's measured time in cycles, without the time to start the launch."""
    return (s.us - H200.start_us) * H200.clock * 1e3


def _of(case: str) -> list[Sample]:
    return [s for s in samples() if s.case == case]


def _far_apart(s: Sample) -> str:
    def per_sector(one: Sample) -> float:
        return (one.us - H200.start_us) / one.facts[0].sectors["global_store"]

    near, smaller = _of("strided write 8")[2], _of(s.case)[1]
    return (
        "Each thread stores 4 of the 32 bytes of a sector, and the next sector is 128 bytes away. "
        f"A sector took {per_sector(s) / per_sector(near):.1f} times as long as in `{near.case}`, "
        "whose sectors are adjacent; the model assumes the same cost for both. At "
        f"{size_of(smaller):,} elements, where the stored sectors are "
        f"{32e-6 * smaller.facts[0].sectors['global_store']:.1f} MB and fit into L2, the error is "
        f"{_percent(error(smaller))}."
    )


def _in_flight(s: Sample) -> str:
    f = s.facts[0]
    waits = bounds(f, H200)["latency"] * H200.clock * 1e3
    return (
        f"Its {f.blocks} blocks do little but wait. The loop with the running maximum has one load "
        "per iteration, and the model makes each iteration wait for its own load: "
        f"{_round(waits):,} cycles per block. The measured time allows for only "
        f"{_round(_room(s)):,}, "
        "so loads from several iterations must have been in flight at once."
    )


def _whole_line(s: Sample) -> str:
    def per_request(one: Sample) -> float:
        return (one.us - H200.start_us) / one.facts[0].requests["global_reduction"]

    single = _of("atomic warp")[-1]
    return (
        "Each warp adds to one 128-byte line, one word per lane. Such a request took "
        f"{per_request(s) / per_request(single):.2f} times as long as a request of "
        f"`{single.case}`, "
        "which adds to a single word; the model assumes the same cost for both."
    )


def _interleaved(s: Sample) -> str:
    f = s.facts[0]
    waits = f.waits["compute"] / f.warps
    return (
        "Each thread has four independent chains of instructions. In PTX, the instructions of one "
        "chain follow "
        f"each other, so the model adds {_round(waits):,} cycles of waiting to "
        f"{_round(f.issued / f.warps):,} cycles of issue per warp. The measured time allows for "
        "only "
        f"{_round(_room(s)):,} in total, so the machine code must interleave the chains."
    )


def _products(s: Sample) -> str:
    times = [x.us / predicted(x) for x in samples() if x.kind == s.kind]
    count = {9: "nine"}[len(times)]
    return (
        f"All {count} times of this kind are longer than predicted, by factors of {min(times):.2f} "
        "to "
        f"{max(times):.2f}, at each of the three tile sizes. The operands are loaded directly "
        "from global memory. The model lacks a term for this case, but we do not know which one."
    )


# The reasons for the worst predictions, as far as the bounds and counts reveal them. A kernel that
# is among the worst only after a new calibration needs an entry.
_REASONS = {
    "strided write 32": _far_apart,
    "softmax 4 online of 4096": _in_flight,
    "atomic lane": _whole_line,
    "logic 128x4 of 128": _interleaved,
    "tensor product 128": _products,
}


def _operators() -> str:
    found = operators()
    shown = [p for p in found["predictions"] if p["predicted_us"] is not None]
    errors = sorted(fitting.relative(p["measured_us"], p["predicted_us"]) for p in shown)
    within = sum(_interval(p)[0] <= p["measured_us"] <= _interval(p)[1] for p in shown)
    lines = [
        "| operator | input | predicted (interval), µs | measured, µs | predicted / measured |",
        "|---|---|---|---|---|",
        *(_operator(p) for p in found["predictions"]),
    ]
    graphs = sum(_in_graph(p) for p in found["predictions"])
    dates = {file: _date(file) for file in dict.fromkeys(p["file"] for p in found["predictions"])}
    files = ", ".join(f"`{file}` ({date})" for file, date in dates.items())
    said = (
        "No time is withheld, because the calibration covers all operations in these kernels."
        if len(shown) == len(found["predictions"]) else
        f"{len(found['predictions']) - len(shown)} times are withheld; the table explains why."
    )  # fmt: skip
    return (
        f"Half of the {len(shown)} times are predicted to within "
        f"{_percent(statistics.median(errors))}"
        f", and the worst to within {_percent(errors[-1])}; {within} are within their interval. "
        f"{said} "
        f"Measured times are from {files}, all from one H200. In each launch, {found['blocks']} "
        "blocks "
        f"were counted. The {graphs} times of softmax and its gradient (*) are from successive "
        "calls "
        f"in a CUDA graph, so their predictions include {AGAIN_US:g} µs for "
        f"the start of a launch instead of {H200.start_us:g} µs.\n\n" + "\n".join(lines)
    )


def _operator(p: dict[str, Any]) -> str:
    shape = " × ".join(f"{n:,}" for n in p["shape"])
    name = OPERATORS[p["op"], p["dim"]]
    if p["predicted_us"] is None:
        return f"| {name} | {shape} {p['dtype']} | {'; '.join(p['reasons'])} " \
               f"| {_us(p['measured_us'])} | – |"  # fmt: skip
    low, high = _interval(p)
    star = "*" if _in_graph(p) else ""
    return (
        f"| {name} | {shape} {p['dtype']} | {_us(p['predicted_us'])} ({_us(low)} to {_us(high)}) "
        f"| {_us(p['measured_us'])}{star} | {p['predicted_us'] / p['measured_us']:.2f} |"
    )


def _interval(p: dict[str, Any]) -> tuple[float, float]:
    factor = CALIBRATION.factors.get(p["bound"], CALIBRATION.factors["all"])
    return p["predicted_us"] / factor, p["predicted_us"] * factor


def _in_graph(p: dict[str, Any]) -> bool:
    return bool(p["file"] == "softmax_peers_h200.json")


def _date(file: str) -> str:
    return str(json.loads((MEASURED / file).read_text("utf-8"))["date"])


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _us(value: float) -> str:
    """Format a time with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def _round(cycles: float) -> int:
    """Round a number of cycles to two significant digits."""
    unit = 10 ** (math.floor(math.log10(cycles)) - 1)
    return round(cycles / unit) * unit


BLOCKS = {
    "accuracy": _accuracy,
    "kinds": _kinds,
    "worst": _worst,
    "predicted_operators": _operators,
}


# -- the picture -----------------------------------------------------------------------------------
SIDE, LEFT, TOP = 372, 56, 12  # px: the field, and the margins to its left and above it
LOWEST, HIGHEST = 3.0, 10000.0  # µs
TICKS = (5, 20, 100, 500, 2000)


def _at(us: float) -> float:
    """Return a time's distance in pixels from the plot's left edge or from its bottom."""
    return SIDE * math.log(us / LOWEST) / math.log(HIGHEST / LOWEST)


def drawn() -> str:
    """Draw the predicted against the measured time of each sample."""
    foot, right = TOP + SIDE, LEFT + SIDE
    body = [
        '<clipPath id="field">'
        f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}"/></clipPath>',
        f'<g clip-path="url(#field)"><path class="tint" d="{_band()}"/>'
        f'<path class="accent-s" stroke-width="1.2" d="M{LEFT} {foot}L{right} {TOP}"/></g>',
        *(_tick(us) for us in TICKS),
        f'<rect class="rim-s" fill="none" x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>',
        *_points(),
        _middle(LEFT + SIDE / 2, foot + 40, "measured on an H200, µs"),
        f'<g transform="rotate(-90 14 {TOP + SIDE / 2:g})">'
        f"{_middle(14, TOP + SIDE / 2 + 4, 'predicted, µs')}</g>",
        *_legend(),
    ]
    return svg(right + 12, foot + 50, body)


def _band() -> str:
    """Return the path of the band around the line of equality."""
    off = SIDE * math.log(BAND) / math.log(HIGHEST / LOWEST)
    foot, right = TOP + SIDE, LEFT + SIDE
    return (
        f"M{LEFT} {foot - off:.1f}L{right} {TOP - off:.1f}"
        f"L{right} {TOP + off:.1f}L{LEFT} {foot + off:.1f}z"
    )


def _tick(us: float) -> str:
    x, y = LEFT + _at(us), TOP + SIDE - _at(us)
    return (
        f'<path class="rim-s" stroke-width="0.6" d="M{x:.1f} {TOP}V{TOP + SIDE}'
        f'M{LEFT} {y:.1f}H{LEFT + SIDE}"/>'
        + _middle(x, TOP + SIDE + 19, f"{us:,}")
        + f'<text class="dim" x="{LEFT - 6}" y="{y + 4.5:.1f}" text-anchor="end" '
        f'font-size="13">{us:,}</text>'
    )


def _middle(x: float, y: float, words: str) -> str:
    return (
        f'<text class="dim" x="{x:.1f}" y="{y:g}" text-anchor="middle" font-size="13">'
        f"{escape(words)}</text>"
    )


def _points() -> Iterable[str]:
    """Yield the points: rings first, so that triangles cover them."""
    for s in sorted(samples(), key=lambda s: s.held_out):
        x, y = LEFT + _at(s.us), TOP + SIDE - _at(predicted(s))
        words = f"{s.case}: measured {_us(s.us)} µs, predicted {_us(predicted(s))} µs"
        yield _mark(x, y, s.held_out, words)
    off = worst()[0]
    x, y = LEFT + _at(off.us) + 8, TOP + SIDE - _at(predicted(off)) + 5
    yield text(x, y, off.case, size=13)


def _mark(x: float, y: float, is_held_out: bool, words: str = "") -> str:
    title = f"<title>{escape(words)}</title>" if words else ""
    if is_held_out:
        return (
            f'<path class="sheet-s" fill="{PREDICTED}" stroke-width="0.6" '
            f'd="M{x:.1f} {y - 4.2:.1f}l4 7h-8z">{title}</path>'
        )
    return (
        f'<circle class="dim-s" fill="none" stroke-width="1" cx="{x:.1f}" cy="{y:.1f}" r="2.6">'
        f"{title}</circle>"
    )


def _legend() -> Sequence[str]:
    """Draw the legend in the upper left corner, which has no points."""
    x, y = LEFT + 18, TOP + 22
    entries: tuple[tuple[str, str], ...] = (
        (_mark(x, y, True), "held out of the fit"),
        (_mark(x, y + 22, False), "used for the fit"),
        (
            f'<path class="accent-s" stroke-width="1.4" d="M{x - 8} {y + 44}h16"/>',
            "predicted = measured",
        ),
        (
            f'<rect class="tint accent-s" stroke-width="0.5" x="{x - 8}" y="{y + 60}" width="16" '
            'height="12"/>',
            "error below 35 %",
        ),
    )
    return [
        mark + text(x + 16, y + 4.5 + 22 * k, words, size=13)
        for k, (mark, words) in enumerate(entries)
    ]
