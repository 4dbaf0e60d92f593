"""Which bytes of device memory a launch read and wrote: what has to move at least once."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import Allocation, Region, addressing
from forgekit.vgpu.memory.addressing import Target

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
    """A map of booleans for each allocation, way (read, written) and width of access.

    One byte for each access's width of memory: a quarter of a float32 tensor, read and written.
    """

    def __init__(self) -> None:
        # (allocation, way) -> (width, bytes before its first entry) -> booleans
        self._maps: defaultdict[tuple[int, str], dict[tuple[int, int], Array]] = defaultdict(dict)

    def add(self, kind: str, targets: Sequence[Target], width: int) -> None:
        """Mark what an access touches."""
        for target in targets:
            if target.allocation is None:
                continue
            (places,) = addressing.compress(target.mask, target.places)
            key = target.inside or width, target.skipped
            for way in _WAYS[kind]:
                maps = self._maps[id(target.allocation), way]
                if key not in maps:
                    maps[key] = np.zeros(len(target.rows), bool)
                maps[key][places] = True

    def tensors(self, allocations: Sequence[Allocation]) -> list[TensorTraffic]:
        """What was touched in each tensor, in the order of their addresses."""
        result = []
        for allocation in allocations:
            read, written = (self._maps[id(allocation), way] for way in (READ, WRITTEN))
            for region in allocation.regions:
                info, count = region.info, functools.partial(_count, allocation, region)
                result.append(
                    TensorTraffic(info.name, info.dtype, info.shape, region.size_bytes,
                                  count(read), count(written))
                )  # fmt: skip
        return result

    def distinct(self, way: str) -> int:
        """Bytes touched in this way, those that tensors share counted once."""
        return sum(
            int(np.count_nonzero(bits)) * grain
            for (_, w), maps in self._maps.items()
            if w == way and maps
            for bits, grain in [_merged(maps, 0)]
        )


def _count(allocation: Allocation, region: Region, maps: dict[tuple[int, int], Array]) -> int:
    """Touched bytes of a region."""
    if not maps:
        return 0
    start = region.start - allocation.real_address
    bits, grain = _merged(maps, math.gcd(start, region.size_bytes))
    inside = bits[start // grain : (start + region.size_bytes) // grain]
    return int(np.count_nonzero(inside)) * grain


def _merged(maps: dict[tuple[int, int], Array], offset: int) -> tuple[Array, int]:
    """All maps of an allocation as one, and the bytes that each of its entries stands for."""
    grain = math.gcd(offset, *(n for key in maps for n in key))
    if len(maps) == 1:
        (((width, skipped), bits),) = maps.items()
        if width == grain and not skipped:
            return bits, grain
    merged = np.zeros(max((s + len(b) * w) // grain for (w, s), b in maps.items()), bool)
    for (width, skipped), bits in maps.items():
        fine = np.repeat(bits, width // grain)
        merged[skipped // grain : skipped // grain + len(fine)] |= fine
    return merged, grain
