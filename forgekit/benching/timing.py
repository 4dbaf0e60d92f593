"""Times of GPU work: CUDA events, a cold L2 cache, a median; and the copy that bounds them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forgekit.errors import PlatformError

__all__ = ["Timing", "ceiling_gbps", "time_gpu", "versions"]

_FLUSH_BYTES = 256 * 2**20  # several times the largest L2 cache


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one call: the median, and the 20th and 80th percentiles."""

    median_ms: float
    p20_ms: float
    p80_ms: float

    def gbps(self, moved_bytes: int) -> float:
        """GB/s (10^9 bytes a second) at the median."""
        return moved_bytes / self.median_ms / 1e6


def time_gpu(call: Callable[[], Any], *, repeats: int = 50, warmup: int = 5) -> Timing:
    """Time a call that starts work on the current CUDA stream; L2 is flushed before each.

    All calls are queued before the first is waited for, so the host's own time is not in them as
    long as it is shorter than the flush.

    Raises:
        PlatformError: there is no GPU.
    """
    import torch

    if not torch.cuda.is_available():
        raise PlatformError("times of kernels need an NVIDIA GPU; without one, use fk.profile")
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
    for _ in range(warmup):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    torch.cuda.synchronize()
    for start, end in events:
        flush.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    times = sorted(start.elapsed_time(end) for start, end in events)
    deciles = statistics.quantiles(times, n=10) if len(times) > 1 else times * 9
    return Timing(statistics.median(times), deciles[1], deciles[7])


def ceiling_gbps(size_bytes: int = 10**9) -> float:
    """GB/s of a device-to-device copy, bytes read plus bytes written."""
    import torch

    x = torch.empty(size_bytes, dtype=torch.int8, device="cuda").zero_()
    y = torch.empty_like(x)
    return time_gpu(lambda: y.copy_(x), repeats=20).gbps(2 * size_bytes)


def versions() -> dict[str, str]:
    """What a measurement depends on: GPU, driver, and versions of the software."""
    from importlib import metadata

    import torch

    found = {"gpu": torch.cuda.get_device_name(), "cuda": str(torch.version.cuda)}
    for name in ("torch", "nvidia-cutlass-dsl", "forgekit"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = str(getattr(__import__(name), "__version__", "?"))
    return found
