"""Read a kernel's registers, spills and SASS from its machine code, without a GPU."""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass

from forgekit.devices import find_disassembler
from forgekit.errors import PlatformError

_ENTRY = re.compile(r"Compiling entry function '+([^']+)'+ for")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class Resources:
    """A kernel's resources per thread: registers, and the bytes that it spills and reloads."""

    registers: int
    spill_bytes: int


def parse_ptxas(text: str) -> dict[str, Resources]:
    """Parse ptxas's report (`-v`); map each kernel's name to its resources."""
    _, *parts = _ENTRY.split(text)
    result = {}
    for name, report in zip(parts[::2], parts[1::2], strict=True):
        used, spilled = _REGISTERS.search(report), _SPILLED.search(report)
        spill_bytes = int(spilled[1]) + int(spilled[2]) if spilled else 0
        result[name] = Resources(int(used[1]) if used else 0, spill_bytes)
    return result


def code_bytes(cubin: bytes) -> int:
    """Return the size of a cubin's machine code in bytes: the total of its executable sections (a
    cubin is a 64-bit ELF file)."""
    if not cubin:
        return 0
    (table,) = struct.unpack_from("<Q", cubin, 40)
    entry, count = struct.unpack_from("<HH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + k * entry) for k in range(count)]
    return sum(size for _, _, flags, _, _, size in headers if flags & 4)


def disassemble(cubin: bytes) -> str:
    """Return the SASS of a cubin.

    Raises:
        PlatformError: nvdisasm is not installed, or cannot read this cubin.
    """
    tool = find_disassembler()
    if tool is None:
        raise PlatformError(
            "SASS needs a disassembler, but none is installed: install the package "
            "nvidia-cuda-nvdisasm (version 13.4 or newer) or the CUDA toolkit, or use .ptx, which "
            "needs no disassembler."
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise PlatformError(
            f"nvdisasm could not read the kernel's machine code: {done.stderr.strip()}. Install "
            "an nvdisasm at least as new as the compiler (13.4)."
        )
    return done.stdout
