"""Hold a profile's data: the counts of each launch and line, and values derived from them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from forgekit.arguments import checked
from forgekit.errors import SourceLine
from forgekit.profiling.gpus import Gpu, gpu_or_default
from forgekit.profiling.metrics import METRICS, ByName, Counts, Metric, total
from forgekit.profiling.predictions import Predictions
from forgekit.profiling.profiled_lines import Launch, ProfiledLine, summed
from forgekit.profiling.waste import Waste, waste_of
from forgekit.tracing.warp_access import WarpAccess

if TYPE_CHECKING:
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.vgpu import TensorTraffic

FirstFound = dict[tuple[SourceLine | None, str], tuple[WarpAccess, ...]]


@dataclass(eq=False, repr=False)
class ProfileData(ByName):
    """The counts of a function's kernels by source line; `Profile` documents the attributes."""

    metrics: ClassVar[tuple[Metric, ...]] = METRICS

    name: str
    launches: tuple[Launch, ...]
    gpu: Gpu
    lines: tuple[ProfiledLine, ...] = ()
    predicted: Predictions = field(default_factory=Predictions)
    first_accesses: FirstFound = field(default_factory=dict)
    call: tuple[CompiledKernel, tuple[Any, ...]] | None = None

    # -- numbers ------------------------------------------------------------------------------
    @functools.cached_property
    def total(self) -> Counts:
        """Return the sum of the counts of all launches. Each byte of device memory counts once per
        launch."""
        return total([launch.counts for launch in self.launches])

    def __getitem__(self, name: str) -> int | float:
        return self.total[name]

    @functools.cached_property
    def all_lines(self) -> tuple[ProfiledLine, ...]:
        """Return all lines of all launches, including hidden lines, in source order."""
        return summed(self.launches)

    @property
    def worst(self) -> Waste | None:
        """Return the largest waste among the displayed lines, or None if no line stands out."""
        return next(iter(self.findings), None)

    @functools.cached_property
    def findings(self) -> list[Waste]:
        """Return the waste of all lines that stand out, largest first."""
        shown = {line.key for line in self.lines}
        return [f for f in waste_of(self.all_lines) if f.line.key in shown]

    @functools.cached_property
    def tensors(self) -> dict[str, TensorTraffic]:
        """Map each tensor's name to the device memory that was touched. Each byte counts once per
        launch.
        """
        result: dict[str, TensorTraffic] = {}
        for t in (t for launch in self.launches for t in launch.tensors.values()):
            old = result.get(t.name, replace(t, read_bytes=0, written_bytes=0))
            result[t.name] = replace(t, read_bytes=old.read_bytes + t.read_bytes,
                                     written_bytes=old.written_bytes + t.written_bytes)  # fmt: skip
        return result

    @property
    def bytes_touched(self) -> int:
        """Return the minimum traffic: the distinct bytes of device memory read plus those written,
        summed over launches.
        """
        return sum(launch.bytes_touched for launch in self.launches)

    @property
    def shared_bytes(self) -> int:
        """Return the maximum shared memory per block over all launches, in bytes."""
        return max((launch.shared_bytes for launch in self.launches), default=0)

    @checked()
    def bound_s(self, gpu: str | Gpu | None = None) -> float:
        """Return the time to move `bytes_touched` at a GPU's peak bandwidth, in seconds. A kernel
        that touches these bytes cannot be faster unless a cache contains them.

        Raises:
            UsageError: the GPU is not in forgekit.profiling.gpus.GPUS.
        """
        return gpu_or_default(gpu or self.gpu).seconds(self.bytes_touched)
