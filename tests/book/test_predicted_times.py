"""Test the predicted times on the page about the virtual GPU: each number follows from recorded
data.
"""

from __future__ import annotations

import doctest
import json
import re
from typing import Any

import make_readme
import predicted_times
import pytest

import forgekit as fk
from book.measured import predicted as operators
from forgekit.profiling.predicting import fitting, model
from forgekit.profiling.predicting.facts import Facts
from forgekit.profiling.predicting.model import bounds, microseconds
from forgekit.profiling.predicting.predicted import DISAGREEMENT
from tests.book.conftest import ROOT

PAGE = (ROOT / "book" / "virtual_gpu.md").read_text("utf-8")
SECTION = PAGE.split("\n## How long would it take?\n")[1].split("\n## ")[0]
PLAIN = " ".join(SECTION.split())
REFERENCE = (ROOT / "book" / "reference_measure.md").read_text("utf-8")
PICTURE = ROOT / "book" / "pictures" / "predicted.svg"
TIMES = [s for s in predicted_times.samples() if s.held_out]
ERRORS = sorted(
    max(s.us, us) / min(s.us, us) - 1
    for s in TIMES
    for us in (microseconds(s.facts, predicted_times.H200),)
)


def test_a_changed_number_is_noticed() -> None:
    for said in (r"\d\.\d %", r"\d\.\d\d \|", r"[\d.]+ µs"):
        changed = re.sub(said, "0", SECTION, count=1)
        assert changed != SECTION
        assert make_readme.filled(changed, predicted_times.BLOCKS) != changed


def test_no_other_number_is_on_it() -> None:
    """The listed numbers are written by hand; the last ones come from a run of `forgekit
    calibrate`.
    """
    left = re.sub(r"(<!-- numbers: \w+ -->).*?<!-- /numbers -->", "", SECTION, flags=re.DOTALL)
    known = ("blocks=256", "counts 256 blocks", "H200", "L4", "3-norm", "10 %", "costs 1 µs", "L2",
             "L1", "Week 1's", "All 16", "16 %", "2009", "2024", "107 s",
             "16 CPU cores", "2026-11-23")  # fmt: skip
    for words in known:
        assert words in left, words
        left = left.replace(words, "")
    assert not re.findall(r"\d", left), re.findall(r".{20}\d.{20}", left)
    assert (DISAGREEMENT, model.AGAIN_US, model._NORM) == (0.1, 1.0, 3.0)
    assert "five held-out" in PLAIN and predicted_times.WORST == 5


