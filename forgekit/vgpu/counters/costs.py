"""Compute the costs of an instruction's accesses, once per group of equal warps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from forgekit.vgpu.counters import rules
from forgekit.vgpu.counters.warps import Alike, Unlike, warps
from forgekit.vgpu.floats import Array

_ORIGIN = 1 << 40  # added to addresses so that they are nonnegative
_MOST_PATTERNS = 4096  # maximum size of the cache; scattered accesses rarely have equal patterns
_LOW = np.uint64(0xFFFFFFFF)
_VARIES = -(1 << 62)  # exceeds any distance between two lanes


@dataclass
class AccessCounts:
    """Counts of accesses of one kind, such as `global_load`, by one or more instructions.

    width: the maximum number of bytes per lane; requests: the number of warps with an active lane;
    bytes_asked: the number of active lanes times `width`; units: sectors of global memory, or
    wavefronts of shared memory; ideal: the minimum number of units; low, high: the minimum and
    maximum units per request; strides: maps the distance in bytes between neighbouring active lanes
    (None if it varies) to the number of units that requests with this distance need beyond the
    minimum.
    """

    kind: str
    width: int
    requests: int = 0
    bytes_asked: int = 0
    units: int = 0
    ideal: int = 0
    low: int = 1 << 30
    high: int = 0
    strides: Counter[int | None] = field(default_factory=Counter)

    def add(self, cost: Array, often: Array, threads: int, stride: int | None) -> None:
        """Add the costs of warps.

        cost: k pairs (units, ideal), with shape (k, 2); often: the number of warps with each pair;
        threads: the number of active threads in all warps.
        """
        units, ideal = (often @ cost).tolist()
        self.requests += int(often.sum())
        self.bytes_asked += threads * self.width
        self.units += units
        self.ideal += ideal
        self.low = min(self.low, int(cost[:, 0].min()))
        self.high = max(self.high, int(cost[:, 0].max()))
        self.strides[stride] += units - ideal

    def __add__(self, other: AccessCounts) -> AccessCounts:
        return AccessCounts(
            self.kind,
            max(self.width, other.width),
            self.requests + other.requests,
            self.bytes_asked + other.bytes_asked,
            self.units + other.units,
            self.ideal + other.ideal,
            min(self.low, other.low),
            max(self.high, other.high),
            self.strides + other.strides,
        )

    def times(self, weight: float) -> AccessCounts:
        """Return the counts, multiplied by `weight` and rounded."""
        requests, asked, units, ideal = (
            round(n * weight) for n in (self.requests, self.bytes_asked, self.units, self.ideal)
        )
        strides = Counter({stride: round(n * weight) for stride, n in self.strides.items()})
        return replace(self, requests=requests, bytes_asked=asked, units=units, ideal=ideal,
                       strides=strides)  # fmt: skip

    @property
    def is_global(self) -> bool:
        return self.kind.startswith("global")

    @property
    def unit(self) -> str:
        return "sector" if self.is_global else "wavefront"

    @property
    def bytes_moved(self) -> int:
        """Return the total size of the sectors in bytes; 0 for shared memory."""
        return rules.SECTOR_BYTES * self.units if self.is_global else 0


@dataclass(frozen=True)
class Rule:
    """The rule for the cost of accesses of one kind.

    moduli: for each address of a lane, a shift in bytes that leaves the cost unchanged; cost: a
    function that maps the lanes' addresses (one array per modulus), the active lanes and the width
    to pairs (units, ideal), one per memory involved.
    """

    moduli: tuple[int, ...]
    cost: Callable[..., tuple[rules.Cost, ...]]


def _alone(rule: Callable[[Array, Array, int], rules.Cost]) -> Callable[..., tuple[rules.Cost]]:
    return lambda rows, active, width: (rule(rows, active, width),)


_SECTOR, _ROW = (rules.SECTOR_BYTES,), (rules.ROW_BYTES,)
RULES = {
    "global_load": Rule(_SECTOR, _alone(rules.sectors)),
    "global_store": Rule(_SECTOR, _alone(rules.sectors)),
    "global_atomic": Rule(_SECTOR, _alone(rules.atomic_sectors)),
    "global_reduction": Rule(_SECTOR, _alone(rules.atomic_sectors)),
    "shared_load": Rule(_ROW, _alone(rules.load_wavefronts)),
    "shared_store": Rule(_ROW, _alone(rules.store_wavefronts)),
    "ldmatrix": Rule(_ROW, _alone(rules.store_wavefronts)),  # eight rows of 16 bytes at a time
    "shared_atomic": Rule(_ROW, _alone(rules.atomic_wavefronts)),
    "async": Rule(_ROW * 2, rules.through_l1),
    "async past L1": Rule(_ROW * 2, rules.past_l1),
}


def paired(source: Array, target: Array) -> Array:
    """Combine the global and the shared address of each lane into one number. Different pairs of
    differences between lanes yield different numbers."""
    return (source.astype(np.uint64) << np.uint64(32)) + target.astype(np.uint64)


def _parts(addresses: Array, count: int) -> tuple[Array, ...]:
    """Split each lane's number into one or two (`count`) signed addresses or distances."""
    signed = addresses.view(f"i{addresses.itemsize}").astype(np.int64)
    if count == 1:
        return (signed,)
    low = (addresses & _LOW).astype(np.uint32).view(np.int32).astype(np.int64)
    return (signed - low) >> 32, low


