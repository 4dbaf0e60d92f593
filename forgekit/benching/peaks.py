"""What GPUs can compute at most: the flat part of a roofline."""

from __future__ import annotations

from forgekit.profiling.gpus import Gpu

_ISSUED = 128  # threads' instructions in a clock and multiprocessor: 4 schedulers, a warp each

# GPU of forgekit.profiling.gpus -> (10^12 FP32 operations a second without tensor cores, a fused
# multiply-add counting as two; FP32 lanes of a multiprocessor). From NVIDIA's data sheets and
# architecture whitepapers, at the boost clock; B200: an eighth of HGX B200.
_FP32 = {
    "B200": (75.0, 128),
    "H200": (67.0, 128),
    "H100 SXM": (67.0, 128),
    "H100 PCIe": (51.0, 128),
    "A100 80GB SXM": (19.5, 64),
    "A100 80GB PCIe": (19.5, 64),
    "A100 40GB": (19.5, 64),
    "A10": (31.2, 128),
    "L40S": (91.6, 128),
    "L4": (30.3, 128),
    "RTX 5090": (104.8, 128),
    "RTX 4090": (82.6, 128),
    "RTX 3090": (35.6, 128),
    "T4": (8.1, 64),
}


def fp32_peak(gpu: Gpu | None) -> float | None:
    """Float operations a second; None for a GPU that is not in the table."""
    found = _FP32.get(gpu.name) if gpu is not None else None
    return None if found is None else found[0] * 1e12


def instruction_peak(gpu: Gpu | None) -> float | None:
    """Instructions of threads a second that the schedulers can issue, at the clock that the FP32
    peak implies; None for a GPU that is not in the table."""
    found = _FP32.get(gpu.name) if gpu is not None else None
    if found is None:
        return None
    peak, lanes = found
    return peak * 1e12 / (2 * lanes) * _ISSUED