def test_the_error_that_is_stated() -> None:
    """The test computes the error in a different way from the page."""
    n = len(ERRORS)
    half = ERRORS[n // 2]  # n is odd
    within = sum(e <= 0.35 for e in ERRORS) / n
    said = re.search(
        r"(\d+) kernels, (\d+) times\. Of these, half are predicted to within ([\d.]+) %, nine "
        r"in ten to within ([\d.]+) %, and ([\d.]+) % to within 35 %", PLAIN
    )  # fmt: skip
    assert said is not None and n % 2
    assert [int(x) for x in said.groups()[:2]] == [len({s.case for s in TIMES}), n]
    assert [float(said[k]) for k in (3, 5)] == [round(100 * x, 1) for x in (half, within)]
    ninth = float(said[4]) / 100
    rounding = 0.0005
    assert ERRORS[int(0.9 * n) - 1] - rounding <= ninth <= ERRORS[int(0.9 * n) + 1] + rounding
    assert said[0].partition("Of these, ")[2] in " ".join(
        (ROOT / "README.md").read_text("utf-8").split()
    )


def test_every_third_kernel_was_held_out() -> None:
    assert {s.number for s in TIMES} == set(range(2, 149, fitting.HELD_OUT))


def test_the_worst_ones_are_listed_with_a_reason() -> None:
    said = re.findall(r"^- \*\*`(.+?)`\*\*, [\d,]+ \w.*?: measured ([\d.,]+) µs, predicted "
                      r"([\d.,]+) µs, bound by .+?\. (.+)$", SECTION, re.M)  # fmt: skip
    errors = [float(p.replace(",", "")) / float(us.replace(",", "")) for _, us, p, _ in said]
    found = [max(e, 1 / e) - 1 for e in errors]
    assert found == sorted(found, reverse=True) and len(found) == 5
    assert found[0] == pytest.approx(ERRORS[-1], rel=0.01)
    assert all(len(reason) > 80 for *_, reason in said)
    assert all(name in predicted_times._REASONS for name, *_ in said)


def test_each_kind_is_in_the_table() -> None:
    rows = re.findall(r"^\| .+? \| (\d+) of (\d+) \| ", SECTION, re.M)
    kernels = {s.case: s.held_out for s in predicted_times.samples()}
    assert len(rows) == len({s.kind for s in predicted_times.samples()})
    assert sum(int(n) for _, n in rows) == len(kernels)
    assert sum(int(n) for n, _ in rows) == sum(kernels.values())
    assert predicted_times.KINDS.keys() <= {s.kind for s in predicted_times.samples()}


# -- the operators -----------------------------------------------------------------------------
CASES = predicted_times.operators()["predictions"]


@pytest.mark.parametrize("p", CASES, ids=lambda p: f"{p['op']}-{p['shape']}-{p['dtype']}")
def test_an_operators_times_are_those_recorded_and_predicted(p: dict[str, Any]) -> None:
    case = p["op"], tuple(p["shape"]), p["dtype"], p["dim"]
    assert case in operators.CASES[p["file"]]
    assert p["measured_us"] == operators.measured(p["file"], *case)
    facts, graphs = [Facts(**f) for f in p["facts"]], operators.in_graphs(p["file"])
    assert p["predicted_us"] == pytest.approx(operators.predicted_us(facts, graphs), abs=1e-3)
    assert p["bound"] == operators.bound_of(facts, graphs)
    assert p["reasons"] == [words for f in facts for words in f.beyond]


def test_all_operators_are_there() -> None:
    found = [(p["file"], p["op"], tuple(p["shape"]), p["dtype"], p["dim"]) for p in CASES]
    assert found == [(file, *case) for file, cases in operators.CASES.items() for case in cases]
    assert 12 <= len(found) <= 20
    ratios = re.findall(r"\| ([\d.]+) \|$", SECTION, re.M)
    assert ratios == [f"{p['predicted_us'] / p['measured_us']:.2f}" for p in CASES]


@pytest.mark.parametrize("p", [p for p in CASES if max(p["shape"]) <= 1000],
                         ids=lambda p: p["op"])  # fmt: skip
def test_small_operators_are_counted_as_then(p: dict[str, Any]) -> None:
    """If this test fails, run `python -m book.measured.predicted`, which counts all operators
    again.
    """
    case = p["op"], tuple(p["shape"]), p["dtype"], p["dim"]
    paces = operators.launches(*case, predicted_times.operators()["blocks"])
    assert json.loads(json.dumps([f.to_dict() for f, _ in paces])) == p["facts"]


# -- the picture -------------------------------------------------------------------------------
def test_the_picture_is_that_of_the_data() -> None:
    """If this test fails, run `uv run python book/make_pictures.py` to draw the picture again."""
    text = PICTURE.read_text("utf-8")
    assert text == predicted_times.drawn()
    words = re.findall(r"<title>([^<]+): measured ([\d.,]+) µs, predicted ([\d.,]+) µs", text)
    assert len(words) == len(predicted_times.samples())


def test_held_out_kernels_have_a_shape_of_their_own() -> None:
    text = PICTURE.read_text("utf-8")
    held_out = re.findall(r'<path class="sheet-s" fill="#CC79A7"', text)
    assert len(held_out) == len(TIMES) + 1  # one more triangle is in the legend
    assert text.count("<circle ") == len(predicted_times.samples()) - len(TIMES) + 1
    points = re.findall(r'<circle [^>]*cx="([\d.]+)" cy="([\d.]+)"', text)
    assert all(0 < float(n) < 450 for point in points for n in point)


def test_what_the_picture_shows_is_said() -> None:
    (alt,) = re.findall(r"!\[([^\]]+)\]\(pictures/predicted\.svg\)", SECTION)
    low, high = (of(s.us for s in predicted_times.samples()) for of in (min, max))
    assert f"from {low:.1f} to {high:,.0f} µs" in alt and "triangles" in alt and "rings" in alt


# -- examples ----------------------------------------------------------------------------------
def test_the_readmes_example_is_right() -> None:
    from make_pictures import naive

    text = (ROOT / "README.md").read_text("utf-8")
    (call, said) = re.findall(r"^print\((fk\.profile.+)\)\n# (naive: .+)$", text, re.M)[0]
    x, y = (fk.zeros(8192, 8192, device="virtual") for _ in range(2))
    run = fk.compile(naive, x, y, device="virtual")
    assert eval(call, {"fk": fk, "run": run, "x": x, "y": y}) == said


def test_the_references_example_is_right() -> None:
    (text,) = re.findall(r"^```pycon\n(.+?)^```", REFERENCE, re.M | re.S)
    said: list[str] = []
    with fk.use_target("virtual"):
        test = doctest.DocTestParser().get_doctest(text, {"fk": fk}, "reference", None, 0)
        doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)


def test_the_reference_names_what_there_is() -> None:
    from forgekit.commands.calibrate import calibrate
    from forgekit.profiling.predicting.predicted import PredictedTime

    fields = {*PredictedTime.__dataclass_fields__, "bound"}
    assert set(re.findall(r"`\.(\w+)`", REFERENCE)) <= fields
    options = {name for option in calibrate.params for name in option.opts}
    assert set(re.findall(r"`(--\w+) FILE`", REFERENCE + SECTION)) <= options


def test_bounds_are_all_known() -> None:
    of = {max(b, key=lambda name: b[name]) for s in TIMES
          for b in (bounds(s.facts[0], predicted_times.H200),)}  # fmt: skip
    assert of <= model.BOUNDS.keys()
