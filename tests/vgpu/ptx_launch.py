"""Launch hand-written PTX on NumPy arrays, so that tests can use the machine directly."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from forgekit.vgpu.host import arguments, launching
from forgekit.vgpu.host.options import options as run_options
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.memory import GlobalMemory
from forgekit.vgpu.program import load

Dim = int | tuple[int, int, int]


def kernel(body: str, arrays: int, *, target: str = "sm_90a", head: str = "") -> str:
    """Return a module with one kernel `k`; %rd0, %rd1, … hold the arrays' addresses.

    Registers %p, %r, %rs, %f (32 bits) and %rd are declared; %r0 is the thread's index in x.
    """
    params = ", ".join(f".param .u64 p{i}" for i in range(arrays))
    loads = "\n".join(f"ld.param.u64 %rd{i}, [p{i}];" for i in range(arrays))
    if "%r0" in body:
        loads += "\nmov.u32 %r0, %tid.x;"
    return f"""
.version 8.7
.target {target}
.address_size 64
{head}
.visible .entry k({params})
{{
.reg .pred %p<40>; .reg .b16 %rs<10>; .reg .b32 %r<80>; .reg .b32 %f<20>; .reg .b64 %rd<40>;
{loads}
{body}
}}
"""


def dim(value: Dim) -> tuple[int, int, int]:
    return value if isinstance(value, tuple) else (value, 1, 1)


def launch(
    body: str,
    *arrays: np.ndarray,
    grid: Dim = 1,
    block: Dim = 32,
    shared: int = 0,
    names: Sequence[str] = ("x", "y", "z"),
    cooperative: bool = False,
    cluster: Dim = 1,
    head: str = "",
    target: str = "sm_90a",
    **options: object,
) -> None:
    """Run a kernel's body (see `kernel`) with `forgekit.vgpu.options(**options)`.

    By default, the sanitizer is off, because tests also check the results of forbidden operations.
    """
    text = body if ".entry" in body else kernel(body, len(arrays), head=head, target=target)
    memory = GlobalMemory()
    arguments.register(memory, zip(names, arrays, strict=False))
    addresses = [memory.translate(a.ctypes.data) for a in arrays]
    params = b"".join(a.to_bytes(8, "little") for a in addresses if a is not None)
    record = LaunchRecord("k", dim(grid), dim(block), shared, params, dim(cluster), cooperative)
    with run_options(**{"sanitize": False, **options}):
        launching.launch(load(text)["k"], record, memory)


def line_of(body: str, text: str, arrays: int = 1) -> int:
    """Return the line number in the module of the first line that contains `text`."""
    lines = kernel(body, arrays).splitlines()
    return next(i for i, line in enumerate(lines, 1) if re.search(re.escape(text), line))
