"""Test pictures of benchmarks: drawn items, readability, and the text."""

from __future__ import annotations

import base64
import itertools
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import forgekit as fk
from forgekit.benching.measuring import Counters, Measured
from forgekit.benching.notebook.results import Benchmark, Sweep, VariantOutcome
from forgekit.benching.recorded import recorded
from forgekit.benching.timing import Timing
from forgekit.errors import UsageError
from forgekit.profiling.gpus import gpu_named
from forgekit.viz.timing.chart import apart, look, wrapped
from forgekit.viz.timing.style import TEXT, timing_html
from tests.viz.pictures import assert_legible, boxes, texts

MOVED = 2 * 2048 * 2048 * 4
LONG = (
    "vectorised_with_a_very_long_name_of_128_bits_and_swizzle",
    "a name of many words that goes on",
)


def timed(gbps: float, moved: int = MOVED) -> Measured:
    ms = moved / gbps / 1e6
    return Measured(moved, Timing(ms, 0.97 * ms, 1.05 * ms))


def counted(loads: float, stores: float, conflicts: int, instructions: float, moved: int = MOVED,
            wavefronts: int | None = None) -> Measured:  # fmt: skip
    n = moved // 256
    waves = 2 * n if wavefronts is None else wavefronts
    counts = Counters(1, n, int(n * loads), n, int(n * stores), 0, 0, 0, moved, waves, conflicts,
                      int(instructions * moved / 32), int(instructions * moved))  # fmt: skip
    return Measured(moved, counters=counts)


