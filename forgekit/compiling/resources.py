"""What the machine code of a kernel needs: registers, spills, shared memory; and its SASS.

All of it comes from the compiler on this machine; no GPU is needed.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass

from forgekit.devices import find_disassembler
from forgekit.errors import PlatformError

_ENTRY = re.compile(r"Compiling entry function '+([^']+)'+ for")
_NUMBERS = {
    "stack_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spill_store_bytes": re.compile(r"(\d+) bytes spill stores"),
    "spill_load_bytes": re.compile(r"(\d+) bytes spill loads"),
    "registers": re.compile(r"Used (\d+) registers"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "shared_bytes": re.compile(r"(\d+) bytes smem"),
}


@dataclass(frozen=True)
class Resources:
    """Per kernel, as ptxas reports it: registers a thread, barriers a block, bytes a thread
    (stack, spills) and of static shared memory a block."""

    registers: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    barriers: int = 0
    shared_bytes: int = 0

    @property
    def spill_bytes(self) -> int:
        return self.spill_store_bytes + self.spill_load_bytes

    def __str__(self) -> str:
        spilled = f"{self.spill_bytes} bytes spilled" if self.spill_bytes else "no spills"
        return f"{self.registers} registers a thread, {spilled}"


def parse_ptxas(text: str) -> dict[str, Resources]:
    """Kernel name -> resources, from ptxas's report (`-v`)."""
    parts = _ENTRY.split(text)
    result = {}
    for name, report in zip(parts[1::2], parts[2::2], strict=True):
        found = {field: pattern.search(report) for field, pattern in _NUMBERS.items()}
        result[name] = Resources(**{field: int(m[1]) for field, m in found.items() if m})
    return result


def code_bytes(cubin: bytes) -> int:
    """Bytes of machine code in a cubin: its executable sections (headers as in ELF-64)."""
    if not cubin:
        return 0
    (table,) = struct.unpack_from("<Q", cubin, 40)
    entry, count = struct.unpack_from("<HH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + k * entry) for k in range(count)]
    return sum(size for _, _, flags, _, _, size in headers if flags & 4)


def disassemble(cubin: bytes) -> str:
    """SASS of a cubin.

    Raises:
        PlatformError: nvdisasm is not installed, or cannot read this cubin.
    """
    tool = find_disassembler()
    if tool is None:
        raise PlatformError(
            "No disassembler found, and SASS needs one: install the package nvidia-cuda-nvdisasm "
            "(version 13.4 or newer) or the CUDA toolkit. PTX needs none: see .ptx."
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise PlatformError(
            f"nvdisasm could not read the kernel's machine code: {done.stderr.strip()}. It must be "
            "as new as the compiler (13.4)."
        )
    return done.stdout
