"""Make facts about launches by hand."""

from __future__ import annotations

from typing import Any

from forgekit.profiling.predicting.facts import Facts

NOTHING: dict[str, Any] = {
    "blocks": 132, "threads": 32, "cluster": 1, "registers": 32, "shared_bytes": 0, "warps": 132,
    "slots": {}, "waits": {}, "issued": 0.0, "fmas": 0.0, "longest": 1.0, "requests": {},
    "sectors": {}, "ideal": {}, "loads": 0.0, "near_loads": 0.0, "stores": 0.0, "near_stores": 0.0,
    "atomics": 0.0, "atomic_sectors": 0, "warp_loads": 0.0, "read_sectors": 0,
    "written_sectors": 0, "read_pairs": 0, "written_pairs": 0, "bulk_bytes": 0,
}  # fmt: skip


def facts(**changes: Any) -> Facts:
    """Return the facts of a launch of 132 blocks of one warp whose only work is that in
    `changes`."""
    return Facts(**{**NOTHING, **changes})
