"""Measure the cost of a call on the current target: its time on a GPU, or its counts on the virtual
GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forgekit.benching.timing import Timing, time_gpu
from forgekit.devices import current_target
from forgekit.profiling.metrics import SHARED_KINDS
from forgekit.profiling.predicting.facts import facts_of
from forgekit.profiling.predicting.predicted import PredictedTime, predicted_time
from forgekit.profiling.profile import of_recording
from forgekit.vgpu import HARDWARE, Recording

SECTOR_BYTES = HARDWARE.SECTOR_BYTES


@dataclass(frozen=True)
class Counters:
    """The counts of a call. The memory counts equal those of Nsight Compute for the same kernels.

    kernels: the number of launches. load, store: requests and 32-byte sectors of global memory
    (loads include the reads of cp.async); atomic: requests and sectors of atomic operations and
    reductions. bulk_bytes: bytes of global memory moved by bulk copies, which make no requests.
    touched_bytes: distinct bytes that each launch reads or writes, summed over launches.
    shared_wavefronts: wavefronts of shared memory; bank_conflicts: wavefronts beyond the minimum.
    warp_instructions, thread_instructions: PTX instructions, counted per warp and per active lane.
    """

    kernels: int
    load_requests: int
    load_sectors: int
    store_requests: int
    store_sectors: int
    atomic_requests: int
    atomic_sectors: int
    bulk_bytes: int
    touched_bytes: int
    shared_wavefronts: int
    bank_conflicts: int
    warp_instructions: int
    thread_instructions: int

    @property
    def global_bytes(self) -> int:
        """Return the bytes moved between the multiprocessors and global memory: 32 for each sector
        that loads, stores and atomic operations request, plus the bytes of bulk copies.
        """
        sectors = self.load_sectors + self.store_sectors + self.atomic_sectors
        return SECTOR_BYTES * sectors + self.bulk_bytes

    @property
    def sectors_per_load(self) -> float:
        """Return the average number of sectors per load request; 0 without loads."""
        return self.load_sectors / self.load_requests if self.load_requests else 0.0

    @property
    def sectors_per_store(self) -> float:
        """Return the average number of sectors per store request; 0 without stores."""
        return self.store_sectors / self.store_requests if self.store_requests else 0.0


@dataclass(frozen=True)
class Measured:
    """The cost of a call.

    moved_bytes: the bytes that the call must move, with each input read once and each output
    written once. timing: the time on a GPU; None on the virtual GPU. counters: the counts on the
    virtual GPU; None on a GPU, or if the call launched no kernel on the virtual GPU (for example,
    for torch on the CPU or an empty tensor). predicted: if requested, the time predicted from the
    counts, in microseconds with its interval. A prediction is not a measurement, and comparisons
    ignore it.
    """

    moved_bytes: int
    timing: Timing | None = None
    counters: Counters | None = None
    predicted: PredictedTime | None = field(default=None, compare=False)

    def gbps(self) -> float | None:
        """Return the rate at the median time in GB/s (10^9 bytes per second), or None without a
        time."""
        return None if self.timing is None else self.timing.gbps(self.moved_bytes)

    def percent(self, ceiling_gbps: float) -> float | None:
        """Return the rate as a percentage of a ceiling, such as
        `forgekit.benching.timing.ceiling_gbps()`, or None without a time.
        """
        rate = self.gbps()
        return None if rate is None else 100 * rate / ceiling_gbps


def measure(
    call: Callable[[], Any], *, moved_bytes: int, repeats: int = 50, predict: bool = False
) -> Measured:
    """Time a call on a GPU, or count its launches on the virtual GPU, depending on the current
    target.

    call: a function that starts the work; on the virtual GPU it is called once. moved_bytes: the
    bytes that the call must move: inputs read plus outputs written. repeats: the number of timed
    calls on a GPU. predict: True to also predict the time from the virtual GPU's counts.

    Raises:
        KernelError: the virtual GPU stopped a kernel.
    """
    if current_target().kind == "gpu":
        return Measured(moved_bytes, timing=time_gpu(call, repeats=repeats))
    with Recording(keep=False, shares=predict) as recording:
        call()
    predicted = None
    if predict and recording.launches:
        launches = zip(facts_of(recording), recording.counts, strict=True)
        predicted = predicted_time("", [*launches], None)
    return Measured(moved_bytes, counters=_counters(recording), predicted=predicted)


def count_call(call: Callable[[], Any]) -> Counters | None:
    """Call a function once, without arguments, and return the counts of its launches on the virtual
    GPU, or None if it launches no kernel there (like torch on the CPU).

    Raises:
        KernelError: the virtual GPU stopped a kernel.
    """
    with Recording(keep=False) as recording:
        call()
    return _counters(recording)


def _counters(recording: Recording) -> Counters | None:
    found = of_recording("", recording)
    if not found.launches:
        return None
    total = found.total

    def count(what: str, *kinds: str) -> int:
        return int(sum(total[f"{kind}_{what}"] for kind in kinds))

    atomic = ("global_atomic", "global_reduction")
    return Counters(
        kernels=len(found.launches),
        load_requests=count("requests", "global_load"),
        load_sectors=count("sectors", "global_load"),
        store_requests=count("requests", "global_store"),
        store_sectors=count("sectors", "global_store"),
        atomic_requests=count("requests", *atomic),
        atomic_sectors=count("sectors", *atomic),
        bulk_bytes=sum(launch.bulk_bytes for launch in recording.counts),
        touched_bytes=int(total["unique_bytes_read"] + total["unique_bytes_written"]),
        shared_wavefronts=count("wavefronts", *SHARED_KINDS),
        bank_conflicts=count("bank_conflicts", *SHARED_KINDS),
        warp_instructions=int(total["warp_instructions"]),
        thread_instructions=int(total["thread_instructions"]),
    )
