"""Read and validate environment variables whose names begin with FORGEKIT_."""

from __future__ import annotations

import os

from forgekit.vgpu.environment import OFF, ON, is_on

__all__ = ["is_on", "path_or_off"]


def path_or_off(name: str) -> str | None:
    """Return the path that a variable contains, "" if the default applies, or None if it is
    `off`."""
    said = os.environ.get(name, "").strip()
    if said.lower() in OFF:
        return None
    return "" if said.lower() in ON else os.path.expanduser(said)
