"""Which bytes of device memory a launch read and wrote: what has to move at least once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.access import addressing
from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import Allocation

READ, WRITTEN = "read", "written"
_WAYS = {
    "load": (READ,), "async load": (READ,), "store": (WRITTEN,), "atomic": (READ, WRITTEN),
}  # fmt: skip


@dataclass(frozen=True)
class TensorTraffic:
    """One tensor's bytes that a launch touched, each counted once.

    size_bytes: from its lowest byte to past its highest; read_bytes, written_bytes: distinct bytes
    within it; tensors that overlap each have the bytes they share.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    read_bytes: int
    written_bytes: int


class Touched:
    """Of each allocation and way (read, written) whether each byte was touched."""

    def __init__(self) -> None:
        self._bytes: dict[tuple[int, str], Array] = {}  # (allocation's address, way) -> booleans

    def add(self, kind: str, targets: Sequence[Target], width: int) -> None:
        for target in targets:
            if target.allocation is None:
                continue
            (places,) = addressing.compress(target.mask, target.places)
            each = target.inside or width
            for way in _WAYS[kind]:
                touched = self._of(target.allocation, way)[target.skipped :]
                rows = touched[: len(touched) // each * each].view(f"V{each}")
                rows[places] = np.void(b"\1" * each)

    def tensors(self, allocations: Sequence[Allocation]) -> list[TensorTraffic]:
        """What was touched in each tensor, in the order of their addresses."""
        result = []
        for allocation in allocations:
            for region in allocation.regions:
                start = region.start - allocation.real_address
                part = slice(start, start + region.size_bytes)
                read, written = (
                    int(np.count_nonzero(self._of(allocation, way)[part]))
                    for way in (READ, WRITTEN)
                )
                info = region.info
                result.append(TensorTraffic(info.name, info.dtype, info.shape, region.size_bytes,
                                            read, written))  # fmt: skip
        return result

    def distinct(self, way: str) -> int:
        """Bytes touched in this way, those that tensors share counted once."""
        return sum(int(np.count_nonzero(t)) for (_, w), t in self._bytes.items() if w == way)

    def _of(self, allocation: Allocation, way: str) -> Array:
        key = allocation.address, way
        if key not in self._bytes:
            self._bytes[key] = np.zeros(allocation.size_bytes, bool)
        return self._bytes[key]
