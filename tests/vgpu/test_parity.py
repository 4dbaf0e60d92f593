"""Test that the virtual GPU returns an H200's results (recorded by tests/vgpu/parity.py)."""

import json

import numpy as np
import pytest

from tests.vgpu import parity

RECORD = json.loads(parity.GOLDEN.read_text())["cases"]


@pytest.mark.parametrize("title", [t for t, c in parity.CASES.items() if c.exact])
def test_exact_operations_have_the_hardwares_bits(title: str):
    got = parity.result_bits(parity.CASES[title], "virtual")
    assert parity.digest(got) == RECORD[title]["sha256"]


@pytest.mark.parametrize("title", [t for t, c in parity.CASES.items() if not c.exact])
def test_approximate_operations_are_as_near_as_measured(title: str):
    got = parity.result_bits(parity.CASES[title], "virtual")
    hardware = np.array(RECORD[title]["bits"], np.uint32)
    assert parity.ulps(got, hardware).max() <= RECORD[title]["max_ulp_difference"]
