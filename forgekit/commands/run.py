"""`forgekit run`: run an unmodified CuTe DSL script, on the virtual GPU if there is no GPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, TracebackType

import click

from forgekit.commands.options import ScriptCommand, chosen_target, no_cuda, strict
from forgekit.diagnosing.diagnosis import older_name
from forgekit.errors import ForgekitError, KernelError, SourceLine, UsageError, user_line

# torch's errors for device="cuda" without a GPU.
_NO_CUDA = (
    "Torch not compiled with CUDA enabled",
    "No CUDA GPUs are available",
    "Found no NVIDIA driver",
    "PyTorch is not linked with support for cuda devices",
    "with arguments from the 'CUDA' backend",
)
_NO_CUDA_REMEDY = (
    'torch has no GPU here: leave out --no-cuda, so that "cuda" means the virtual GPU, or write '
    '`device = "cuda" if torch.cuda.is_available() else "cpu"`.'
)


@dataclass(frozen=True)
class Ended:
    """The outcome of a script. status: its exit status. stopped: True if the virtual GPU stopped a
    kernel."""

    status: int
    stopped: bool = False


@click.command(cls=ScriptCommand)
@click.option(
    "--device", help="gpu or virtual; default: FORGEKIT_DEVICE, otherwise the GPU if there is one"
)
@no_cuda
@strict
def run(
    script: str, arguments: tuple[str, ...], device: str | None, cuda: bool, strict: bool
) -> int:
    """Run an unmodified CuTe DSL script, on the virtual GPU if there is no GPU.

    SCRIPT is the Python file; it receives ARGUMENTS. The exit status is the script's own, or 120 if
    the script succeeds but the sanitizer has findings.
    """
    return run_script(script, arguments, device=device, cuda=cuda, strict=strict).status


def run_script(
    script: str,
    arguments: Sequence[str],
    *,
    device: str | None = None,
    cuda: bool = True,
    strict: bool = True,
) -> Ended:
    """Run a script as `python script arguments...` would; return its outcome.

    device: "gpu" or "virtual", which overrides FORGEKIT_DEVICE. cuda: True if torch's "cuda" device
    should be the virtual GPU; ignored if torch has a real GPU. strict: True if the sanitizer's
    first finding should stop the script; otherwise the findings are printed at its end. Tracebacks
    begin with the script's own frame.

    Raises:
        UsageError: the file or device does not exist.
        PlatformError: a GPU is requested but none is usable.
    """
    path = Path(script).resolve()
    if not path.is_file():
        raise UsageError(f"got {script}, which is not a file; needed the path of a Python script")
    target = chosen_target(device)
    if device is not None:
        os.environ["FORGEKIT_DEVICE"] = device
    if target.kind == "virtual":
        import torch

        import forgekit.vgpu

        forgekit.vgpu.install(cuda=cuda and not torch.cuda.is_available(), strict=strict)

    sys.argv = [script, *arguments]
    sys.path.insert(0, str(path.parent))
    found = 0
    try:
        ended = _ended(path)
    finally:
        if target.kind == "virtual":
            found = forgekit.vgpu.HOST.finish()
    return replace(ended, status=ended.status or found)


def launched_nothing(script: str, ended: Ended) -> str:
    """Return the message about a script that launched no kernel."""
    early = f" before it ended with status {ended.status}" if ended.status else ""
    return f"{Path(script).name} launched no kernel{early}."


def _ended(path: Path) -> Ended:
    """Run the script and return its outcome; print the exception that ended it, if any."""
    try:
        _run_as_main(path)
    except SystemExit as leaving:
        return Ended(_status(leaving.code))
    except ForgekitError as error:
        _refuse(error, error._where())
        return Ended(1, stopped=isinstance(error, KernelError))
    except BrokenPipeError:  # the process that reads the output has exited
        raise
    except Exception as error:
        if _wants_a_gpu(error):
            _refuse(_NO_CUDA_REMEDY, user_line(error.__traceback__))
        else:
            _show(error, path)
        return Ended(1)
    return Ended(0)


def _run_as_main(path: Path) -> None:
    """Execute the file as `__main__`, under its full path, from which CuTe DSL reads the source of
    kernels."""
    module = ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    # Do not inherit this module's `annotations` import, which would make the script's annotations
    # strings.
    exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), module.__dict__)


def _show(error: Exception, script: Path) -> None:
    """Print the script's exception as Python does, but without the frames outside the script that
    called it and the frames marked with pytest's `__tracebackhide__`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
        trace = trace.tb_next
    frames = [*_chain(trace)]
    trace = None
    for step in reversed(frames):
        if not step.tb_frame.f_globals.get("__tracebackhide__"):
            trace = TracebackType(trace, step.tb_frame, step.tb_lasti, step.tb_lineno)
    # CuTe DSL replaces this hook with one that shortens compile errors.
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    if hint := older_name(error):
        _refuse(hint, None)


def _chain(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _wants_a_gpu(error: Exception) -> bool:
    """Return True if torch raised the error because this machine has no GPU."""
    return isinstance(error, AssertionError | RuntimeError) and any(
        text in str(error) for text in _NO_CUDA
    )


def _refuse(why: object, where: SourceLine | None) -> None:
    print(f"forgekit: {why}", *([f"  {where}"] if where else []), sep="\n", file=sys.stderr)


def _status(code: object) -> int:
    """Return the exit status of `sys.exit(code)`; like Python, print a code that is not a
    status."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1
