"""Find patterns in wrong values that point to a mistake, such as wrong rows, columns or tiles, or
values that are transposed, shifted or scaled.

Every hint states a fact about the arrays, never a guess. At most three hints are reported, the most
specific ones first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.text import plural

Array = np.ndarray[Any, np.dtype[Any]]

EITHER = " (never stored, or computed as NaN)"  # fk.empty fills float tensors with NaN
_MAX_HINTS = 3
_PIECE = 1 << 18
_MAX_FOR_VALUES = 1 << 25  # above this size, skip the whole-array comparisons


def hints(
    got: Array,
    want: Array,
    codes: Array,
    rtol: float,
    atol: float,
    tile: tuple[int, ...] | None = None,
) -> tuple[str, ...]:
    """Return facts about the mismatches, one sentence each.

    Args:
        got, want: actual and expected values, of the same shape.
        codes: a uint8 array of the same shape, nonzero for wrong elements, of which there must be
            at least one.
        rtol, atol: tolerances for comparing with a transposed or shifted `want`.
        tile: the kernel's tile over the last dimensions.
    """
    found = _of_values(got, want, codes, rtol, atol) if got.size <= _MAX_FOR_VALUES else []
    found += of_places(codes != 0)
    if tile is not None:
        found += _of_tiles(codes != 0, tile)
    return tuple(found[:_MAX_HINTS])


def _close(got: Array, view: Array, rtol: float, atol: float, factor: float | None = None) -> bool:
    """Return True if `got`, a flat array, agrees with `view` in row-major order (times `factor`).

    A few elements are compared first, because most views differ. Then all elements are compared, in
    chunks, without copying `view`.
    """
    step = max(1, got.size // 4096)
    places = np.arange(0, got.size, step)
    for start in (-1, *range(0, got.size, _PIECE)):
        at = places if start < 0 else np.arange(start, min(start + _PIECE, got.size))
        a, e = got[at], view[np.unravel_index(at, view.shape)]
        if factor is not None:
            e = e.astype(np.float64) * factor
        if got.dtype.kind != "f":
            same = np.array_equal(a, e)
        else:
            a = a.astype(np.float64)
            same = bool(np.allclose(a, e.astype(np.float64), rtol, atol, equal_nan=True))
        if not same:
            return False
    return True


def _of_values(got: Array, want: Array, codes: Array, rtol: float, atol: float) -> list[str]:
    flat, expected = got.reshape(-1), want.reshape(-1)
    if flat.dtype == np.bool_:
        opposite = bool((flat != expected).all())
        return ["every element of actual is the negation of expected"] if opposite else []
    if flat.dtype.kind == "f" and np.isnan(flat).all():
        return [f"every element of actual is NaN{EITHER}"]
    if flat.size > 1 and (flat == flat[0]).all():
        return [f"every element of actual is {_formatted(flat[0])}"]
    with np.errstate(all="ignore"):
        found = _rearranged(got, want, rtol, atol)
        if not found and flat.dtype.kind == "f":
            found = _ratio(flat, expected, rtol)
    return found or _same_everywhere(flat[codes.reshape(-1) != 0])


def _rearranged(got: Array, want: Array, rtol: float, atol: float) -> list[str]:
    """Return a hint if `actual` contains the values of `expected` in another order."""
    flat, expected = got.reshape(-1), want.reshape(-1)
    if got.ndim == 2 and min(got.shape) > 1:
        if _close(flat, want.T, rtol, atol):
            if got.shape[0] == got.shape[1]:
                return ["actual equals the transpose of expected"]
            return ["actual contains the values of expected in transposed order"]
        for axis, what in ((0, "rows"), (1, "columns")):
            if _close(flat, np.flip(want, axis), rtol, atol):
                return [f"actual equals expected with its {what} in reverse order"]
    if flat.size > 2 and not (expected == expected[0]).all():
        for way, a, e in (("later", flat[1:], expected[:-1]), ("earlier", flat[:-1], expected[1:])):
            if _close(a, e, rtol, atol):
                return [f"actual equals expected shifted: each value is one position {way}"]
    return []


def _ratio(flat: Array, expected: Array, rtol: float) -> list[str]:
    """Return a hint if `actual` is `expected` times a single factor, for example because the kernel
    applies a scale twice or not at all.
    """
    at = int(np.argmax(np.abs(np.where(np.isfinite(expected), expected, 0))))
    a, e = float(flat[at]), float(expected[at])
    if flat.size < 3 or not np.isfinite((a, e)).all() or a == 0 or e == 0:
        return []
    factor, slack = a / e, 4 * rtol
    finite = np.abs(expected[np.isfinite(expected)])
    usual = float(np.median(finite)) * abs(factor)  # the largest may be far larger
    if abs(factor - 1) <= slack or not _close(flat, expected, slack, slack * usual * 1e-3, factor):
        return []
    return [f"actual equals expected times {factor:.6g}"]


def _formatted(value: np.generic) -> str:
    number = value.item()
    return f"{number + 0.0:.7g}" if isinstance(number, float) else str(number)  # -0.0 + 0.0 is 0.0


def _same_everywhere(wrong_values: Array) -> list[str]:
    """Return a hint if all wrong elements have the same value, as elements that were never written
    do.
    """
    if wrong_values.size < 2:
        return []
    if wrong_values.dtype.kind == "f" and np.isnan(wrong_values).all():
        return [f"every wrong element is NaN{EITHER}"]
    if (wrong_values == wrong_values[0]).all():
        return [f"every wrong element is {_formatted(wrong_values[0])}"]
    return []


def of_places(wrong: Array) -> list[str]:
    """Return hints about the positions of the elements marked in `wrong`."""
    total = int(np.count_nonzero(wrong))
    if total == wrong.size:
        return []  # the report's headline states this
    if total == 1:
        return ["a single element differs"]
    found = []
    if wrong.ndim >= 2 and wrong.shape[-1] > 1 and wrong.size > wrong.shape[-1]:
        rows = wrong.reshape(-1, wrong.shape[-1])
        merged = "" if wrong.ndim == 2 else " (leading dimensions merged)"
        in_rows = _along("row", np.any(rows, axis=1, keepdims=True)[:, 0])
        found += _along("column", np.any(rows, axis=0, keepdims=True)[0])
        found += [hint + merged for hint in in_rows]
    else:
        found += _along("element", wrong.reshape(-1))
    return found or _every_nth(wrong.reshape(-1), "element", "exactly ")


def _along(what: str, hit: Array) -> list[str]:
    """Describe the positions of the mismatches along one axis; return an empty list if they cover
    the whole axis."""
    places = np.flatnonzero(hit)
    first, last, size = int(places[0]), int(places[-1]), hit.size
    count = last - first + 1
    if places.size == size:
        return []
    if places.size == 1:
        return [f"all mismatches are in {what} {first}"] if what != "element" else []
    if places.size == count:
        place = f"{what}s {first} to {last}"
        if last == size - 1:
            place = f"the last {count:,} {what}s ({first} to {last})"
        elif first == 0:
            place = f"the first {count:,} {what}s (0 to {last})"
        return [f"all mismatches are in {place}"]
    found = _every_nth(hit, what, "all mismatches are in " if what != "element" else "exactly ")
    if not found and 4 * count < 3 * size:
        found = [f"all mismatches are between {what}s {first} and {last}"]
    return found


def _every_nth(hit: Array, what: str, lead: str) -> list[str]:
    """Return a description if the mismatches are at exactly every n-th index (n > 1), starting at
    the first mismatch; otherwise, return an empty list.
    """
    places = np.flatnonzero(hit)
    if places.size < 3:
        return []
    step = int(places[1] - places[0])
    regular = step > 1 and bool((np.diff(places) == step).all())
    whole = places[0] < step and places[-1] + step >= hit.size
    if not (regular and whole):
        return []
    ends = {1: "st", 2: "nd", 3: "rd"} if step // 10 % 10 != 1 else {}
    nth = {2: "second", 3: "third"}.get(step, f"{step}{ends.get(step % 10, 'th')}")
    tail = " differs" if lead == "exactly " else ""
    return [f"{lead}every {nth} {what}{tail}, starting at {int(places[0])}"]


def _of_tiles(wrong: Array, tile: tuple[int, ...]) -> list[str]:
    """Return a hint with the number of the kernel's tiles that contain mismatches, and whether
    every element of those tiles is wrong.
    """
    sizes = tile[-wrong.ndim :]
    if not sizes or any(size < 1 for size in sizes):
        return []
    counts, elements = wrong.astype(np.int64), np.ones(wrong.shape, np.int64)
    for axis, size in enumerate(sizes, start=wrong.ndim - len(sizes)):
        starts = np.arange(0, wrong.shape[axis], size)
        counts = np.add.reduceat(counts, starts, axis=axis)
        elements = np.add.reduceat(elements, starts, axis=axis)
    hit = counts > 0
    if hit.all():
        each = int(counts.reshape(-1)[0])
        alike = hit.size > 1 and bool((counts == each).all())
        return [f"each of the {hit.size:,} tiles has {plural(each, 'wrong element')}"] * alike
    whole = ", covering each completely" if bool((counts[hit] == elements[hit]).all()) else ""
    named = "x".join(str(size) for size in sizes)
    return [f"mismatches are in {int(hit.sum()):,} of {hit.size:,} tiles ({named}){whole}"]
