"""Where the compiler leaves its files: in memory if there is room, else among temporary files."""

from __future__ import annotations

import os
import shutil
import tempfile

from forgekit.vgpu.errors import PlatformError
from forgekit.vgpu.wording import got_needed

_NEEDED_MIB = 32  # PTX, machine code and ptxas's report of a large kernel, several times over


def scratch() -> str:
    """A folder for temporary files that can be written and has room now.

    The DSL writes PTX without looking whether that succeeds, so this looks before.

    Raises:
        PlatformError: there is none.
    """
    refused = []
    for folder in ("/dev/shm", _temporary()):
        why = _why_not(folder)
        if not why:
            return folder
        refused.append(f"{folder} ({why})")
    needed = f"a folder that can be written, with {_NEEDED_MIB} MiB free"
    remedy = "make room there, or set TMPDIR to another folder"
    raise PlatformError(got_needed("temporary files", " and ".join(refused), needed, remedy))


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # each folder is full, or cannot be written
        return os.environ.get("TMPDIR") or "/tmp"


def _why_not(folder: str) -> str:
    if not os.path.isdir(folder):
        return "no folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "it cannot be written"
    free_mib = shutil.disk_usage(folder).free / 2**20
    return f"{free_mib:.1f} MiB free" if free_mib < _NEEDED_MIB else ""
