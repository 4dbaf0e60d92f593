"""`forgekit profile`: a CuTe DSL script on the virtual GPU, and what its kernels cost."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

from forgekit.commands import script as scripts

__all__ = ["main"]


def main(
    script: str, arguments: list[str], *, gpu: str | None = None, as_json: bool = False
) -> int:
    """Run `script` as `forgekit run` does, always on the virtual GPU, then print a profile of each
    kernel that it launched, all launches of a kernel added up; returns the script's exit status.

    gpu: whose bandwidth bounds the time. as_json: a JSON object, kernel -> profile.

    Raises:
        UsageError: no such file or GPU.
    """
    from forgekit.profiling.gpus import gpu_named
    from forgekit.profiling.profile import of_counts
    from forgekit.vgpu import options
    from forgekit.vgpu.counting import Counting

    chosen = gpu_named(gpu) if gpu is not None else None
    counts = Counting()
    try:
        # What the script prints must not stand before the JSON.
        aside = redirect_stdout(sys.stderr) if as_json else nullcontext()
        with aside, options(listeners=(counts,), sanitize=False):
            status = scripts.main(script, arguments, device="virtual")
    except SystemExit as leaving:  # the script's own
        code = leaving.code
        status = code if isinstance(code, int) else int(code is not None)
        if isinstance(code, str):
            print(code)
    if status:
        return status
    whole = of_counts(Path(script).name, counts, chosen)
    kernels = dict.fromkeys(launch.kernel for launch in whole.launches)
    profiles = {name: whole.filter(kernel=name) for name in kernels}
    if as_json:
        print(json.dumps({name: p.to_dict() for name, p in profiles.items()}, indent=1))
        return 0
    if not profiles:
        print(f"{whole.name} launched no kernel.")
    for p in profiles.values():
        print(f"\n{p!r}")
    return 0
