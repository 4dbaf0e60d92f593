"""Test the content, but not the appearance, of the picture of a suite's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forgekit.benching.suites.results import SuiteResults, SuiteRow
from forgekit.viz.timing.suite import draw, save
from tests.benching.suites.suite_made import CASES, GPU, VIRTUAL, results
from tests.benching.suites.test_results import COUNTERS

TIMES = {"forgekit": (0.002, 0.001, 1.0), "torch": (0.004, 0.002, 0)}


def test_a_panel_for_each_operator_and_type_and_a_line_for_each_size() -> None:
    figure = draw(results(TIMES))
    assert figure is not None
    assert [a.get_title(loc="left") for a in figure.axes] == [
        "softmax, float16",
        "reduce_sum dim 0, float32",
    ]
    softmax = figure.axes[0]
    assert [t.get_text() for t in softmax.get_yticklabels()] == ["8 × 8,192", "1,024 × 1,000"]
    points = [x.get_xydata().tolist() for x in softmax.lines if len(x.get_xdata()) == 1]
    assert [[pytest.approx(51.2), 1.0]] in points  # forgekit, 1,024 × 1,000: percent of the ceiling
    bars = [x.get_xydata()[:, 0].tolist() for x in softmax.lines if x.get_linewidth() == 1.4]
    assert bars[0] == [pytest.approx(51.2 / 1.01), pytest.approx(51.2 / 0.99)]
    assert softmax.get_xlabel() == "percent of the ceiling"
    legend = [t.get_text() for t in figure.legends[0].get_texts()]
    assert legend == ["forgekit", "torch"]


def test_a_contender_looks_alike_in_every_picture() -> None:
    def looks(*names: str) -> dict[str, tuple[Any, Any]]:
        figure = draw(results(dict.fromkeys(names, (0.1, 0.2, 0.3))))
        assert figure is not None
        (legend,) = figure.legends
        entries = zip(legend.get_texts(), legend.legend_handles, strict=True)
        return {t.get_text(): (h.get_color(), h.get_marker()) for t, h in entries}  # type: ignore

    known = ("forgekit", "torch", "torch.compile", "quack")
    every = looks(*known, "forgekit online", "other")
    assert len({colour for colour, _ in every.values()}) == len({m for _, m in every.values()}) == 6
    assert looks("quack", "forgekit") == {name: every[name] for name in ("quack", "forgekit")}
    assert looks("torch.compile")["torch.compile"] == every["torch.compile"]
    many = looks("forgekit", *(f"forgekit {k}" for k in range(16)))
    assert len(set(many.values())) == 17


def test_counters_are_bytes_of_the_least() -> None:
    made = SuiteResults("smoke", "2026-01-02")
    made.add([SuiteRow(CASES[0], "forgekit", "ok", 1920, counters=COUNTERS)], VIRTUAL)
    figure = draw(made)
    assert figure is not None
    [axes] = figure.axes
    assert axes.lines[0].get_xdata().tolist() == [2.0] and axes.get_xscale() == "log"


def test_nothing_to_draw(tmp_path: Path) -> None:
    made = SuiteResults("smoke", "2026-01-02")
    made.add([SuiteRow(CASES[0], "forgekit", "error", 5, error="no")], GPU)
    assert not save(made, tmp_path / "x.png") and not list(tmp_path.iterdir())
