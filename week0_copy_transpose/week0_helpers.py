"""Small functions that week 0's notebooks share; each page introduces the ones that it uses."""

from __future__ import annotations

import forgekit as fk


def loads(run: fk.CompiledKernel) -> list[str]:
    """Return the PTX instructions of `run` that load from global memory, in order."""
    return [line.split()[0] for line in run.ptx.splitlines() if "ld.global" in line]


# -- w0b ---
