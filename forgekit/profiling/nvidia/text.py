"""Names and numbers of NVIDIA's tools in few characters."""

from __future__ import annotations

import re


def short_name(kernel: str) -> str:
    """A kernel's name as in Python: CuTe DSL calls it `kernel_cutlass_NAME_TYPES_0`."""
    if not kernel.startswith("kernel_cutlass_"):
        return kernel.removeprefix("void ")
    plain = re.split(r"_tensorptr|_object_at_", kernel.removeprefix("kernel_cutlass_"))[0]
    return re.sub(r"_\d+$", "", plain)


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
