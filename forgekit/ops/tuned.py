"""What `forgekit tune` found on the GPU at hand: configurations that go before the table's."""

from __future__ import annotations

from forgekit.ops.tile_choice import RowChoice

__all__ = ["tuned_rows"]


def tuned_rows(
    op: str, arch: str | None, rows: int, size: int, dtype: object, vector: int, edges: bool
) -> RowChoice | None:
    """The stored configuration for such rows, or None."""
    return None
