"""Tables of what NVIDIA's tools say: names and numbers in few characters, columns aligned."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["aligned", "cut", "number", "short_count", "short_name"]

GAP = "  "


def short_name(kernel: str) -> str:
    """A kernel's name as in Python: CuTe DSL calls it `kernel_cutlass_NAME_TYPES_0`."""
    if not kernel.startswith("kernel_cutlass_"):
        return kernel.removeprefix("void ")
    plain = re.split(r"_tensorptr|_object_at_", kernel.removeprefix("kernel_cutlass_"))[0]
    return re.sub(r"_\d+$", "", plain)


def cut(text: str, width: int) -> str:
    """The text, or its beginning and `…`."""
    return text if len(text) <= width else text[: width - 1] + "…"


def number(text: str | None) -> float | None:
    """`2,560` -> 2560.0; None where a tool has no number (`n/a`, `nan`, nothing)."""
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if value == value else None


def short_count(count: float | None) -> str:
    """`192 k`, `65.4 M`; `–` for None."""
    if count is None:
        return "–"
    if count < 9999.5:
        return f"{count:,.0f}"
    unit, factor = next(
        (u, f) for u, f in (("k", 1e3), ("M", 1e6), ("G", 1e9)) if count < 999.5 * f or u == "G"
    )
    return f"{count / factor:.3g} {unit}"


def aligned(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> list[str]:
    """Lines of a table, its head first; left: the columns of words; a head may have two lines."""
    split = [head.split("\n") for head in heads]
    deep = max(len(parts) for parts in split)
    tops = [[*[""] * (deep - len(parts)), *parts] for parts in split]
    lines = [[column[i] for column in tops] for i in range(deep)] + [list(row) for row in rows]
    widths = [max(len(line[i]) for line in lines if i < len(line)) for i in range(len(heads))]
    return [
        GAP.join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    ]
