"""Time GPU work with CUDA events and a cold L2 cache, and measure the rate of a copy as the
ceiling.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forgekit.devices import package_version
from forgekit.errors import PlatformError

# several times the largest L2 cache; a read of this size takes 120 us on an H200
_FLUSH_BYTES = 512 * 2**20
_WARMUP, _HOST_CALLS = 5, 2000
METHOD = f"CUDA events, median; {_FLUSH_BYTES >> 20} MB were read before each call"


@dataclass(frozen=True)
class Timing:
    """The duration of a call in milliseconds: the median, and the 20th and 80th percentiles."""

    median_ms: float
    p20_ms: float
    p80_ms: float

    def gbps(self, moved_bytes: int) -> float:
        """Return the rate at the median time in GB/s (10^9 bytes per second)."""
        return moved_bytes / self.median_ms / 1e6


def time_gpu(call: Callable[[], Any], *, repeats: int = 50) -> Timing:
    """Time a call that starts work on the current CUDA stream, with a cold L2 cache.

    Each call is preceded by a read of 512 MB, which fills L2. After a write, as in
    `triton.testing.do_bench`, the call would wait until L2 has written back about 40 MB. On an H200
    this takes 10 us, so a sum over 134 MB would appear a fifth slower than it is.

    All calls are queued before the first wait, so the times exclude host time if a call's host time
    is shorter than the preceding read, which takes about 120 us on an H200.

    Raises:
        PlatformError: there is no GPU.
    """
    import torch

    if not torch.cuda.is_available():
        raise PlatformError("timing kernels needs an NVIDIA GPU; without one, use fk.profile")
    other = torch.zeros(_FLUSH_BYTES // 4, device="cuda")
    for _ in range(_WARMUP):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    torch.cuda.synchronize()
    for start, end in events:
        other.sum()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    times = sorted(start.elapsed_time(end) for start, end in events)
    deciles = statistics.quantiles(times, n=10) if len(times) > 1 else times * 9
    return Timing(statistics.median(times), deciles[1], deciles[7])


def ceiling_gbps(size_bytes: int = 10**9) -> float:
    """Measure the rate of a device-to-device copy in GB/s, counting bytes read and written."""
    import torch

    x = torch.empty(size_bytes, dtype=torch.int8, device="cuda").zero_()
    y = torch.empty_like(x)
    return time_gpu(lambda: y.copy_(x), repeats=20).gbps(2 * size_bytes)


def host_us(call: Callable[[], object]) -> float:
    """Return the host time per call in microseconds: the best of five series of 2000 consecutive
    calls, each with one synchronisation at the end."""
    import torch

    def series() -> None:
        for _ in range(_HOST_CALLS):
            call()
        torch.cuda.synchronize()

    return best_ms(series, 5) / _HOST_CALLS * 1e3


def best_ms(call: Callable[[], object], repeats: int) -> float:
    """Time a synchronous call; return the best of `repeats` times in milliseconds."""
    call()  # excludes one-time work, such as importing modules
    return min(timeit.repeat(call, number=1, repeat=repeats)) * 1e3


def versions() -> dict[str, str]:
    """Describe the environment of a measurement: the GPU, its driver, and software versions."""
    import torch

    found = {"gpu": torch.cuda.get_device_name(), "cuda": str(torch.version.cuda)}
    return found | package_versions("torch", "nvidia-cutlass-dsl")


def package_versions(*names: str) -> dict[str, str]:
    """Return the versions of forgekit and of those named packages that are installed."""
    found = {name: package_version(name) for name in ("forgekit", *names)}
    return {name: version for name, version in found.items() if version}
