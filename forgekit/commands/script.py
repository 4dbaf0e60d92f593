"""`forgekit run`: an unmodified CuTe DSL script, on the virtual GPU where there is no GPU."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

from forgekit.errors import ForgekitError, UsageError, user_line

__all__ = ["main"]


# What torch says where a script puts tensors on a GPU that is not there.
_NO_CUDA = (
    "Torch not compiled with CUDA enabled",
    "No CUDA GPUs are available",
    "Found no NVIDIA driver",
)
_NO_CUDA_REMEDY = (
    'torch has no GPU here, and the virtual GPU works on CPU tensors: write device="cpu", or '
    '`device = "cuda" if torch.cuda.is_available() else "cpu"`.'
)


def _run_as_main(path: Path) -> None:
    """Execute the file as `__main__`, under its full path: the DSL reads kernels' source there."""
    module = ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)


def _show(error: Exception, script: Path) -> None:
    """Print an exception of the script as Python does, without the frames above the script."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
        trace = trace.tb_next
    # The DSL replaces this hook by one that says a compile error in a few lines.
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _wants_a_gpu(error: Exception) -> bool:
    """Whether torch refused device="cuda" because this machine has none."""
    return isinstance(error, AssertionError | RuntimeError) and any(
        text in str(error) for text in _NO_CUDA
    )


def main(script: str, arguments: list[str], *, device: str | None = None) -> int:
    """Run `script` as `python script arguments...` would; returns its exit status.

    `device` ("gpu" or "virtual") wins over FORGEKIT_DEVICE. Raises UsageError where there is no
    such file; an exception of the script itself is shown from the script's own line downwards.
    """
    path = Path(script).resolve()
    if not path.is_file():
        raise UsageError(f"got {script}, which is no file; needed the path of a Python script")
    if device is not None:
        os.environ["FORGEKIT_DEVICE"] = device

    from forgekit.devices import current_target

    if current_target().kind == "virtual":
        import forgekit.vgpu

        forgekit.vgpu.install()

    sys.argv = [script, *arguments]
    sys.path.insert(0, str(path.parent))
    try:
        _run_as_main(path)
    except ForgekitError as error:
        where = error._where()
        print(f"forgekit: {error}", *([f"  {where}"] if where else []), sep="\n", file=sys.stderr)
        return 1
    except Exception as error:
        if _wants_a_gpu(error):
            line = user_line(error.__traceback__)
            told = [f"forgekit: {_NO_CUDA_REMEDY}", *([f"  {line}"] if line else [])]
            print(*told, sep="\n", file=sys.stderr)
        else:
            _show(error, path)
        return 1
    return 0
