"""Compare the shipped constants with times measured on an H200, and with the data to which they
were fitted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from forgekit.commands import calibrate
from forgekit.commands.cli import main
from forgekit.profiling.predicting import fitting
from forgekit.profiling.predicting.calibration import CASES
from forgekit.profiling.predicting.constants import calibration
from forgekit.profiling.predicting.fitting import Sample
from forgekit.profiling.predicting.model import microseconds
from tests.profiling.predicting.launches import facts
from tests.profiling.predicting.sampled_counters import DATA, calibration_data

SHIPPED = Path(calibrate.__file__).parents[1] / "profiling/predicting/gpus/H200.toml"


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return calibration_data()


@pytest.fixture(scope="module")
def samples(data) -> list[Sample]:
    return calibrate.samples_of(data)


def test_what_was_measured_are_the_kernels_that_are_here(data, samples):
    for name in ("name", "kind"):
        assert [case[name] for case in data["cases"]] == [getattr(c, name) for c in CASES]
    assert [case["sizes"] for case in data["cases"]] == [list(c.sizes) for c in CASES]
    assert len({c.name for c in CASES}) == len(CASES) == 149 and len(samples) == 447


@pytest.mark.parametrize("number", [0, 42, 49, 56, 77, 98, 112, 119, 133, 140, 147])
def test_recorded_counts_are_those_of_today(data, number):
    (found,) = calibrate.count_case(number, sizes=1)
    assert json.loads(json.dumps(found)) == data["cases"][number]["facts"][0]


def test_times_of_kernels_that_chose_nothing_are_predicted(samples):
    held_out = [s for s in samples if s.held_out]
    found = fitting.accuracy(held_out, calibration("H200").constants)
    assert found.count == 147
    assert found.median <= 0.12 and found.p90 <= 0.35
    assert found.within >= 0.9 and found.order >= 0.95


def test_a_fit_to_what_was_recorded_gives_the_shipped_constants(tmp_path, capsys):
    out = tmp_path / "again.toml"
    assert main(["calibrate", "--read", str(DATA), "--out", str(out)]) == 0
    assert out.read_text() == SHIPPED.read_text()
    said = capsys.readouterr().out
    assert said.startswith("147 times of held-out kernels: half are predicted to within ")


# -- fitting ------------------------------------------------------------------------------------
def test_errors_are_relative_to_the_smaller_of_two_times():
    assert fitting.relative(10, 12.5) == pytest.approx(0.25) == fitting.relative(12.5, 10)
    assert fitting.relative(3, 3) == 0


def test_quantiles():
    assert [fitting.quantile([1, 2, 3, 4, 5], p) for p in (0, 0.5, 0.9, 1)] == [1, 3, 4.6, 5]
    assert fitting.quantile([7], 0.9) == 7


def timed(numbers: list[int], constants: Any) -> list[Sample]:
    """Return launches that read these numbers of sector pairs, with the times that these constants
    predict."""
    made = [facts(blocks=4224, warps=4224, read_pairs=n, read_sectors=2 * n) for n in numbers]
    return [Sample(f"{k}", "copy", k, (f,), microseconds([f], constants))
            for k, f in enumerate(made)]  # fmt: skip


def test_a_fit_finds_the_constants_that_made_the_times():
    known = calibration("H200").constants
    truth = replace(known, dram=known.dram / 2, start_us=5.0)
    samples = timed([500_000 * 2**k for k in range(6)], truth)
    assert fitting.accuracy(samples, known).median > 0.5
    fitted = fitting.fit(samples, known)
    assert fitting.accuracy(samples, fitted).p90 < 0.02
    assert fitted.dram == pytest.approx(truth.dram, rel=0.05)
    assert all(getattr(fitted, name) == getattr(known, name) for name in fitting.KNOWN)


def test_order_and_shares_of_errors():
    known = calibration("H200").constants
    samples = timed([10**6, 10**7, 10**8], known)
    assert fitting.accuracy(samples, known) == fitting.Accuracy(3, 0, 0, 1, 1)
    turned = [s.us for s in samples[::-1]]
    swapped = [replace(s, us=us) for s, us in zip(samples, turned, strict=True)]
    found = fitting.accuracy(swapped, known)
    assert found.order == 0 and found.within == pytest.approx(1 / 3)
