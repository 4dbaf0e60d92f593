"""Test that log2, sin, cos and tanh give the same results with every nearly correct C library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from forgekit.vgpu import elementary
from forgekit.vgpu.floats import Array

# The bits of arguments whose results lie within 2**-49 (relative) of a tie between two float32, and
# of these results, rounded from 120 digits (mpmath 1.3).
HARD = {
    "log2": [(0x4B554996, 0x41BDE4AB), (0x77914A90, 0x42E05D98)],
    "sin": [(0x3EF3830F, 0x3EEA6F45), (0x67A9242B, 0xBF7FAB81), (0x42D44528, 0xBF20C9A7)],
    "cos": [(0x39800000, 0x3F800000)],  # 1 - 2**-25 + 2**-52.6
    "tanh": [(0x3CD41B91, 0x3CD40F70), (0x3EEE0566, 0x3EDE3CBE), (0x40ACB4D0, 0x3F7FFD50)],
}


def off_by(factor: float, fn: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: fn(x) * factor


@pytest.mark.parametrize("factor", [1 - 2**-49, 1.0, 1 + 2**-49])
@pytest.mark.parametrize("name", HARD)
def test_the_bits_do_not_depend_on_the_library(
    name: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 32, 100_000, np.uint32)
    hard, wanted = np.array(HARD[name], np.uint32).T
    x = np.r_[hard, bits].view(np.float32)
    with np.errstate(all="ignore"):
        usual = elementary.rounded(name, x)
        monkeypatch.setattr(np, name, off_by(factor, getattr(np, name)))
        result = elementary.rounded(name, x)
    assert result[: len(hard)].view(np.uint32).tolist() == wanted.tolist()
    assert np.array_equal(result, usual, equal_nan=True)


@pytest.mark.parametrize("name", HARD)
def test_signs_and_special_values(name: str) -> None:
    x = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, -(2.0**-149)], np.float32)
    with np.errstate(all="ignore"):
        got, want = elementary.rounded(name, x), getattr(np, name)(x.astype("f8")).astype("f4")
    assert np.array_equal(got, want, equal_nan=True)
    number = ~np.isnan(want)
    assert np.array_equal(np.signbit(got[number]), np.signbit(want[number]))
