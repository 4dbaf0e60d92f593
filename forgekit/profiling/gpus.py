"""A table of GPUs, with the sources of its constants, and functions that look up a GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

from forgekit.errors import brief, usage_error

_MB = 1024**2
_ISSUED = 128  # thread instructions per clock and multiprocessor: 4 schedulers issue one warp each


@dataclass(frozen=True)
class Gpu:
    """A GPU's memory system and peak rates.

    bandwidth: peak bandwidth of device memory in bytes per second, from the data sheet.
    multiprocessors: the number of multiprocessors. l2_bytes: the size of L2; None if NVIDIA does
    not publish it. device: a regular expression that matches the driver's name for the GPU. source:
    the source of the numbers.
    fp32_peak: FP32 operations per second without tensor cores (a fused multiply-add counts as two),
    from the data sheet, at the boost clock (B200: an eighth of HGX B200's value). fp32_lanes: FP32
    lanes per multiprocessor; None if unknown.
    """

    name: str
    bandwidth: float
    multiprocessors: int
    l2_bytes: int | None
    device: str
    source: str
    fp32_peak: float | None = None
    fp32_lanes: int | None = None

    def seconds(self, size_bytes: float) -> float:
        """Return the minimum time, in seconds, to move this many bytes to or from device memory."""
        return size_bytes / self.bandwidth

    @property
    def rate(self) -> str:
        """Return text such as `4.8 TB/s`."""
        return (f"{self.bandwidth / 1e12:.3g} TB/s" if self.bandwidth >= 1e12
                else f"{self.bandwidth / 1e9:.0f} GB/s")  # fmt: skip

    @property
    def instruction_peak(self) -> float | None:
        """Return the number of thread instructions per second that the schedulers can issue at the
        clock rate implied by `fp32_peak`, or None if that rate is unknown.
        """
        if self.fp32_peak is None or self.fp32_lanes is None:
            return None
        return self.fp32_peak / (2 * self.fp32_lanes) * _ISSUED


_HOPPER = "NVIDIA H100 Tensor Core GPU Architecture (whitepaper)"
_AMPERE = "NVIDIA A100 Tensor Core GPU Architecture (whitepaper)"
_ADA = "NVIDIA Ada GPU Architecture (whitepaper)"

GPUS: dict[str, Gpu] = {
    g.name: g
    for g in (
        Gpu("B200", 8.0e12, 148, 126 * _MB, r"B200",
            "NVIDIA DGX B200 data sheet (64 TB/s for 8 GPUs); multiprocessors and L2 from CUDA",
            75.0e12, 128),
        Gpu("H200", 4.8e12, 132, 50 * _MB, r"H200",
            f"NVIDIA H200 data sheet; {_HOPPER}", 67.0e12, 128),
        Gpu("H100 SXM", 3.35e12, 132, 50 * _MB, r"H100 80GB HBM3|H100 SXM",
            f"NVIDIA H100 data sheet; {_HOPPER}", 67.0e12, 128),
        Gpu("H100 PCIe", 2.0e12, 114, 50 * _MB, r"H100 PCIe",
            f"NVIDIA H100 data sheet; {_HOPPER}", 51.0e12, 128),
        Gpu("A100 80GB SXM", 2.039e12, 108, 40 * _MB, r"A100.SXM4.80GB",
            f"NVIDIA A100 data sheet; {_AMPERE}", 19.5e12, 64),
        Gpu("A100 80GB PCIe", 1.935e12, 108, 40 * _MB, r"A100 80GB PCIe",
            f"NVIDIA A100 data sheet; {_AMPERE}", 19.5e12, 64),
        Gpu("A100 40GB", 1.555e12, 108, 40 * _MB, r"A100.(SXM4|PCIE).40GB",
            f"NVIDIA A100 data sheet; {_AMPERE}", 19.5e12, 64),
        Gpu("A10", 600e9, 72, 6 * _MB, r"A10G?\b",
            "NVIDIA A10 data sheet; NVIDIA Ampere GA102 GPU Architecture (whitepaper)",
            31.2e12, 128),
        Gpu("L40S", 864e9, 142, None, r"L40S",
            f"NVIDIA L40S data sheet; {_ADA}", 91.6e12, 128),
        Gpu("L4", 300e9, 58, None, r"L4\b",
            f"NVIDIA L4 data sheet; {_ADA}", 30.3e12, 128),
        Gpu("RTX 5090", 1.792e12, 170, 96 * _MB, r"RTX 5090\b(?! D)",
            "NVIDIA RTX Blackwell GPU Architecture (whitepaper)", 104.8e12, 128),
        Gpu("RTX 4090", 1.008e12, 128, 72 * _MB, r"RTX 4090\b(?! D)",
            _ADA, 82.6e12, 128),
        Gpu("RTX 3090", 936e9, 82, 6 * _MB, r"RTX 3090\b(?! Ti)",
            "NVIDIA Ampere GA102 GPU Architecture (whitepaper)", 35.6e12, 128),
        Gpu("T4", 320e9, 40, 4 * _MB, r"T4\b",
            "NVIDIA T4 data sheet; NVIDIA Turing GPU Architecture (whitepaper)", 8.1e12, 64),
    )
}  # fmt: skip
DEFAULT = "H200"


def gpu_named(name: str) -> Gpu:
    """Return the GPU with this name from the table, ignoring case and spaces.

    Raises:
        UsageError: no GPU has this name.
    """
    wanted = _letters(name)
    for gpu in GPUS.values():
        if _letters(gpu.name) == wanted:
            return gpu
    begins = [g for g in GPUS.values() if wanted and _letters(g.name).startswith(wanted)]
    if len(begins) == 1:
        return begins[0]
    needed = "one of " + ", ".join(g.name for g in begins or GPUS.values())
    raise usage_error("gpu", brief(name), needed, "choose one, or pass a Gpu")


def gpu_or_default(chosen: str | Gpu | None) -> Gpu:
    """Return the given GPU or the GPU with this name; for None, this machine's GPU or an H200.

    Raises:
        UsageError: no GPU has this name.
    """
    if chosen is None:
        return gpu_here() or GPUS[DEFAULT]
    return chosen if isinstance(chosen, Gpu) else gpu_named(chosen)


def gpu_here() -> Gpu | None:
    """Return this machine's GPU, or None if the machine has no GPU that the table lists."""
    import torch

    if not torch.cuda.is_available():
        return None
    return gpu_of(torch.cuda.get_device_name())


def gpu_of(device: str) -> Gpu | None:
    """Return the GPU with this driver name, such as "NVIDIA H200", or None if the table does not
    list it."""
    return next((g for g in GPUS.values() if re.search(g.device, device)), None)


def _letters(name: str) -> str:
    text = name if isinstance(name, str) else brief(name)
    return re.sub(r"[^a-z0-9]", "", text.lower().replace("nvidia", "").replace("geforce", ""))
