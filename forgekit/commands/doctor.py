"""`forgekit doctor`: report this machine's hardware and software, where kernels will run, and how
to fix problems."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import click

from forgekit.commands.options import Command
from forgekit.course import find_course
from forgekit.errors import as_typed

if TYPE_CHECKING:
    from forgekit.devices import GpuReport

PROBE = ("-P", "-m", "forgekit.commands.doctor")  # -P: no imports from the current folder
PROBE_TIMEOUT_S = 120
NAME_WIDTH = len("disassembler")  # length of the longest finding's name
CHOICES = ("FORGEKIT_DEVICE", "FORGEKIT_ARCH")
INSTALL = "run `uv sync` in the course folder, or `pip install forgekit` elsewhere"
INSTALL_LAB = "run `uv sync` in the course folder, or `pip install jupyterlab` elsewhere"


@dataclass(frozen=True)
class Finding:
    """A line of the report: a subject, its state, and a remedy if something is missing.

    fatal: True if no kernel can run.
    """

    name: str
    value: str
    remedy: str = ""
    fatal: bool = False


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="print the findings as JSON")
def doctor(as_json: bool) -> int:
    """Report this machine's hardware and software, and where kernels will run."""
    findings = []
    for found in examine():
        finding = replace(found, remedy=as_typed(found.remedy))
        findings.append(finding)
        if not as_json:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            print(f"{finding.name:<{NAME_WIDTH}}  {finding.value}{remedy}", flush=True)
    able = not any(finding.fatal for finding in findings)
    if as_json:
        report = {"can_run": able, "findings": [asdict(finding) for finding in findings]}
        print(json.dumps(report, indent=2))
    else:
        ready = as_typed("Ready: `forgekit lab` opens the first notebook.")
        print(f"\n{ready if able else 'No kernel can run here.'}")
    return 0 if able else 1


def examine() -> Iterator[Finding]:
    """Yield the findings in the order of the report, each as soon as it is known. The slow check
    comes last, and is skipped if it cannot succeed.
    """
    from forgekit.devices import gpu_report

    machine = gpu_report()
    findings = [*_installed(machine), _jupyter()]
    yield from findings
    if any(finding.fatal for finding in findings):
        return
    yield _target(machine)
    if machine.target is not None:
        yield _check(machine.target.kind)


def _installed(machine: GpuReport) -> Iterator[Finding]:
    """Yield findings about the system, the GPU, its driver, PyTorch, the compiler and the
    disassembler."""
    system = f"{machine.os}, Python {machine.python}, {os.cpu_count()} CPU cores"
    if machine.os.startswith("Linux"):
        yield Finding("system", system)
    else:
        remedy = "CuTe DSL's compiler runs only on Linux; use WSL2, a container or a remote machine"
        yield Finding("system", system, remedy, fatal=True)
    yield _gpu(machine)
    built = f"for CUDA {machine.torch_cuda}" if machine.torch_cuda else "for the CPU"
    torch = machine.torch and f"{machine.torch}, built {built}"
    sass = "kernels show their PTX but no SASS; run `uv sync --extra sass` in the course folder"
    driver, missing = "no CUDA driver found", "not installed"
    yield _found("CUDA driver", machine.driver, driver, "kernels run on the virtual GPU")
    yield _found("PyTorch", torch, missing, INSTALL, fatal=True)
    yield _found("CuTe DSL", machine.dsl, missing, INSTALL, fatal=True)
    yield _found("disassembler", machine.disassembler, missing, sass)


def _found(
    name: str, value: str | None, missing: str, remedy: str, *, fatal: bool = False
) -> Finding:
    return Finding(name, value) if value else Finding(name, missing, remedy, fatal)


def _gpu(machine: GpuReport) -> Finding:
    """Report the GPU that PyTorch finds, or the reason why it finds none."""
    if machine.gpu:
        return Finding("GPU", machine.gpu)
    if machine.driver is None:
        return Finding("GPU", "none", "nothing to do: every lesson runs on the virtual GPU")
    if machine.torch and machine.torch_cuda is None:
        remedy = (
            "to use the GPU, install a CUDA build of PyTorch; until then kernels run on the "
            "virtual GPU"
        )
        return Finding("GPU", "driver installed, but this PyTorch is built for the CPU", remedy)
    remedy = "check that `nvidia-smi` lists your GPU; until then kernels run on the virtual GPU"
    return Finding("GPU", "driver installed, but PyTorch finds no GPU", remedy)


def _jupyter() -> Finding:
    """Report JupyterLab's version and whether it opens the course."""
    from forgekit.devices import package_version

    version = package_version("jupyterlab")
    where = "opens the course" if find_course() else "opens the current folder (no course here)"
    remedy = f"`forgekit lab` needs it; {INSTALL_LAB}"
    return _found("JupyterLab", version and f"{version}, {where}", "not installed", remedy)


def _target(machine: GpuReport) -> Finding:
    """Report where kernels will run, their architecture, and the environment variables that select
    these."""
    if machine.target is None:
        return Finding("kernels", "cannot run here", machine.target_problem or "", fatal=True)
    chosen = [f"{name}={os.environ[name]}" for name in CHOICES if os.environ.get(name)]
    reason = f" ({', '.join(chosen)})" if chosen else ""
    place = machine.target.name if machine.target.kind == "gpu" else "virtual GPU"
    return Finding("kernels", f"run on the {place}, compiled for {machine.target.arch}{reason}")


def _check(device: str) -> Finding:
    """Run a small kernel on the current target; if it fails on the GPU, run it on the virtual
    GPU."""
    ran, outcome = try_kernel(device)
    if ran:
        return Finding("check", outcome)
    if device == "gpu" and try_kernel("virtual")[0]:
        remedy = "set FORGEKIT_DEVICE=virtual to use the virtual GPU, which works"
        return Finding("check", f"failed on the GPU ({outcome})", remedy)
    remedy = f"run `python {' '.join(PROBE)}` to see the complete error"
    return Finding("check", f"failed ({outcome})", remedy, fatal=True)


def try_kernel(device: str) -> tuple[bool, str]:
    """Compile and run a small kernel in a separate process; return (success, description)."""
    try:
        result = subprocess.run(
            [sys.executable, *PROBE],
            env=dict(os.environ, FORGEKIT_DEVICE=device),
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {PROBE_TIMEOUT_S} s"
    if result.returncode == 0:
        return (
            True,
            f"a kernel compiled and ran in {result.stdout.split()[-1]} s; the result is right",
        )
    lines = result.stderr.strip().splitlines()
    return False, lines[-1].strip() if lines else f"exit status {result.returncode}"


def run_probe() -> float:
    """Compile, run and check a small kernel on the current target; return the time in seconds.

    Raises:
        ForgekitError: the kernel cannot be compiled or run, or its result is wrong.
    """
    import forgekit as fk
    from forgekit.ops import copy_transpose

    x = fk.randn(8, 8)
    start = time.perf_counter()
    y = copy_transpose(x).cpu()
    elapsed_s = time.perf_counter() - start
    fk.check(y, x.cpu().T)
    return elapsed_s


if __name__ == "__main__":
    print(f"{run_probe():.3f}")
