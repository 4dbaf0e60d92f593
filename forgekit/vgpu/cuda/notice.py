"""What is said, once a process, when a script first uses the GPU that is not there."""

from __future__ import annotations

import sys

from forgekit.vgpu.cuda import device

_said = False


def say_once() -> None:
    """Say on stderr what "cuda" means here, if it has not been said."""
    global _said
    if not _said:
        _said = True
        print(
            f'forgekit: no GPU here: "cuda" is the {device.name()}, on the CPU and in its memory; '
            "times are the CPU's (--no-cuda: without this)",
            file=sys.stderr,
        )
