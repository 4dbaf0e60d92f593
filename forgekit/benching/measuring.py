"""What a call costs where kernels run now: its time on a GPU, its counts on the virtual GPU."""

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
    """Counts of one call; those of memory are what Nsight Compute counts of the same kernels.

    kernels: launches. load, store: requests and 32-byte sectors of global memory (cp.async reads
    among the loads); atomic: of atomic operations and reductions. bulk_bytes: of global memory, by
    bulk copies, which make no requests. touched_bytes: distinct bytes read plus written, by launch.
    bank_conflicts: wavefronts of shared memory beyond the ideal, of shared_wavefronts.
    warp_instructions, thread_instructions: of PTX, once for each warp and for each active lane.
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
        """All bytes moved between the multiprocessors and global memory: sectors × 32 of loads,
        stores and atomic operations, and what bulk copies move."""
        sectors = self.load_sectors + self.store_sectors + self.atomic_sectors
        return SECTOR_BYTES * sectors + self.bulk_bytes

    @property
    def sectors_per_load(self) -> float:
        """Sectors of a load's request on average; 0 if there is none."""
        return self.load_sectors / self.load_requests if self.load_requests else 0.0

    @property
    def sectors_per_store(self) -> float:
        """Sectors of a store's request on average; 0 if there is none."""
        return self.store_sectors / self.store_requests if self.store_requests else 0.0


@dataclass(frozen=True)
class Measured:
    """What one call costs.

    moved_bytes: what the call has to move: each input read once, each output written once.
    timing: on a GPU, else None. counters: on the virtual GPU; None on a GPU, and where the call
    launched nothing on the virtual GPU (torch on the CPU, an empty tensor): not counted here.
    predicted: the time that follows from these counts, in microseconds with its interval, where it
    was asked for; a prediction is no measurement, and two that are equal may differ in it.
    """

    moved_bytes: int
    timing: Timing | None = None
    counters: Counters | None = None
    predicted: PredictedTime | None = field(default=None, compare=False)

    def gbps(self) -> float | None:
        """10^9 bytes a second at the median; None where there is no time."""
        return None if self.timing is None else self.timing.gbps(self.moved_bytes)

    def percent(self, ceiling_gbps: float) -> float | None:
        """Of a rate such as `forgekit.benching.timing.ceiling_gbps()`; None if there is no time."""
        rate = self.gbps()
        return None if rate is None else 100 * rate / ceiling_gbps


def measure(
    call: Callable[[], Any], *, moved_bytes: int, repeats: int = 50, predict: bool = False
) -> Measured:
    """Time a call on the GPU, or count what it launches on the virtual GPU, whichever is in use.

    call: starts the work; the virtual GPU runs it once. moved_bytes: that it has to move, inputs
    read plus outputs written. repeats: timed calls on a GPU. predict: on the virtual GPU, predict
    the time too.

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
    """Run a function without arguments once and count all that it launches on the virtual GPU; None
    if it launches nothing there, as torch on the CPU does not.

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
