"""`cp.async` in flight: the shared memory it brings bytes to, the global memory it reads them from.

Both until the thread that started the copy has waited for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.sanitizer.reach import Reach


class Destinations:
    """The units of a batch's shared memory that copies are in flight to."""

    def __init__(self, n_units: int) -> None:
        self._n_units = n_units
        self._pcs: Array | None = None  # where the copy to each unit started, plus 1; None: none
        self._threads = np.zeros(0, np.int32)

    def start(self, pc: int, found: Reach) -> None:
        if self._pcs is None:
            self._pcs = np.zeros(self._n_units, np.int32)
            self._threads = np.zeros(self._n_units, np.int32)
        self._pcs[found.units] = pc + 1
        self._threads[found.units] = found.who

    def complete(self, found: Reach) -> None:
        if self._pcs is not None:
            self._pcs[found.units] = 0
            if not self._pcs.any():
                self._pcs = None

    def __bool__(self) -> bool:
        return self._pcs is not None

    def to(self, units: Array) -> Array:
        """Which of these units a copy is in flight to; there is one."""
        assert self._pcs is not None
        return np.asarray(self._pcs[units] != 0)

    def of(self, unit: int) -> tuple[int, int]:
        """The instruction and the thread of the copy to a unit."""
        assert self._pcs is not None
        return int(self._pcs[unit]) - 1, int(self._threads[unit])


@dataclass
class Source:
    """Copies that one `cp.async` has started: thread `who[i]` of the batch reads `units[i]` of a
    tensor. copy: as in `Access`."""

    copy: object
    pc: int
    units: Array
    who: Array

    def take(self, which: Array) -> Reach:
        """Forget some entries, and return them."""
        taken = Reach(self.units[which], self.who[which], None, 1)
        self.units, self.who = self.units[~which], self.who[~which]
        return taken
