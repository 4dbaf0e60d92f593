"""Find a folder for the compiler's files: in memory if there is enough space, otherwise in the
folder for temporary files."""

from __future__ import annotations

import os
import shutil
import tempfile

from forgekit.vgpu.errors import PlatformError
from forgekit.vgpu.wording import got_needed

_NEEDED_MIB = 32  # ample for a large kernel's PTX, machine code and ptxas report


def scratch() -> str:
    """Return a writable folder for temporary files that has enough free space.

    The free space is checked here because the DSL does not check whether it could write the PTX.

    Raises:
        PlatformError: no folder is writable and has enough space.
    """
    refused = []
    for folder in ("/dev/shm", _temporary()):
        why = _why_not(folder)
        if not why:
            return folder
        refused.append(f"{folder} ({why})")
    needed = f"a writable folder with {_NEEDED_MIB} MiB free"
    remedy = "free some space there, or set TMPDIR to another folder"
    raise PlatformError(got_needed("temporary files", " and ".join(refused), needed, remedy))


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # every folder is full or not writable
        return os.environ.get("TMPDIR") or "/tmp"


def _why_not(folder: str) -> str:
    if not os.path.isdir(folder):
        return "not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "not writable"
    free_mib = shutil.disk_usage(folder).free / 2**20
    return f"{free_mib:.1f} MiB free" if free_mib < _NEEDED_MIB else ""
