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
    """Under the usual and adversarial schedules, there are no findings, and the results are
    right."""
    assert not complaints(family, seeds=SEEDS)
