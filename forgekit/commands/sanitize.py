"""`forgekit sanitize`: a CuTe DSL script on the virtual GPU, and what its kernels do wrong."""

from __future__ import annotations

from forgekit.commands import script as scripts
from forgekit.errors import UsageError, got_needed

__all__ = ["main"]


def main(script: str, arguments: list[str], *, schedule: str = "default", seed: int = 0) -> int:
    """Run `script` as `forgekit run` does, always on the virtual GPU, then print what the sanitizer
    found in the kernels that it launched.

    Returns the script's exit status; 1 where there are findings other than notes.

    Raises:
        UsageError: no such file, an unknown schedule.
    """
    from forgekit.checking.sanitize import counted, distinct
    from forgekit.vgpu import options
    from forgekit.vgpu.launching import SCHEDULES
    from forgekit.vgpu.sanitizer import Finding

    if schedule not in SCHEDULES:
        raise UsageError(
            got_needed("--schedule", schedule, f"one of {', '.join(SCHEDULES)}", "choose one")
        )
    if seed < 0:
        raise UsageError(got_needed("--seed", seed, "0 or more", "choose another"))
    findings: list[Finding] = []
    try:
        with options(sanitize=True, findings=findings, schedule=schedule, seed=seed):
            status = scripts.main(script, arguments, device="virtual")
    except SystemExit as leaving:  # the script's own
        code = leaving.code
        status = code if isinstance(code, int) else int(code is not None)
        if isinstance(code, str):
            print(code)
    found = distinct(findings)
    for finding in found:
        print(f"\n{counted(finding)}")
    errors = sum(f.severity == "error" for f in found)
    notes = len(found) - errors
    print(f"\nsanitizer: {errors} finding{'s' * (errors != 1)}, {notes} note{'s' * (notes != 1)}")
    return status or int(bool(errors))
