"""Test that correct kernels have no findings."""

from __future__ import annotations

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.sanitizer import bank
from tests.sanitizer.judge import complaints

pytestmark = pytest.mark.usefixtures("on_the_virtual_gpu")

SEEDS = 4  # seeds of the adversarial schedules


@pytest.mark.parametrize("family", bank.families(), ids=lambda family: family.name)
def test_nothing_is_found_in_a_correct_kernel(family):
    """The test covers the usual and adversarial schedules; the results are right under all
    schedules."""
    assert not complaints(family, seeds=SEEDS)
