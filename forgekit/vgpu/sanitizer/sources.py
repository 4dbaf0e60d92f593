"""What `cp.async` reads in global memory, from its start until its thread has waited for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.sanitizer.reach import Reach

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array


@dataclass
class Reading:
    """Copies that one `cp.async` has started: thread `who[i]` of the batch reads `units[i]`.

    copy: what tells it from others; tensor: which one it reads.
    """

    copy: object
    pc: int
    tensor: object
    units: Array
    who: Array

    def take(self, which: Array) -> Reach:
        """Forget some entries, and return them."""
        taken = Reach(self.units[which], self.who[which], None, 1)
        self.units, self.who = self.units[~which], self.who[~which]
        return taken


class Sources:
    """The sources that are being read in a batch."""

    def __init__(self) -> None:
        self._readings: list[Reading] = []

    def depart(self, reading: Reading) -> None:
        self._readings.append(reading)

    def arrive(self, copy: object, due: Array) -> Iterator[tuple[object, Reach]]:
        """The threads `due`, a full mask, have waited for a copy: (tensor, what they have read)."""
        for reading in self._readings:
            if reading.copy is copy:
                yield reading.tensor, reading.take(due.reshape(-1)[reading.who])
        if self._readings:
            self._readings = [r for r in self._readings if len(r.units)]

    def changed(self, tensor: object, units: Array) -> Iterator[tuple[int, Reach]]:
        """Units of a tensor are written: (where the copy started, what it may still read)."""
        for reading in self._readings:
            if reading.tensor is tensor:
                hit = np.isin(reading.units, units)
                if hit.any():
                    yield reading.pc, reading.take(hit)
