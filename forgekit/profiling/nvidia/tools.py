"""Find NVIDIA's tools, run commands under them, and explain how to install missing tools."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forgekit.errors import ForgekitError, PlatformError, got_needed

_STDERR = 2  # a file descriptor, because sys.stderr may not be a file


@dataclass(frozen=True)
class Tool:
    """An NVIDIA program: its command, its product name, patterns of folders to search if it is not
    on PATH, installation instructions, and an alternative for machines without it.
    """

    name: str
    product: str
    places: tuple[str, ...]
    install: str
    instead: str


_CUDA = ("/usr/local/cuda*/bin", "/opt/cuda/bin")
_TOOLKIT = "it is part of the CUDA toolkit (https://developer.nvidia.com/cuda-downloads)"
_PROFILE = "`forgekit profile SCRIPT` or fk.profile, which need neither a GPU nor this tool"
NCU = Tool(
    "ncu",
    "Nsight Compute",
    (*_CUDA, "/opt/nvidia/nsight-compute/*", "/usr/local/cuda*/nsight-compute*"),
    f"{_TOOLKIT} and a separate download (https://developer.nvidia.com/nsight-compute)",
    _PROFILE,
)
NSYS = Tool(
    "nsys",
    "Nsight Systems",
    (*_CUDA, "/opt/nvidia/nsight-systems/*", "/opt/nvidia/nsight-systems/*/bin"),
    f"{_TOOLKIT} and a separate download (https://developer.nvidia.com/nsight-systems)",
    "torch.profiler or, without a GPU, `forgekit profile SCRIPT`",
)
SANITIZER = Tool(
    "compute-sanitizer",
    "Compute Sanitizer",
    (*_CUDA, "/usr/local/cuda*/compute-sanitizer"),
    _TOOLKIT,
    "`forgekit sanitize SCRIPT` or fk.sanitize, which need neither a GPU nor this tool",
)


def find(tool: Tool) -> str | None:
    """Search PATH, CUDA_HOME and the tool's usual folders (newest version first); return the
    tool's path, or None if it is not installed.
    """
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders = [os.environ.get("PATH", ""), os.path.join(home, "bin")]
    for pattern in tool.places:  # the highest version number comes first
        found = sorted(glob.glob(pattern), key=lambda path: [*map(int, re.findall(r"\d+", path))])
        folders += reversed(found)
    return shutil.which(tool.name, path=os.pathsep.join(folders))


def gpu_count() -> int:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def require(tool: Tool) -> str:
    """Return the tool's path. If the tool cannot run, raise PlatformError; its message names
    everything that is missing (the tool, a GPU).
    """
    path, gpus = find(tool), gpu_count()
    if path is not None and gpus:
        return path
    missing, remedies = [], []
    if path is None:
        missing.append(f"no {tool.name} on PATH or in {', '.join(tool.places)}")
        remedies.append(f"install {tool.product}: {tool.install}")
    if not gpus:
        missing.append("no NVIDIA GPU")
        remedies.append(
            "use a machine with a GPU (`nvidia-smi` lists the GPUs that the driver sees)"
        )
    needed = f"{tool.product} and an NVIDIA GPU"
    remedy = f"{'; '.join(remedies)}; or use {tool.instead}"
    raise PlatformError(got_needed(tool.name, " and ".join(missing), needed, remedy))


def watch(line: Sequence[str], *, quiet: bool = False, **environment: str) -> int:
    """Run a command line that begins with a tool; return the exit status (128 + n for signal n).

    The command uses this terminal. quiet: True to send its output to stderr. environment:
    additional environment variables.
    """
    sys.stdout.flush()
    variables = os.environ | {"FORGEKIT_DEVICE": "gpu"} | environment
    status = subprocess.run(line, stdout=_STDERR if quiet else None, env=variables).returncode
    return status if status >= 0 else 128 - status


def ask(line: Sequence[str]) -> str:
    """Run a tool in the C locale, which determines the format of numbers, and return its output.
    Raise ForgekitError if the tool fails.
    """
    variables = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(line, capture_output=True, text=True, errors="replace", env=variables)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise ForgekitError(f"{Path(line[0]).name} could not read its report: {last}")
    return done.stdout


# -- parsing their output --------------------------------------------------------------------------
def short_name(kernel: str) -> str:
    """Return a kernel's Python name from CuTe DSL's name, `kernel_cutlass_NAME_TYPES_0`."""
    if not kernel.startswith("kernel_cutlass_"):
        return kernel.removeprefix("void ")
    plain = re.split(r"_tensorptr|_object_at_", kernel.removeprefix("kernel_cutlass_"))[0]
    return re.sub(r"_\d+$", "", plain)


def number(text: str | None) -> float | None:
    """Convert text such as `2,560` to a float; return None for text without a number (`n/a`, `nan`,
    or an empty string).
    """
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if value == value else None