class Costs:
    """The costs of access patterns, computed once per pattern and position of the first lane."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, bytes], _Pattern] = {}

    def add(
        self,
        counts: tuple[AccessCounts | None, ...],
        rule: str,
        address: Array,
        mask: Array | None,
        shape: tuple[int, int],
        width: int,
    ) -> None:
        """Add the cost of one access by all threads of a group; address and mask broadcast to
        `shape`.

        counts: one per memory that the rule covers; None if that memory is not counted.
        """
        for group in warps(address, mask, shape):
            if isinstance(group, Unlike):
                _add_each(counts, RULES[rule], group, width)
            else:
                self._pattern(rule, width, group).add(counts, group)

    def _pattern(self, rule: str, width: int, group: Alike) -> _Pattern:
        key = (rule, width, group.pattern.tobytes())
        pattern = self._known.get(key)
        if pattern is None:
            if len(self._known) >= _MOST_PATTERNS:
                self._known.clear()
            pattern = self._known[key] = _Pattern(group, RULES[rule], width)
        return pattern


class _Pattern:
    """The costs of a pattern, for each position of its first lane within a sector or a row of
    banks."""

    def __init__(self, group: Alike, rule: Rule, width: int) -> None:
        self.rule, self.width = rule, width
        self.active = group.active
        self.threads = int(np.count_nonzero(self.active))
        # Give inactive lanes the first lane's address, which adds no cost.
        self.lanes = [
            np.where(self.active, part, 0) + _ORIGIN
            for part in _parts(group.pattern, len(rule.moduli))
        ]
        active = self.active[None]
        self.strides = [_distance(_strides(part[None], active, width)[0]) for part in self.lanes]
        self.shift = width.bit_length() - 1  # bases are multiples of the width
        self.places = [modulus >> self.shift for modulus in rule.moduli]
        self.cost = np.full((int(np.prod(self.places)), len(rule.moduli), 2), -1, np.int64)

    def add(self, counts: tuple[AccessCounts | None, ...], group: Alike) -> None:
        place = self._place(group.bases.reshape(-1))
        if len(place) == 1 or (place == place[0]).all():
            used, often = place[:1].astype(np.int64), np.array([len(place)])
        else:
            number = np.bincount(place.astype(np.int64), minlength=len(self.cost))
            used = np.flatnonzero(number)
            often = number[used]
        cost = self.cost[used]
        if (cost < 0).any():
            cost = self.cost[used] = self._computed(used)
        often = often * group.times
        threads = int(often.sum()) * self.threads
        for i, charged in enumerate(counts):
            if charged is not None:
                charged.add(cost[:, i], often, threads, self.strides[i])

    def _place(self, bases: Array) -> Array:
        """Return the positions of the warps' first lanes, as row indices of `cost`."""
        if len(self.places) == 1:
            kind = bases.dtype.type
            place: Array = (bases >> kind(self.shift)) & kind(self.places[0] - 1)
            return place
        source, target = (p >> self.shift for p in _parts(bases, 2))
        return (source & (self.places[0] - 1)) * self.places[1] + (target & (self.places[1] - 1))

    def _computed(self, used: Array) -> Array:
        at = np.unravel_index(used, self.places)
        rows = [
            lanes + (place[:, None] << self.shift)
            for lanes, place in zip(self.lanes, at, strict=True)
        ]
        active = np.broadcast_to(self.active, rows[0].shape)
        return _stacked(self.rule.cost(*rows, active, self.width))


def _stacked(found: tuple[rules.Cost, ...]) -> Array:
    """Return the costs as an array of shape (warps, memories, 2)."""
    return np.stack([np.stack(cost, axis=1) for cost in found], axis=1)


def _add_each(
    counts: tuple[AccessCounts | None, ...], rule: Rule, group: Unlike, width: int
) -> None:
    rows = _parts(group.rows, len(rule.moduli))
    cost = _stacked(rule.cost(*rows, group.active, width))
    often = np.full(len(cost), group.times)
    lanes = np.count_nonzero(group.active, axis=1) * group.times
    for i, charged in enumerate(counts):
        if charged is not None:
            strides = _strides(rows[i], group.active, width)
            for stride in np.unique(strides):
                of = strides == stride
                threads = int(lanes[of].sum())
                charged.add(cost[of, i], often[of], threads, _distance(stride))


def _strides(rows: Array, active: Array, width: int) -> Array:
    """Return the distance in bytes between neighbouring lanes of each warp: `_VARIES` if it varies,
    the width for a single lane. rows: addresses, of shape (n, 32)."""
    rank = active.cumsum(axis=1) - 1
    first = np.take_along_axis(rows, active.argmax(axis=1)[:, None], 1)
    steps = np.take_along_axis(rows, (active & (rank == 1)).argmax(axis=1)[:, None], 1) - first
    same = ((rows == first + rank * steps) | ~active).all(axis=1)
    found: Array = np.where(same, steps[:, 0], _VARIES)
    found[rank[:, -1] == 0] = width
    return found


def _distance(stride: int) -> int | None:
    return None if stride == _VARIES else int(stride)
