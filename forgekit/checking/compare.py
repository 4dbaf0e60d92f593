"""Compare a result with its reference: find the wrong elements, their errors and their pattern.

|actual - expected| <= atol + rtol * |expected|, computed in float64. By default both tolerances
come from the table in `dtypes.py` and depend on the dtype of `actual`. The table's atol suits
values of about 1 or more; for smaller values, it is scaled down with the root mean square of
`expected`. (A softmax over 1000 columns has values near 0.001, so an atol of 1e-5 would hide errors
of 1 %.) Integers and booleans must be equal. NaN matches only NaN, and infinity only infinity of
the same sign. If every element of `expected` is the fill value of `empty`, `expected` was never
computed, and no element counts as right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from forgekit.arguments import dense
from forgekit.checking.check_report import MISSING, NAN, WRONG, CheckReport, Mismatch
from forgekit.checking.hints import hints
from forgekit.dtypes import DType, dtype_info, scaled_atol
from forgekit.errors import UsageError, brief, usage_error
from forgekit.tensors import poison

Array = np.ndarray[Any, np.dtype[Any]]

_CHUNK = 1 << 17  # elements per chunk, whose float64 copies fit in the CPU's L2 cache


def compare(
    actual: object,
    expected: object,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    name: str | None = None,
    max_shown: int = 5,
    tile: int | tuple[int, ...] | None = None,
) -> CheckReport:
    """Return the report that `forgekit.check` would show or raise; `check` documents the arguments.

    Raises:
        UsageError: `actual` and `expected` cannot be compared.
    """
    got, dtype = _read(actual, None, "actual")
    want, want_dtype = _read(expected, dtype, "expected")
    _check_comparable(got, dtype, want, want_dtype)
    rtol = dtype.rtol if rtol is None else float(rtol)
    atol = _scaled_atol(dtype, want) if atol is None else float(atol)
    if not dtype.is_float:
        rtol = atol = 0.0
    scan = _Scan(got, want, dtype, rtol, atol)
    useless = _nothing_to_compare(want, want_dtype)
    if useless and not scan.codes.any():  # neither array was ever computed, so they are equal
        scan.codes[:] = NAN if dtype.is_float else MISSING
    codes = scan.codes.reshape(got.shape)
    wrong = int(np.count_nonzero(codes))
    tile = tile_sizes(tile)
    return CheckReport(
        name=name,
        shape=tuple(got.shape),
        dtype=dtype.name,
        total=got.size,
        wrong=wrong,
        rtol=rtol,
        atol=atol,
        worst_absolute=scan.mismatch_at(scan.worst_absolute[1]),
        worst_relative=scan.mismatch_at(scan.worst_relative[1]),
        first=scan.first(max_shown) if wrong and not useless else (),
        nan_counts=scan.nans,
        inf_counts=scan.infs,
        hints=hints(got, want, codes, rtol, atol, tile) if wrong and not useless else (),
        codes=codes,
        useless=useless if wrong else "",
        tile=tile,
    )


def tile_sizes(tile: object) -> tuple[int, ...] | None:
    """Return the argument `tile` as a tuple, or raise UsageError if it is invalid."""
    sizes = tile if isinstance(tile, tuple) else (tile,)
    if tile is None:
        return None
    if not sizes or any(type(size) is not int or size < 1 for size in sizes):
        needed = "a positive int, or one per trailing dimension"
        raise usage_error("tile", brief(tile), needed, "write (16, 16), for example")
    return sizes


def _read(values: object, like: DType | None, label: str) -> tuple[Array, DType]:
    """Return the values as an array, with bfloat16 and float8 widened to float32, and their
    original dtype.
    """
    needed = "a torch tensor or an array of numbers"
    if values is None:
        remedy = (
            "write `run(x, y)` instead of `y = run(x, y)` and check y, because a compiled kernel "
            "writes to its arguments and returns nothing"
        )
        raise usage_error(label, "None", needed, remedy)
    if isinstance(values, torch.Tensor):
        tensor = dense(label, values).detach()
        if tensor.is_complex():
            _refuse_dtype(label, values.dtype)
        info = dtype_info(tensor.dtype)
        tensor = tensor.cpu()
        return (tensor.float() if info.numpy_is_bits else tensor).resolve_neg().numpy(), info
    try:
        array = np.asarray(values)
        if like is not None and not hasattr(values, "dtype"):
            # Bare numbers and lists have no dtype, so they get the dtype of the values they are
            # compared with.
            array = array.astype(np.float64 if like.is_float else like.numpy_view)
        return array, dtype_info(array.dtype)
    except (TypeError, ValueError) as exc:
        if isinstance(exc, UsageError):
            _refuse_dtype(label, getattr(values, "dtype", type(values).__name__))
        remedy = "pass check(actual, expected)"
        raise usage_error(label, type(values).__name__, needed, remedy) from exc


def _refuse_dtype(label: str, dtype: object) -> None:
    remedy = "compare the parts, such as x.real and x.imag, or convert with .to(dtype)"
    raise usage_error(label, dtype, "real numbers or booleans", remedy) from None


def _check_comparable(got: Array, dtype: DType, want: Array, want_dtype: DType) -> None:
    if got.shape != want.shape:
        hint = "compare tensors of equal shape"
        if got.ndim == 2 and got.shape == want.shape[::-1]:
            hint = "compare with expected.T, because one of the tensors is transposed"
        needed = f"{tuple(want.shape)}, the shape of expected"
        raise usage_error("shape of actual", tuple(got.shape), needed, hint)
    both_float = dtype.is_float and want_dtype.is_float
    if dtype is want_dtype or (both_float and want_dtype.bits > dtype.bits):
        return
    both_int = not dtype.is_float and not want_dtype.is_float
    if both_int and np.can_cast(got.dtype, want.dtype, "safe") and dtype.name != "bool":
        return
    remedy = f"convert the reference with expected.to(torch.{dtype.name})"
    needed = f"{dtype.name} or a wider type of the same kind"
    raise usage_error("dtype of expected", want_dtype.name, needed, remedy)


def _scaled_atol(dtype: DType, want: Array) -> float:
    """Return the default atol, scaled to the finite expected values."""
    if not dtype.is_float:
        return dtype.atol
    square, count = 0.0, 0
    flat = want.reshape(-1)
    for values in (flat[chunk] for chunk in _chunks(flat.size)):
        finite = values[np.isfinite(values)].astype(np.float64)
        with np.errstate(over="ignore"):
            square, count = square + float(np.sum(finite * finite)), count + finite.size
    return scaled_atol(dtype, (square / count) ** 0.5 if count else 1.0)


def _nothing_to_compare(want: Array, dtype: DType) -> str:
    """Return the reason why `want` cannot be a reference if every element is the fill value of
    `empty`."""
    if want.size == 0 or dtype.name == "bool":  # a mask may contain only True, the fill value
        return ""
    if dtype.is_float:
        if not np.isnan(want.flat[0]) or not np.isnan(want).all():
            return ""
        held = "NaN"
    else:
        value = poison(dtype.torch_dtype)
        if want.flat[0] != value or not (want == value).all():
            return ""
        held = f"{value:,}"
    return (
        f"expected contains only {held}, the fill value of fk.empty, so it cannot be the "
        "reference; did you swap the arguments?"
    )


def _chunks(size: int) -> list[slice]:
    return [slice(start, start + _CHUNK) for start in range(0, size, _CHUNK)]


def _added(counts: tuple[int, int], *masks: Array) -> tuple[int, int]:
    """Return the two counts (in got, in want), each increased by the number of true elements in its
    mask.
    """
    got, want = (count + np.count_nonzero(mask) for count, mask in zip(counts, masks, strict=True))
    return int(got), int(want)


class _Scan:
    """A comparison of both arrays in one pass, chunk by chunk, which finds the code of every
    element and the elements with the largest errors.

    worst_absolute, worst_relative: (error, position). nans, infs: the numbers of NaNs and
    infinities in (got, want).
    """

    def __init__(self, got: Array, want: Array, dtype: DType, rtol: float, atol: float) -> None:
        self.shape, self.dtype, self.rtol, self.atol = got.shape, dtype, rtol, atol
        self.got, self.want = got.reshape(-1), want.reshape(-1)
        self.codes = np.zeros(got.size, np.uint8)
        self.worst_absolute = self.worst_relative = (0.0, -1)
        self.nans = self.infs = (0, 0)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            for chunk in _chunks(got.size):
                self._chunk(self.got[chunk], self.want[chunk], self.codes[chunk], chunk.start)

    def _chunk(self, got: Array, want: Array, codes: Array, start: int) -> None:
        if not self.dtype.is_float and np.array_equal(got, want):
            return
        a, e = got.astype(np.float64), want.astype(np.float64)  # a signalling NaN raises "invalid"
        difference, magnitude = np.abs(a - e), np.abs(e)
        if self.dtype.is_float:
            right = difference <= magnitude * self.rtol + self.atol
            never_written = a == 0
            if not np.isfinite(a.sum() + e.sum()):
                right = (right & np.isfinite(e)) | (a == e) | (np.isnan(a) & np.isnan(e))
                self.nans = _added(self.nans, np.isnan(a), np.isnan(e))
                self.infs = _added(self.infs, np.isinf(a), np.isinf(e))
                difference[~np.isfinite(difference)] = 0.0  # NaN and Inf are counted separately
                magnitude[~np.isfinite(magnitude)] = 0.0
        else:
            right = got == want
            value = poison(self.dtype.torch_dtype)
            never_written = ((got == 0) | (got == value)) & (self.dtype.name != "bool")
        self._note_worst(difference, magnitude, start)
        if not right.all():
            codes[~right] = WRONG
            codes[~right & never_written] = MISSING
            codes[~right & np.isnan(a)] = NAN

    def _note_worst(self, difference: Array, magnitude: Array, start: int) -> None:
        at = int(np.argmax(difference))
        if difference[at] > self.worst_absolute[0]:
            self.worst_absolute = (float(difference[at]), start + at)
        relative = np.where(magnitude > 0, difference / magnitude, 0.0)
        at = int(np.argmax(relative))
        if relative[at] > self.worst_relative[0]:
            self.worst_relative = (float(relative[at]), start + at)

    def mismatch_at(self, position: int) -> Mismatch | None:
        if position < 0:
            return None
        index = tuple(int(i) for i in np.unravel_index(position, self.shape))
        return Mismatch(index, self.got[position].item(), self.want[position].item())

    def first(self, count: int) -> tuple[Mismatch, ...]:
        """Return the first wrong elements."""
        found: list[int] = []
        for chunk in _chunks(self.codes.size):
            wrong = np.flatnonzero(self.codes[chunk])[: count - len(found)]
            found += (wrong + chunk.start).tolist()
            if len(found) >= count:
                break
        return tuple(m for m in map(self.mismatch_at, found) if m is not None)