RATES = {"naive": 534, "padded": 1676, "swizzled": 3900, "torch": 1153, "torch.compile": 4082}
TIMES = {name: timed(rate) for name, rate in RATES.items()}
COUNTS = {
    "scatter": counted(4, 32, 0, 3.7, wavefronts=0),
    "gather": counted(32, 4, 0, 3.7, wavefronts=0),
    "shared tile": counted(4, 4, MOVED // 256, 6.1),
    "padded": counted(4, 4, 0, 6.2),
    "torch": Measured(MOVED),
}
RUN = recorded("week0/07_transpose")


def benchmark(rows: dict[str, Any], kind: str = "virtual", **change: Any) -> Benchmark:
    """Make a benchmark. rows: maps a name to a Measured or to the reason for its absence."""
    outcomes = tuple(
        VariantOutcome(name, None, m) if isinstance(m, str) else VariantOutcome(name, m)
        for name, m in rows.items()
    )
    moved = next((o.measured.moved_bytes for o in outcomes if o.measured is not None), MOVED)
    b = Benchmark(
        outcomes, kind, "NVIDIA H200" if kind == "gpu" else "virtual GPU (sm_90a)",
        "2048×2048 float32, 2048×2048 float32", (2048, 2048), "float32", moved, False,
        4218.0 if kind == "gpu" else None, True, None, "2026-11-21",
    )  # fmt: skip
    return replace(b, **change)


def sweep(rows: dict[str, Any], sizes: list[int], kind: str = "virtual", **change: Any) -> Sweep:
    """Make a sweep, one benchmark per size. rows: maps a name to a function of the size."""
    found = [
        benchmark({k: m(n) if callable(m) else m for k, m in rows.items()}, kind, **change)
        for n in sizes
    ]
    return Sweep(tuple(sizes), tuple(found), "N of N×N float32")


def said(figure: Any, gid: str | None = None) -> str:
    return " ".join(texts(figure, gid)).replace("\n", " ")


def labels(axis: Any) -> list[str]:
    return [t.get_text() for t in axis.get_ticklabels() if t.get_text()]


# -- bars of times ------------------------------------------------------------------------------
def test_rates_beside_the_ceiling() -> None:
    shown = benchmark(TIMES, "gpu").plot()
    bars = {b.get_facecolor(): b.get_width() for b in boxes(shown.figure, "bar")}
    assert len(bars) == 5  # every bar has a different colour
    widths = list(bars.values())
    assert widths == pytest.approx([widths[0] * rate / 534 for rate in RATES.values()])
    words = said(shown.figure)
    assert texts(shown.figure, "name") == list(RATES)
    for text in ("ceiling: 4,218 GB/s, a copy in the same run", "GB/s, with the 20th", "1,676 GB/s",
                 "40 %", "0.0200 ms", "each tensor read or written once"):  # fmt: skip
        assert text in words
    assert_legible(shown.figure)
    figure = benchmark(TIMES, "gpu", recorded=RUN).plot().figure
    marks = [line for line in figure.axes[0].lines if line.get_gid() == "recorded"]
    assert len(marks) == 3  # padded, swizzled, torch
    assert "Diamonds: the recorded rates." in texts(figure)
    assert_legible(figure)


def test_the_percentiles_stand_around_the_median() -> None:
    figure = benchmark({"a": timed(2000)}, "gpu").plot().figure
    (bar,) = boxes(figure, "bar")
    (drawn,) = figure.axes[0].containers[-1].lines[2]  # errorbar's line
    low, high = drawn.get_segments()[0][:, 0]
    assert [low, bar.get_width(), high] == pytest.approx([2000 / 1.05, 2000, 2000 / 0.97])


# -- bars of counts -----------------------------------------------------------------------------
def test_counts_by_variant() -> None:
    figure = benchmark(COUNTS).plot().figure
    heads = said(figure, "head")
    for words in ("bytes moved per byte needed", "sectors per load (32 bytes each)",
                  "bank conflicts, % of wavefronts", "PTX instructions per byte"):  # fmt: skip
        assert words in heads
    assert texts(figure, "value")[:4] == ["4.50×", "4.50×", "1.00×", "1.00×"]
    assert texts(figure, "value")[12:16] == ["–", "–", "50.0", "0.0"]  # no shared memory; 0
    assert texts(figure, "reason") == ["not counted here"]
    assert "recorded" not in heads
    assert_legible(figure)


def test_recorded_rates_beside_counts() -> None:
    figure = benchmark(COUNTS, recorded=RUN).plot().figure
    heads = said(figure, "head")
    assert f"GB/s recorded on an H200, {RUN.date}; a copy: 4,218" in heads
    hollow = [b for b in boxes(figure, "bar") if not b.get_fill()]
    assert len(hollow) == 5 and "1,160" in texts(figure, "value")  # also for uncounted variants
    assert_legible(figure)


@pytest.mark.parametrize("kind", ["gpu", "virtual"])
@pytest.mark.parametrize("count", [1, 12])
def test_names_of_any_length(kind: str, count: int) -> None:
    one = timed(3000) if kind == "gpu" else counted(4, 4, 0, 3.0)
    rows: dict[str, Any] = {f"{LONG[i % 2]} {i}": one for i in range(count)}
    rows["bad"] = "wrong result: 12 of 100 elements differ"
    rows["oom"] = "failed: OutOfMemoryError: " + "a long story, " * 20
    figure = benchmark(rows, kind).plot().figure
    assert_legible(figure)
    assert texts(figure, "reason") == ["wrong result: 12 of 100 elements differ",
                                       "failed; see below"]  # fmt: skip
    assert "a long story" in said(figure)
    assert_legible(sweep(rows, [32, 64, 128], kind).plot().figure)


# -- lines --------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [[1024], [1024, 2048, 4096], [2**k for k in range(4, 16)]])
def test_lines_of_times(sizes: list[int]) -> None:
    figure = sweep(TIMES, sizes, "gpu").plot().figure
    axes = figure.axes[0]
    assert axes.get_xscale() == "log" and axes.get_yscale() == "linear"
    assert labels(axes.xaxis) == [f"{n:,}" for n in sizes]
    lines = {line.get_gid(): line for line in axes.lines}
    assert lines["padded"].get_ydata() == pytest.approx([100 * 1676 / 4218] * len(sizes))
    looks = [(lines[name].get_color(), lines[name].get_marker()) for name in RATES]
    assert len({c for c, _ in looks}) == len({m for _, m in looks}) == 5
    assert len(axes.collections) == 5  # one band per line
    assert "ceiling" in lines and set(RATES) <= set(texts(figure, "name"))
    assert "N of N×N float32" in texts(figure, "unit")
    assert_legible(figure)


def test_the_band_holds_the_line() -> None:
    axes = sweep({"a": timed(2109)}, [64, 128], "gpu").plot().figure.axes[0]
    (line,) = [line for line in axes.lines if line.get_gid() == "a"]
    ys = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert min(ys) == pytest.approx(50 / 1.05) and max(ys) == pytest.approx(50 / 0.97)
    assert line.get_ydata()[0] == pytest.approx(50)


def test_a_line_ends_where_a_variant_fails() -> None:
    rows = {"a": timed(2000), "b": lambda n: timed(3000) if n < 100 else "failed: OutOfMemoryError"}
    shown = sweep(rows, [32, 64, 128], "gpu").plot()
    (line,) = [x for x in shown.figure.axes[0].lines if x.get_gid() == "b"]
    assert [math.isnan(y) for y in line.get_ydata()] == [False, False, True]
    assert "b (at 128): failed: OutOfMemoryError" in said(shown.figure)
    gone = sweep({"a": timed(2000), "b": "failed: x"}, [32, 64], "gpu").plot().figure
    assert texts(gone, "missing") == ["no line: b"]


@pytest.mark.parametrize(
    ("sizes", "run"), [([64], RUN), ([64, 128, 256], None), ([2**k for k in range(4, 16)], RUN)]
)
def test_lines_of_counts(sizes: list[int], run: Any) -> None:
    figure = sweep(COUNTS, sizes, recorded=run).plot().figure
    assert len(figure.axes) == (7 if run else 6)  # one chart per quantity, and the key
    units = said(figure, "unit")
    assert "sectors per store (32 bytes each)" in units and units.count("N of N×N float32") == 5
    stores = {line.get_gid(): line.get_ydata() for line in figure.axes[2].lines}
    assert stores["scatter"] == pytest.approx([32.0] * len(sizes))
    assert figure.axes[3].get_ylim()[1] >= 100  # conflicts, in percent
    assert len(boxes(figure, "bar")) == (5 if run else 0)
    assert (f"Recorded on an NVIDIA H200, {RUN.date}" in units) == bool(run)
    assert_legible(figure)


def test_equal_lines_all_show() -> None:
    widths = [look(i, 12)["linewidth"] for i in range(12)]
    assert widths == sorted(widths, reverse=True) and min(widths) >= 1.2
    looks = [look(i, 40) for i in range(40)]
    assert len({str([x["color"], x["marker"], x["linestyle"]]) for x in looks}) == 40


# -- rooflines ----------------------------------------------------------------------------------
def points(figure: Any, gid: str = "point") -> Any:
    found = [line for line in figure.axes[0].lines if line.get_gid() == gid]
    return np.array([(line.get_xdata()[0], line.get_ydata()[0]) for line in found])


def test_a_roofline_of_counts_is_a_bound() -> None:
    shown = benchmark(COUNTS, recorded=RUN).roofline()
    figure, bandwidth = shown.figure, gpu_named("H200").bandwidth / 1e9
    want = np.array([(c, min(bandwidth * c, 33.5e3)) for c in (3.7, 3.7, 6.1, 6.2)])
    assert points(figure) == pytest.approx(want, rel=1e-4)
    rates = [
        RUN.row(name, "float32").gbps for name in ("scatter", "gather", "shared tile", "padded")
    ]
    measured = np.array([(c, c * rate) for (c, _), rate in zip(want, rates, strict=True)])
    assert points(figure, "recorded") == pytest.approx(measured, rel=1e-4)
    rings = [line for line in figure.axes[0].lines if line.get_gid() == "point"]
    assert {line.get_fillstyle() for line in rings} == {"none"}
    assert shown.words.startswith("Upper bounds on an H200:")
    assert "A bound, not a measurement" in shown.words and "NVIDIA H200 data sheet" in shown.words
    assert "PTX instructions per byte" in texts(figure, "unit")
    assert_legible(figure)
    words = said(figure)
    assert "4.8 TB/s: H200, data sheet" in words and "issued, data sheet: 33,500" in words
    (roof,) = [line for line in figure.axes[0].lines if line.get_gid() == "roof"]
    assert roof.get_xdata()[1] == pytest.approx(33.5e12 / 4.8e12)
    assert roof.get_ydata()[1:] == pytest.approx([33.5e3, 33.5e3])


def test_rooflines_that_cannot_be() -> None:
    with pytest.raises(
        UsageError, match=r"roofline: got times, needed counts; run bench\(\) within"
    ):
        benchmark(TIMES, "gpu").roofline()
    with pytest.raises(UsageError, match="roofline: got none, needed a variant with counts"):
        benchmark({"torch": Measured(MOVED)}).roofline()


@pytest.mark.parametrize("count", [1, 12])
def test_rooflines_with_names_of_any_length(count: int) -> None:
    rows = {f"{LONG[i % 2]} {i}": counted(4, 4, 0, 3.0) for i in range(count)}
    assert_legible(benchmark(rows).roofline().figure)


# -- output -------------------------------------------------------------------------------------
def test_a_notebook_gets_a_png_with_words() -> None:
    shown = benchmark(COUNTS, recorded=RUN).plot()
    again = benchmark(COUNTS, recorded=RUN).plot()
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown) == shown.words
    alt, data = re.search(
        r'<img alt="([^"]*)" style="width:797px;max-width:100%" src="data:image/png;base64,(.*)">',
        bundle["text/html"],
    ).groups()  # type: ignore[union-attr]
    assert "scatter" in alt and "not counted here" in alt and "\n" not in alt
    assert base64.b64decode(data) == shown.png == again.png and len(shown.png) < 60_000
    assert shown.svg == again.svg
    root = ET.fromstring(shown.svg)
    assert root.get("aria-label") == shown.alt
    drawn = shown.svg[shown.svg.index("</style>") :]
    assert "var(--fk-dim," in drawn and "DejaVu" not in drawn  # the page's colours and fonts
    assert f": {TEXT}" not in drawn and f": {TEXT.lower()}" not in drawn


