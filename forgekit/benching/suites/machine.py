"""What the suites know of this process's machine: its GPU, its versions, whether it still works."""

from __future__ import annotations

import functools
import platform
import subprocess
from pathlib import Path

import torch

from forgekit.benching.suites.operations import memory_needed
from forgekit.benching.suites.results import MachineInfo
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import ceiling_gbps, package_versions
from forgekit.devices import Target, gpu_report

_PACKAGES = ("torch", "nvidia-cutlass-dsl", "triton", "quack-kernels")


@functools.lru_cache
def machine_info(target: Target) -> MachineInfo:
    """This process and its GPU; measures the ceiling, once."""
    versions = {"python": platform.python_version(), **package_versions(*_PACKAGES)}
    if target.kind == "virtual":
        return MachineInfo("virtual", target.name, None, versions, None)
    found = gpu_report()
    versions["cuda"] = str(found.torch_cuda)
    ceiling = round(ceiling_gbps(), 1)
    return MachineInfo("gpu", target.name, found.driver, versions, ceiling)


def commit() -> str | None:
    """The commit of forgekit's checkout, "+" behind it where files were changed; None without."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    words = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


def error_line(error: BaseException) -> str:
    """An error in a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[0] if lines else "no message"
    return f"{type(error).__name__}: {said}"[:400]


def lost_context() -> str:
    """Why the GPU's context is broken, after an error; empty if it is not."""
    if not torch.cuda.is_available():
        return ""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError as error:
        return error_line(error)
    return ""


def lacking_memory(case: Case, target: Target) -> str:
    """Why there is too little memory for a case; empty if there is enough."""
    if target.kind != "gpu":
        return ""
    torch.cuda.empty_cache()
    free, needed = torch.cuda.mem_get_info()[0], memory_needed(case)
    if needed <= free:
        return ""
    return f"needs about {needed / 1e9:.1f} GB of device memory, {free / 1e9:.1f} GB are free"
