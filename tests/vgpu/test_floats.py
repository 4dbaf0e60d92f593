"""Test the fast paths of `forgekit.vgpu.floats` and all fp8 codes, which the instruction tests do
not cover.

test_floating.py and test_convert.py test rounding through the instructions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
import torch

from forgekit.vgpu import floats, fp8
from forgekit.vgpu.opcodes.functions import exp2
from tests.vgpu.exact import F32, FORMATS, Format, fma
from tests.vgpu.hard_floats import hard_triples, scaled

NUMPY = {"f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8"}


def array(bits: Iterable[int], kind: str) -> np.ndarray:
    form = FORMATS[kind]
    return np.array(list(bits), f"u{form.bits // 8}").view(NUMPY[kind]).reshape(1, -1)


def bits_of(x: np.ndarray) -> list[int]:
    return [int(v) for v in np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").ravel()]


def compare(got: np.ndarray, want: list[int], form: Format, cases: list) -> None:
    nan = form.infinity
    wrong = [
        f"{[hex(c) for c in case]}: got {g:#x}, expected {w:#x}"
        for g, w, case in zip(bits_of(got), want, cases, strict=True)
        # test_floating.py checks the NaN's bits
        if g != w and not (g & form.nan > nan and w & form.nan > nan)
    ]
    assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(wrong[:10])


def test_fma32_next_to_the_least_normal() -> None:
    """2**-126 - 2**-150 - 2**-196 rounds down; in float64, it looks like a tie and would round
    up."""
    case = (scaled(8384513, -100, F32), scaled(-8392705, -96, F32), scaled(1, -126, F32))
    want = fma(*case, F32)
    assert want == (1 << 23) - 1
    # alone, and together with values for which the fast path is right
    for company in ([], [(0x3F800000, 0x3F800000, 0x3F800000)]):
        columns = [array(column, "f32") for column in zip(case, *company, strict=True)]
        assert bits_of(floats.fma32(*columns))[0] == want


def test_one_hard_case_among_easy_ones() -> None:
    """If a single value needs the slow path, all values leave the fast path; both paths must be
    right."""
    easy = [(scaled(3, i - 60, F32), scaled(5, 2, F32), scaled(7, i - 50, F32)) for i in range(100)]
    for hard in hard_triples(F32, 50):
        cases = [*easy[:50], hard, *easy[50:]]
        columns = [array(column, "f32") for column in zip(*cases, strict=True)]
        with np.errstate(all="ignore"):
            compare(floats.fma32(*columns), [fma(*c, F32) for c in cases], F32, cases)


@pytest.mark.parametrize(
    "name, dtype", [("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)]
)
def test_fp8_agrees_with_torch(name: str, dtype: torch.dtype) -> None:
    """All 256 codes decode to torch's values, and other values encode to the nearest code."""
    codes = np.arange(256, dtype="u1")
    table = torch.from_numpy(codes.copy()).view(dtype).float().numpy()
    got = fp8.to_f32(codes[None], name)[0]
    assert np.array_equal(got, table, equal_nan=True)
    assert np.array_equal(np.signbit(got), np.signbit(table))
    finite = np.sort(table[np.isfinite(table)])
    middles = (finite[1:] + finite[:-1]) / 2
    inputs = np.concatenate(
        [finite, middles, *(np.nextafter(middles, d) for d in (-np.inf, np.inf))]
    )
    inputs = inputs.astype("f4")
    want = torch.from_numpy(inputs).to(dtype).view(torch.uint8).numpy()
    assert (fp8.from_f32(inputs[None], name)[0] == want).all()
    # .satfinite: infinity and values beyond the largest number become the largest number; NaN stays
    # NaN.
    big = 0x7E if name == "e4m3" else 0x7B
    special = np.array([[1e30, -1e30, np.inf, -np.inf, np.nan]], "f4")
    assert fp8.from_f32(special, name).tolist() == [[big, big | 0x80, big, big | 0x80, 0x7F]]


def test_exp2_is_close_and_exact_for_whole_numbers() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-149, 127.9, 50000), rng.uniform(-1, 1, 50000)])
    x = x.astype("f4")[None]
    exact = np.exp2(x.astype("f8"))
    with np.errstate(all="ignore"):
        got = exp2(x)
    allowed = np.maximum(exact * 2.0**-23, 2.0**-149)  # subnormals: one unit in the last place
    assert (np.abs(got - exact) <= allowed).all()
    whole = range(-149, 128)
    with np.errstate(all="ignore"):
        got = exp2(np.array([whole], "f4"))
    assert got[0].tolist() == [math.ldexp(1.0, n) for n in whole]
    ends = np.array([[-np.inf, -1e30, -253, -150, 128, 1e30, np.inf, np.nan]], "f4")
    with np.errstate(all="ignore"):
        got = exp2(ends)
    assert np.array_equal(got, [[0, 0, 0, 0, *[np.inf] * 3, np.nan]], equal_nan=True)
    assert ends[0, 1] == np.float32(-1e30)  # the operand is unchanged
