"""Test that tensor cores return an H200's results (recorded by tests/vgpu/matrix_parity.py)."""

import numpy as np
import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.vgpu import matrix_parity as parity


@pytest.fixture(scope="module")
def recorded():
    if not parity.GOLDEN.exists():
        pytest.skip("not recorded yet: python -m tests.vgpu.matrix_parity, on a GPU")
    with np.load(parity.GOLDEN) as file:
        return dict(file)


@pytest.mark.parametrize("name", parity.CASES)
def test_products_have_the_hardwares_bits(name, recorded):
    got = parity.result_bits(parity.CASES[name], "virtual")
    wrong = np.argwhere(got != recorded[name])
    assert not len(wrong), (len(wrong), [parity.WARPS[i] for i in np.unique(wrong[:, 0])])


@pytest.mark.parametrize("store, count, transposed", parity.MOVES)
def test_matrices_move_as_on_the_hardware(store, count, transposed, recorded):
    name = f"{'st' if store else 'ld'}matrix x{count}{' trans' * transposed}"
    assert (parity.moved(store, count, transposed, "virtual") == recorded[name]).all()
