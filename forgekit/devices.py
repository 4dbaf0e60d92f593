"""Decide where kernels run: on the GPU or on the virtual GPU.

A call's argument takes precedence over `use_target(...)`, which takes precedence over the
environment variables FORGEKIT_DEVICE (gpu or cuda, virtual or cpu, auto) and FORGEKIT_ARCH. If none
of these is set, kernels run on the GPU if there is one. `tensors.py` creates tensors for the same
device. This module imports torch only when needed.
"""

from __future__ import annotations

import importlib
import os
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from forgekit.arguments import checked
from forgekit.errors import PlatformError, UsageError, brief, got_needed, usage_error
from forgekit.vgpu import HARDWARE

if TYPE_CHECKING:
    import torch

Kind = Literal["gpu", "virtual"]

_WITHOUT = "set FORGEKIT_DEVICE=virtual to run on the virtual GPU"

_KINDS: dict[str, Kind | None] = {
    "gpu": "gpu", "cuda": "gpu", "virtual": "virtual", "cpu": "virtual", "auto": None,
}  # fmt: skip
# Maps compute capabilities to the architectures to compile for. The suffix `a` enables features
# that are specific to one compute capability.
_GPU_ARCHS = {
    (8, 0): "sm_80", (8, 6): "sm_86", (8, 7): "sm_87", (8, 9): "sm_89", (9, 0): "sm_90a",
    (10, 0): "sm_100a", (10, 3): "sm_103a", (12, 0): "sm_120a", (12, 1): "sm_121a",
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """The target of kernels: its kind ("gpu" or "virtual"), the architecture to compile for, and a
    name to display."""

    kind: Kind
    arch: str
    name: str

    @property
    def torch_device(self) -> torch.device:
        """Return torch's device for this target: `cuda`, or `cpu` for the virtual GPU."""
        import torch

        return torch.device("cuda" if self.kind == "gpu" else "cpu")


Request = tuple[str | None, str | None]  # (device, architecture), None if not requested


class _Chosen(threading.local):
    """The choice made with use_target(). The main thread's choice applies to all threads; another
    thread's choice applies only to that thread. This is not a context variable, because notebook
    cells do not share context variables."""

    of_all: Request = (None, None)
    own: Request | None = None

    def get(self) -> Request:
        return self.own or _Chosen.of_all

    def put(self, request: Request | None) -> Request | None:
        """Set the choice for this thread or, in the main thread, for all threads; return the old
        choice."""
        if threading.current_thread() is threading.main_thread():
            before: Request | None = _Chosen.of_all
            _Chosen.of_all = request or (None, None)
        else:
            before, self.own = self.own, request
        return before


_chosen = _Chosen()


@checked()
def current_target(device: str | None = None, arch: str | None = None) -> Target:
    """Return the current target of kernels.

    Args:
        device: "gpu" (or "cuda"), "virtual" (or "cpu"), or "auto"; for None, use_target's choice
            or, without it, the environment's.
        arch: an architecture such as "sm_90a"; for None, the chosen architecture, otherwise the
            GPU's own, otherwise sm_90a.

    Raises:
        UsageError: the device or architecture is unknown, or the architecture differs from the
            GPU's.
        PlatformError: a GPU is requested but there is none, or its compute capability is below 8.0.
    """
    return _resolve((device, arch), _chosen.get())


def _resolve(given: Request, chosen: Request) -> Target:
    device, device_from = _first("device", given[0], chosen[0], "FORGEKIT_DEVICE")
    arch, arch_from = _first("arch", given[1], chosen[1], "FORGEKIT_ARCH")
    kind = _kind(device, device_from)
    if kind is None:
        kind = "gpu" if gpu_is_there() else "virtual"
    return _gpu(arch, arch_from, device_from) if kind == "gpu" else _virtual(arch, arch_from)


def _first(
    name: str, given: str | None, chosen: str | None, variable: str
) -> tuple[str | None, str]:
    """Return the requested device or architecture (from the call, use_target or the environment),
    and the name of its origin for messages."""
    asked = chosen if given is None else given
    if asked is None and os.environ.get(variable):
        return os.environ[variable], variable
    return asked, name


def gpu_is_there() -> bool:
    """Return True if PyTorch can use a GPU."""
    import torch

    return torch.cuda.is_available()


def _kind(device: str | None, said_by: str) -> Kind | None:
    name = "auto" if device is None else device.strip().lower()
    if name not in _KINDS:
        needed = "one of " + ", ".join(_KINDS)
        remedy = 'use "virtual" to run without a GPU'
        raise usage_error(said_by, brief(device), needed, remedy)
    return _KINDS[name]


def _virtual(arch: str | None, said_by: str) -> Target:
    arch = HARDWARE.DEFAULT_ARCH if arch is None else arch
    if arch not in HARDWARE.ARCHITECTURES:
        near = next(
            (a for a in HARDWARE.ARCHITECTURES if a.rstrip("a") == arch), HARDWARE.DEFAULT_ARCH
        )
        needed = f"one of {', '.join(HARDWARE.ARCHITECTURES)} for the virtual GPU"
        raise usage_error(said_by, brief(arch), needed, f"use {near}")
    return Target("virtual", arch, f"virtual GPU ({arch})")


def _gpu(arch: str | None, arch_from: str, device_from: str) -> Target:
    import torch

    if not gpu_is_there():
        needed = "an NVIDIA GPU that PyTorch can use, but there is none here"
        raise PlatformError(got_needed(device_from, "gpu", needed, _WITHOUT))
    name, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability()
    own = _GPU_ARCHS.get(capability)
    if own is None:
        got = f"{name} with compute capability {capability[0]}.{capability[1]}"
        needed = "one of " + ", ".join(f"{major}.{minor}" for major, minor in _GPU_ARCHS)
        raise PlatformError(got_needed("GPU", got, needed, _WITHOUT))
    if arch is not None and arch != own:
        remedy = f'leave {arch_from} out, or use device="virtual" for another architecture'
        raise usage_error(
            arch_from, brief(arch), f"{own}, the architecture of this machine's {name}", remedy
        )
    return Target("gpu", own, name)


class TargetChoice:
    """The result of `use_target`. The choice applies immediately; as a context manager, it applies
    until the end of the block.

    Attributes:
        target: the chosen Target; also the value of `with ... as`.
    """

    def __init__(self, device: str | None = None, arch: str | None = None) -> None:
        self.target = _resolve((device, arch), (None, None))
        self._before = _chosen.put((device, arch))

    def __enter__(self) -> Target:
        return self.target

    def __exit__(self, *_: object) -> None:
        _chosen.put(self._before)

    def __repr__(self) -> str:
        return self.target.name


@checked()
def use_target(device: str | None = None, arch: str | None = None) -> TargetChoice:
    """Choose where kernels run from now on, or within a `with` block.

        fk.use_target("virtual", arch="sm_80")           # from now on
        with fk.use_target("virtual", arch="sm_80"): ... # only in this block
        fk.use_target()                                  # back to the environment's choice

    The main thread's choice applies to all threads that have made no choice. The arguments and
    exceptions are those of `current_target`; an exception leaves the choice unchanged.
    """
    return TargetChoice(device, arch)


@dataclass(frozen=True)
class GpuReport:
    """The data that `forgekit doctor` reports about this machine: names, versions, and nvdisasm's
    path; None for missing parts. target_problem: the reason why kernels cannot run, or None."""

    gpu: str | None
    driver: str | None
    torch: str | None
    torch_cuda: str | None
    dsl: str | None
    target: Target | None
    target_problem: str | None
    disassembler: str | None
    python: str
    os: str


def gpu_report() -> GpuReport:
    """Inspect this machine: import torch and query the driver. Raise no errors."""
    import platform

    torch_version = torch_cuda = gpu = target = problem = None
    try:
        import torch

        torch_version, torch_cuda = str(torch.__version__), torch.version.cuda
        gpu = torch.cuda.get_device_name() if gpu_is_there() else None
        target = current_target()
    except (ImportError, RuntimeError, PlatformError, UsageError) as exc:
        problem = str(exc)
    return GpuReport(
        gpu=gpu,
        driver=_driver_version(),
        torch=torch_version,
        torch_cuda=torch_cuda,
        dsl=package_version("nvidia-cutlass-dsl"),
        target=target,
        target_problem=problem,
        disassembler=find_disassembler(),
        python=platform.python_version(),
        os=f"{platform.system()} {platform.release()} {platform.machine()}",
    )


def package_version(name: str) -> str | None:
    """Return the version of an installed package, or None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _driver_version() -> str | None:
    import subprocess

    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.split()
    return lines[0] if lines else None


def find_disassembler() -> str | None:
    """Return the path of nvdisasm from PATH, the CUDA toolkit, or NVIDIA's Python package; None if
    there is none."""
    if found := shutil.which("nvdisasm"):
        return found
    roots = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    try:
        nvidia = importlib.import_module("nvidia")  # the namespace of NVIDIA's wheels
        roots += [os.path.join(p, d) for p in nvidia.__path__ for d in ("cu13", "cuda_nvdisasm")]
    except ImportError:
        pass
    candidates = [os.path.join(r, "bin", "nvdisasm") for r in roots if r]
    return next((c for c in candidates if os.access(c, os.X_OK)), None)
