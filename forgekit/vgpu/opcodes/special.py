"""Compute special registers: %tid, %ctaid, %laneid, …"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.vgpu.access import clusters
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP, block_coordinates


@dataclass(frozen=True)
class SpecialRegister:
    """A register that the machine computes; `value` caches values that do not change in a batch."""

    dtype: np.dtype
    compute: Callable[[Any], Any]  # function of the machine that returns an array or a number
    name: str
    changes: bool  # True for clocks, which are never cached

    def value(self, m: Batch) -> Array:
        found: Any = None if self.changes else m.state.get(self.name)
        if found is None:
            found = np.atleast_2d(self.compute(m)).astype(self.dtype)
            m.state[self.name] = found
        return found


def _thread(m: Batch) -> Array:
    return np.arange(m.n_threads)[None]


def _lane(m: Batch) -> Array:
    return _thread(m) % WARP


def _block(m: Batch) -> Array:
    return np.array(m.blocks)[:, None]


def _thread_along(m: Batch, axis: int) -> Array:
    """Return each thread's index in its block along an axis; x varies fastest."""
    sizes = m.record.block
    return _thread(m) // int(np.prod(sizes[:axis])) % sizes[axis]


def _block_along(m: Batch, axis: int) -> Array:
    """Return each block's index in the grid along an axis."""
    return block_coordinates(_block(m), m.record.grid, m.record.cluster)[axis]


_REGISTERS: dict[str, Callable[..., Any]] = {
    "%laneid": _lane,
    "%warpid": lambda m: _thread(m) // WARP,
    "%nwarpid": lambda m: m.record.block_warps,
    "%cluster_ctarank": lambda m: clusters.own_rank(m) if m.cluster_blocks > 1 else 0,
    "%cluster_nctarank": lambda m: m.cluster_blocks,
    "%is_explicit_cluster": lambda m: m.record.cluster != (1, 1, 1),
    "%smid": lambda m: _block(m) % 132,  # as on an H100 or H200, which has 132 multiprocessors
    "%nsmid": lambda m: 132,
    "%gridid": lambda m: 1,
    "%lanemask_eq": lambda m: 1 << _lane(m),
    "%lanemask_lt": lambda m: (1 << _lane(m)) - 1,
    "%lanemask_le": lambda m: (2 << _lane(m)) - 1,
    "%lanemask_gt": lambda m: 0xFFFFFFFF & ~((2 << _lane(m)) - 1),
    "%lanemask_ge": lambda m: 0xFFFFFFFF & ~((1 << _lane(m)) - 1),
    "%dynamic_smem_size": lambda m: m.record.shared_bytes,
    "%total_smem_size": lambda m: m.shared.size_bytes,
    # Clocks count executed instructions, so they increase and are deterministic but do not measure
    # time.
    "%clock": lambda m: m.clock & 0xFFFFFFFF,
    "%clock64": lambda m: m.clock,
    "%globaltimer": lambda m: m.clock,
}
for _axis, _letter in enumerate("xyz"):
    _REGISTERS |= {
        f"%tid.{_letter}": lambda m, k=_axis: _thread_along(m, k),
        f"%ntid.{_letter}": lambda m, k=_axis: m.record.block[k],
        f"%ctaid.{_letter}": lambda m, k=_axis: _block_along(m, k),
        f"%nctaid.{_letter}": lambda m, k=_axis: m.record.grid[k],
        # Without clusters, every block is a cluster of one block.
        f"%clusterid.{_letter}": lambda m, k=_axis: _block_along(m, k) // m.record.cluster[k],
        f"%nclusterid.{_letter}": lambda m, k=_axis: m.record.grid[k] // m.record.cluster[k],
        f"%cluster_ctaid.{_letter}": lambda m, k=_axis: _block_along(m, k) % m.record.cluster[k],
        f"%cluster_nctaid.{_letter}": lambda m, k=_axis: m.record.cluster[k],
    }
_DTYPES = {"%is_explicit_cluster": "?", "%gridid": "u8", "%clock64": "u8", "%globaltimer": "u8"}
_CHANGING = ("%clock", "%clock64", "%globaltimer")

SPECIAL_REGISTERS = {
    name: SpecialRegister(np.dtype(_DTYPES.get(name, "u4")), compute, name, name in _CHANGING)
    for name, compute in _REGISTERS.items()
}
