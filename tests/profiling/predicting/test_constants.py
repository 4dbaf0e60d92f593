"""Test files of constants: writing and reading, malformed files, and files for other GPUs."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from forgekit.errors import UsageError
from forgekit.profiling.gpus import GPUS, Gpu
from forgekit.profiling.predicting.constants import Calibration, as_toml, calibration
from forgekit.profiling.predicting.model import BOUNDS

KNOWN = calibration("H200")


def test_the_shipped_constants_say_what_was_measured():
    assert KNOWN.gpu == "H200" and "149 kernels at three sizes, NVIDIA H200" in KNOWN.measured
    assert calibration("h200") == calibration(GPUS["H200"]) == calibration(None) == KNOWN
    assert KNOWN.factors.keys() <= {"all", *BOUNDS} and min(KNOWN.factors.values()) > 1


def test_a_file_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "own.toml"
    own = Calibration("L4", replace(KNOWN.constants, clock=1.5), "today, here", {"all": 1.5})
    file.write_text(as_toml(own))
    assert calibration(str(file)) == own
    assert isinstance(calibration(str(file)).constants.multiprocessors, int)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[constants]", "[constant]", "which contains an error: \"'constants'\""),
        ("clock = 1.9\n", "", "'clock'"),
        ("clock = 1.9", 'clock = "fast"', "could not convert string to float"),
        ("clock = 1.9", "clock = 0", "a number that is not positive"),
        ("clock = 1.9", "clock = nan", "a number that is not positive"),
        ("clock = 1.9", "clock = inf", "a number that is not positive"),
        ("dram = ", "dram = -", "a number that is not positive"),
        ("all = ", "every = ", "'all'"),
        ('gpu = "H200"\n', "", "'gpu'"),
        ("[factors]", "[factors", "which contains an error:"),
    ],
)
def test_malformed_files_are_refused(old, new, said, tmp_path):
    text = as_toml(KNOWN)
    assert old in text
    file = tmp_path / "own.toml"
    file.write_text(text.replace(old, new))
    with pytest.raises(
        UsageError, match="needed a file written by `forgekit calibrate`; cal"
    ) as refused:
        calibration(str(file))
    assert said in str(refused.value) and "own.toml" in str(refused.value)


def test_files_that_are_none(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for name in ("nowhere.toml", ".toml", "bytes.toml"):
        with pytest.raises(UsageError, match=r"gpu: got .*; check the path"):
            calibration(str(tmp_path / name))
    with pytest.raises(UsageError, match="gpu: got 'Voodoo 2', needed one of B200"):
        calibration("Voodoo 2")


@pytest.mark.parametrize("name", [n for n in GPUS if n != "H200"])
def test_other_gpus_are_scaled_by_their_data_sheets(name):
    gpu, found = GPUS[name], calibration(name)
    assert (found.gpu, found.measured, found.factors) == (name, "", KNOWN.factors)
    c, base = found.constants, KNOWN.constants
    assert c.multiprocessors == gpu.multiprocessors
    assert c.dram / base.dram == pytest.approx(gpu.bandwidth / 4.8e12)
    assert 1 < c.clock < 3 and min(asdict(c).values()) > 0
    assert c.l2_mb / base.l2_mb == pytest.approx((gpu.l2_bytes or 50 << 20) / (50 << 20))


def test_a_gpu_of_ones_own():
    found = calibration(Gpu("mine", 2.4e12, 66, None, "", ""))
    assert found.gpu == "mine" and found.constants.multiprocessors == 66
    assert found.constants.dram == pytest.approx(KNOWN.constants.dram / 2)
    assert found.constants.clock == KNOWN.constants.clock
