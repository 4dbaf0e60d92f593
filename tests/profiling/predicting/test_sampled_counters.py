"""Compare a sample's counters with the whole launch's counters, for 40 calibration kernels."""

from __future__ import annotations

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.profiling.predicting.sampled_counters import chosen, differences

# The largest errors are 0.7 % for instructions and lanes (a walk with 264 blocks), 1.1 % for
# requests and sectors (in the same kernel), 0.3 % for bytes read from memory, and 12 % for bytes
# written to it (column sums of a 64 × 8,192 matrix, whose blocks share 1,024 sectors).
MOST = {"instructions": 0.02, "lanes": 0.02, "requests": 0.02, "sectors": 0.05, "ideal": 0.05,
        "read": 0.05, "written": 0.2}  # fmt: skip


@pytest.mark.parametrize("case", chosen(40), ids=lambda case: case.name)
def test_a_sample_counts_like_the_whole_launch(case):
    found = differences(case)
    assert found.keys() == MOST.keys()
    assert {k: v for k, v in found.items() if abs(v) > MOST[k]} == {}
