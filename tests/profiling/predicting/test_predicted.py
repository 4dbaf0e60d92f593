"""Test PredictedTime: its time and interval, its text, its page, and refused predictions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import forgekit as fk
from forgekit.errors import UsageError
from forgekit.profiling import predictions
from forgekit.profiling.predicting import predicted
from forgekit.profiling.predicting.constants import as_toml, calibration
from forgekit.profiling.predicting.facts import facts_of
from forgekit.profiling.predicting.model import BOUNDS
from forgekit.profiling.predicting.predicted import PredictedTime, predicted_time
from forgekit.profiling.profile import Profile
from forgekit.vgpu import Recording
from forgekit.viz.predicted_page import PREDICTED
from tests.profiling import course_kernels as kernels
from tests.profiling.counter_kernels import profile_of
from tests.profiling.predicting.launches import facts
from tests.vgpu.ptx_launch import launch


@pytest.fixture(scope="module")
def transpose() -> tuple[Any, tuple[torch.Tensor, torch.Tensor]]:
    x = fk.randn(1024, 1024, device="virtual")
    y = fk.empty(1024, 1024, device="virtual")
    return fk.compile(kernels.t_naive, x, y, device="virtual"), (x, y)


@pytest.fixture(scope="module")
def whole(transpose) -> Profile:
    run, args = transpose
    return fk.profile(run, *args)


@pytest.fixture(scope="module")
def sample(transpose) -> Profile:
    run, args = transpose
    return fk.profile(run, *args, blocks=64)


def made(*launches: Any, gpu: str = "H200") -> PredictedTime:
    """Return the predicted time of handmade launches, whose source lines are unknown."""
    counts = type("Counts", (), {"warp_instructions": []})()
    return predicted_time("run", [(f, counts) for f in launches], gpu)


# -- the number ---------------------------------------------------------------------------------
def test_a_time_with_its_interval(whole):
    p = whole.time()
    assert p.us is not None and p.low is not None and p.high is not None
    factor = calibration().factors.get(p.bound, calibration().factors["all"])
    assert p.low == pytest.approx(p.us / factor) and p.high == pytest.approx(p.us * factor)
    assert [*p.bounds.values()] == sorted(p.bounds.values(), reverse=True)
    assert p.bounds.keys() == BOUNDS.keys() and p.bound == next(iter(p.bounds))
    assert max(p.bounds.values()) < p.us < sum(p.bounds.values())
    assert p.without is not None and p.us - p.bounds[p.bound] < p.without < p.us
    assert (p.gpu, p.reasons, p.sampled, p.assumed) == ("H200", (), "", "")


def test_the_lines_that_hold_the_bound(whole):
    p = whole.time()
    assert sum(share for _, share in p.lines) == pytest.approx(1)
    assert [share for _, share in p.lines] == sorted((s for _, s in p.lines), reverse=True)
    source, share = p.lines[0]
    assert source is not None and source.text == "mY[col, row] = mX[row, col]" and share > 0.5


def test_the_same_from_a_sample(whole, sample):
    one, other = whole.time(), sample.time()
    assert other.us == pytest.approx(one.us, rel=0.02)
    assert other.sampled.startswith(
        "counted from 64 of 1,024 blocks; two halves of this sample differ by 0"
    )
    assert sample.time().us == other.us


@pytest.mark.parametrize("gpu", ["H200", "l4", "B200", "T4"])
def test_of_any_gpu(gpu, whole):
    p = whole.time(gpu)
    assert p.us is not None and p.gpu.lower() == gpu.lower()
    scaled = f"not calibrated: an H200's constants, scaled by the {p.gpu}'s data sheet"
    assert (scaled in p.summary) == (p.gpu != "H200") == (not p.measured)


def test_of_a_file(whole, tmp_path):
    file = tmp_path / "slow.toml"
    slow = replace(calibration("H200"), gpu="L4", measured="here")
    file.write_text(as_toml(slow).replace("start_us = 3.7", "start_us = 500"))
    p = whole.time(str(file))
    assert p.gpu == "L4" and p.us is not None and p.us > 500 and "not calibrated" not in p.summary
    with pytest.raises(UsageError, match="gpu: got"):
        whole.time("nowhere.toml")


def test_several_launches_follow_each_other():
    f = facts(read_pairs=10**7, read_sectors=2 * 10**7)
    one, three = made(f), made(f, f, f)
    assert one.us is not None and three.us is not None
    assert three.us == pytest.approx(3 * one.us - 2 * (3.7 - 1))
    assert three.bounds["start"] == pytest.approx(3.7 + 2)


def test_without_the_start_where_that_is_the_longest():
    p = made(facts())
    assert p.bound == "start" and p.us is not None and p.without == pytest.approx(p.us - 3.7)


# -- texts and pages ----------------------------------------------------------------------------
def test_the_words(whole):
    p = whole.time()
    head, *rest = repr(p).splitlines()
    assert re.fullmatch(
        r"t_naive: predicted [\d.]+ µs on an H200 \([\d.]+ to [\d.]+\), bound by [a-zL2 -]+", head
    )
    assert "▒" in rest[0] and p.bound_text in rest[0]
    assert any(line.startswith("  predicted time without this bound: ") for line in rest)
    kind = "the requested sectors" if p.bound in ("dram", "l2") else p.bound_text
    assert re.search(rf"\d+ % of {kind} at course_kernels.py, line \d+: mY\[col, row\]", repr(p))
    assert "registers unknown" not in repr(p)
    elsewhere = made(facts(), gpu="L4").headline
    assert re.match(r"run: predicted 3.8\d µs on an L4 \(3\.\d+ to 4", elsewhere)
    assert " µs on a T4 (" in made(facts(), gpu="T4").headline
    assert made(facts(fmas=1e12)).us_text.replace(",", "").split(" ")[0].isdigit()


def test_registers_that_are_not_known_are_said():
    for p in (made(facts(registers=None)), made(facts(), facts(registers=0))):
        assert p.notes[-1] == "registers unknown; assuming 32 per thread" == p.assumed
    assert made(facts(registers=None, beyond=("it uses wgmma",))).notes == [p.assumed]


def test_the_page_looks_like_no_measurement(whole, sample):
    page = whole.time()._repr_mimebundle_()["text/html"]
    assert PREDICTED == "#CC79A7" and page.count("repeating-linear-gradient") > 2
    assert "predicted" in page and "on an H200 (" in page and PREDICTED in page
    assert "Counted from 64 of 1,024 blocks" in sample.time()._repr_mimebundle_()["text/html"]
    withheld = made(facts(beyond=("it uses <b>",)))._repr_mimebundle_()["text/html"]
    assert "no prediction, because it uses &lt;b&gt;" in withheld
    assert "gradient" not in withheld


def test_as_data(whole):
    p = whole.time()
    data = json.loads(json.dumps(p.to_dict()))
    assert data["predicted_us"] == p.us and [data["low_us"], data["high_us"]] == [p.low, p.high]
    assert data["bounds_us"] == p.bounds and data["bound"] == p.bound and data["reasons"] == []
    assert data["calibrated"] == calibration("H200").measured and data["assumed"] == ""
    assert data["gpu"] == "H200" and data["without_bound_us"] == p.without
    assert set(facts().to_dict()) >= {"blocks", "registers", "sample", "disagreement"}


# -- a withheld time ----------------------------------------------------------------------
def refused(p: PredictedTime) -> str:
    """Return the reasons why no time is predicted."""
    assert p.us is p.low is p.high is p.without is None and p.us_text == "–"
    assert p.to_dict()["predicted_us"] is None and list(p.reasons) == p.to_dict()["reasons"]
    assert p.headline.endswith(f"no prediction, because {' and '.join(p.reasons)}")
    return " and ".join(p.reasons)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("st.local.u32 [l], %r0; ret;", "it uses local memory"),
        ("nanosleep.u32 20; ret;", "it waits for other blocks"),
        ("ld.global.b32 %r1, [%rd0]; ret;", ""),
        ("setp.gt.u32 %p1, %r0, 99; @%p1 bra END; bra END; nanosleep.u32 20; END: ret;", ""),
    ],
)
def test_kernels_beyond_the_calibration_have_no_time(body, reason):
    x = np.zeros(32, np.int32)
    with Recording(keep=False, shares=True) as recording:
        launch(f".local .align 4 .b8 l[4]; {body}" if "local" in body else body, x)
    p = predicted_time("k", [*zip(facts_of(recording), recording.counts, strict=True)], "H200")
    assert (refused(p) if reason else ("" if p.us else "none")) == reason


@pytest.mark.parametrize(
    ("name", "reason"), [("wgmma_f16", "it uses wgmma"), ("tensor_loads", "it uses bulk copies")]
)
def test_operations_of_hopper_have_no_time(name, reason):
    assert reason in refused(profile_of(name).time())


def test_halves_of_a_sample_that_differ_have_no_time():
    assert made(facts(sample=0.5, disagreement=0.1)).us is not None
    far = made(facts(sample=0.5, disagreement=0.104), facts(beyond=("it uses wgmma",)))
    assert refused(far) == (
        "it uses wgmma and two halves of the sample differ by 10 % (sample more blocks)"
    )
    assert far.notes == [
        "counted from 66 of 132 blocks; two halves of this sample differ by 10.4 %"
    ]


def test_nothing_launched_has_no_time():
    p = made()
    assert refused(p) == "no kernel was launched" and p.bound == "start"
    assert p._repr_mimebundle_()["text/html"]


# -- a recorded prediction -----------------------------------------------------------------
@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "_waiting", predictions._Waiting())
    monkeypatch.setattr(predictions, "_answered", {})


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("at", ["low", "us", "high"])
def test_a_prediction_is_right_within_the_interval(at, whole, capsys):
    p = whole.time()
    inside = round({"low": p.low * 1.02, "us": p.us, "high": p.high * 0.98}[at], 2)
    fk.predict(microseconds=inside)
    whole.time()
    assert "right" in capsys.readouterr().out
    whole.time()
    assert capsys.readouterr().out == ""  # the prediction is no longer pending
    (kept,) = fk.predictions().all
    assert kept.right and kept.metric == "microseconds" and kept.said == inside


@pytest.mark.usefixtures("nothing_kept")
def test_a_prediction_beyond_it_is_wrong(whole, capsys):
    fk.predict(microseconds=1.05 * whole.time().high)
    fk.profile(*profile_arguments())  # a profile alone does not answer the prediction
    assert capsys.readouterr().out == ""
    whole.time()
    assert "; the answer is " in capsys.readouterr().out


@pytest.mark.usefixtures("nothing_kept")
def test_a_time_that_is_withheld_answers_nothing(capsys):
    fk.predict(microseconds=7)
    predictions.take_time(made(facts(beyond=("it uses wgmma",))))
    assert capsys.readouterr().out == "" and not fk.predictions().all
    predictions.take_time(made(facts()))  # 3.7 µs to start, plus the time of 132 blocks
    assert "microseconds: you said 7; the answer is 3.78" in capsys.readouterr().out


def profile_arguments() -> tuple[Any, ...]:
    x, y = fk.randn(32, 32, device="virtual"), fk.empty(32, 32, device="virtual")
    return fk.compile(kernels.t_naive, x, y, device="virtual"), x, y


# -- a sampled profile ----------------------------------------------------------------------------
def test_a_sampled_profile_says_so(whole, sample):
    said = "64 of 1,024 blocks ran: the first, the last and one from each equal part between them"
    text = " ".join(repr(sample).split())
    assert f"{said}; the counts are estimates; two halves of the sample differ by 0.0 %" in text
    assert "each byte once, estimated: mX 4.19 MB read; mY 4.19 MB written of" not in text
    assert "each byte once, estimated: mX 4.19 MB read" in text
    page = sample._repr_mimebundle_()["text/html"]
    assert f"{said}; the counts are estimates" in page and "estimated: mX" in page
    for p in (repr(whole), whole._repr_mimebundle_()["text/html"]):
        assert "estimate" not in p and "sample" not in p


def test_a_sampled_profile_as_data(whole, sample):
    (found,) = json.loads(json.dumps(sample.to_dict()))["launches"]
    assert found["sample"] == {"blocks": 64, "n_blocks": 1024, "disagreement": 0.0}
    assert whole.to_dict()["launches"][0]["sample"] is None
    for name in ("warp_instructions", "global_store_sectors", "unique_bytes_read"):
        assert sample[name] == whole[name]


def test_a_sampled_recording_answers_no_whole_call(transpose):
    run, args = transpose
    args = tuple(a.clone() for a in args)
    with fk.vgpu.options(blocks=8):
        assert fk.profile(run, *args).launches[0].sample is not None
    assert fk.profile(run, *args).launches[0].sample is None


def test_lines_are_weighed_by_what_bounds(whole):
    """For each bound, the fractions of the lines add up to 1."""
    counts = whole.launches[0].pace
    paces = [launch.pace for launch in whole.launches] if counts else []
    for name in BOUNDS:
        shares = predicted._lines(name, [pace for pace in paces if pace])
        assert not shares or sum(share for _, share in shares) == pytest.approx(1)
