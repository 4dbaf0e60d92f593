"""Numbers as a person reads them."""

from __future__ import annotations

import math

__all__ = ["extent", "plural", "seconds", "size"]


def plural(count: int, noun: str) -> str:
    """`1 sector`, `2,560 sectors`, `3 branches`, `2 copies`"""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}" + ("es" if noun.endswith("ch") else "s")


def size(count: float, *, exact: bool = False) -> str:
    """Bytes in decimal units, `2.62 MB`; exact: `1,280 bytes`."""
    if exact or count < 1000:
        return plural(int(count), "byte") if exact else f"{int(count)} B"
    for unit, factor in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if count < 999.5 * factor or unit == "GB":
            return f"{_three(count / factor)} {unit}"
    raise AssertionError


def seconds(value: float) -> str:
    """`0.14 µs`, `1.2 ms`"""
    if not value:
        return "0 s"
    for unit, factor in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if value < 999.5 * factor:
            return f"{_three(value / factor)} {unit}"
    return f"{_three(value)} s"


def _three(value: float) -> str:
    """Three digits that count."""
    digits = max(2 - math.floor(math.log10(value)), 0) if value else 0
    return f"{value:,.{digits}f}"


def extent(dims: tuple[int, int, int], noun: str) -> str:
    """`8 blocks`, or `1,024 blocks (32 × 32)`."""
    used = dims[: max((i + 1 for i, n in enumerate(dims) if n > 1), default=1)]
    shape = f" ({' × '.join(f'{n:,}' for n in used)})" if len(used) > 1 else ""
    return plural(math.prod(dims), noun) + shape
