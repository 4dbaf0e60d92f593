"""Special registers: %tid, %ctaid, %laneid, …"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.vgpu.access import clusters
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP, block_coordinates

U32, U64 = np.dtype("u4"), np.dtype("u8")


@dataclass(frozen=True)
class SpecialRegister:
    """A register that the machine computes; `value` keeps what does not change in a batch."""

    dtype: np.dtype
    compute: Callable[[Any], Array]  # of the machine
    name: str
    changes: bool = False  # clocks: never kept

    def value(self, m: Batch) -> Array:
        if self.changes:
            return self.compute(m).astype(self.dtype)
        found = m.state.get(self.name)
        if found is None:
            found = m.state[self.name] = self.compute(m).astype(self.dtype)
        return found  # type: ignore[return-value]


SPECIAL_REGISTERS: dict[str, SpecialRegister] = {}


def _add(name: str, compute: Callable[[Any], Array], dtype: np.dtype = U32, **kw: bool) -> None:
    SPECIAL_REGISTERS[name] = SpecialRegister(dtype, compute, name, **kw)


def _constant(value: int) -> Array:
    return np.array([[value]])


def _thread(m: Batch) -> Array:
    return np.arange(m.n_threads)[None]


def _lane(m: Batch) -> Array:
    return _thread(m) % WARP


def _block(m: Batch) -> Array:
    return np.array(m.blocks)[:, None]


def _thread_along(axis: int) -> Callable[[Any], Array]:
    """One coordinate of the thread, x fastest."""

    def compute(m: Batch) -> Array:
        sizes = m.record.block
        return _thread(m) // int(np.prod(sizes[:axis])) % sizes[axis]

    return compute


def _block_along(axis: int) -> Callable[[Any], Array]:
    """One coordinate of the block in the grid."""
    return lambda m: block_coordinates(_block(m), m.record.grid, m.record.cluster)[axis]


def _rank(m: Batch) -> Array:
    return clusters.own_rank(m) if m.cluster_blocks > 1 else _constant(0)


def _extent(extents: str, axis: int) -> Callable[[Any], Array]:
    return lambda m: _constant(getattr(m.record, extents)[axis])


def _by_cluster(of: np.ufunc, what: Callable[[Any], Array], axis: int) -> Callable[[Any], Array]:
    """A coordinate or an extent, divided by the cluster's extent, or what is left of it then."""
    return lambda m: of(what(m), m.record.cluster[axis])


for _axis, _letter in enumerate("xyz"):
    _add(f"%tid.{_letter}", _thread_along(_axis))
    _add(f"%ntid.{_letter}", _extent("block", _axis))
    _add(f"%ctaid.{_letter}", _block_along(_axis))
    _add(f"%nctaid.{_letter}", _extent("grid", _axis))
    # Without clusters every block is a cluster of its own.
    _add(f"%clusterid.{_letter}", _by_cluster(np.floor_divide, _block_along(_axis), _axis))
    _add(f"%nclusterid.{_letter}", _by_cluster(np.floor_divide, _extent("grid", _axis), _axis))
    _add(f"%cluster_ctaid.{_letter}", _by_cluster(np.remainder, _block_along(_axis), _axis))
    _add(f"%cluster_nctaid.{_letter}", _extent("cluster", _axis))

_add("%laneid", _lane)
_add("%warpid", lambda m: _thread(m) // WARP)
_add("%nwarpid", lambda m: _constant(m.record.block_warps))
_add("%cluster_ctarank", _rank)
_add("%cluster_nctarank", lambda m: _constant(m.cluster_blocks))
_add("%is_explicit_cluster", lambda m: _constant(m.record.cluster != (1, 1, 1)), np.dtype("?"))
_add("%smid", lambda m: _block(m) % 132)  # as an H100/H200 with 132 multiprocessors would
_add("%nsmid", lambda m: _constant(132))
_add("%gridid", lambda m: _constant(1), U64)
_add("%lanemask_eq", lambda m: 1 << _lane(m))
_add("%lanemask_lt", lambda m: (1 << _lane(m)) - 1)
_add("%lanemask_le", lambda m: (2 << _lane(m)) - 1)
_add("%lanemask_gt", lambda m: 0xFFFFFFFF & ~((2 << _lane(m)) - 1))
_add("%lanemask_ge", lambda m: 0xFFFFFFFF & ~((1 << _lane(m)) - 1))
_add("%dynamic_smem_size", lambda m: _constant(m.record.shared_bytes))
_add("%total_smem_size", lambda m: _constant(m.shared.size_bytes))
# Clocks count executed instructions: increasing, deterministic, not a time.
_add("%clock", lambda m: _constant(m.clock & 0xFFFFFFFF), changes=True)
_add("%clock64", lambda m: _constant(m.clock), U64, changes=True)
_add("%globaltimer", lambda m: _constant(m.clock), U64, changes=True)