# -- helpers ------------------------------------------------------------------------------------
def test_labels_keep_apart_and_near() -> None:
    assert apart([1.0, 5.0], [1.0, 1.0], 0, 10) == [1.0, 5.0]
    assert apart([2.0, 2.0], [1.0, 1.0], 0, 10) == [1.5, 2.5]
    assert apart([0.0, 0.1, 9.99], [1.0, 1.0, 1.0], 0, 10) == [0.5, 1.5, 9.5]
    found = apart([5.0] * 4 + [6.4], [1.0] * 5, 0, 10)
    assert sorted(found) == found and min(b - a for a, b in itertools.pairwise(found)) >= 1
    assert apart([], [], 0, 1) == []


def test_long_words_break() -> None:
    assert wrapped("ab cd", 9.0) == ["ab cd"]
    lines = wrapped(LONG[0], 1.0)
    assert len(lines) > 1 and "".join(lines) == LONG[0]


# -- a lesson's own figure -----------------------------------------------------------------------
def test_a_figure_is_shown_once_in_the_pages_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    with fk.figure("Two lines", "One rises to 3, one to 5.", panels=2, note="Seconds.") as both:
        for axes in both:
            axes.plot([1, 2, 3])
            axes.set_xlabel("rows")
    (picture,) = shown
    assert picture.alt == "Two lines. One rises to 3, one to 5."
    assert {"Two lines", "Seconds.", "rows"} <= set(texts(picture.figure))
    assert f"var(--fk-dim,{TEXT})" in picture.svg
    names = re.findall(r'\bid="([^"]+)"', picture.svg)
    assert len(names) == len(set(names))


def test_a_narrow_figure_fits_a_phone_and_wraps_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    title = "Errors of float32 sums stay far below the bound of the worst case"
    for width in (4.2, 8.3):
        with fk.figure(title, "A line.", width=width) as axes:
            axes.plot([1, 2, 3])
    narrow, wide = (timing_html(picture) for picture in shown)
    assert [float(least) <= 358 for html in (narrow, wide)
            for least in re.findall(r"min-width:([\d.]+)px", html)] == [True, False]  # fmt: skip
    assert title in texts(shown[1].figure) and title not in texts(shown[0].figure)
    with pytest.raises(UsageError, match="width"):
        fk.figure(title, "A line.", width=2)


def test_a_figure_whose_block_raises_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    with pytest.raises(ZeroDivisionError), fk.figure("A", "b") as axes:
        axes.plot([1 / 0])
    assert not shown
    with pytest.raises(UsageError, match="describe what the picture shows"):
        fk.figure("A", " ")
