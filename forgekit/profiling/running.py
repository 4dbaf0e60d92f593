"""Run a compiled kernel on the virtual GPU, on copies and quietly, and watch it."""

from __future__ import annotations

import ctypes
import io
import linecache
import re
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.vgpu.listeners import Listener
    from forgekit.vgpu.program import Program

__all__ = ["copied", "kernel_name", "run_watched"]

_PREFIX = "kernel_cutlass_"
_NEAR = 20  # lines between a kernel's first decorator and its `def`


def run_watched(
    kernel: CompiledKernel, args: tuple[Any, ...], listeners: tuple[Listener, ...]
) -> tuple[Listener, ...]:
    """Run on copies; returns the listeners.

    Raises:
        KernelError: what stopped the kernel.
    """
    from forgekit import vgpu

    copies = copied(args)
    on_virtual = kernel.on_virtual_gpu()
    # Counts are those of the usual order; whether a kernel is right is another question.
    watched = vgpu.options(listeners=listeners, sanitize=False, schedule="default")
    with watched, redirect_stdout(io.StringIO()):
        on_virtual(*copies)
    return listeners


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of the tensors on the CPU, laid out as they are; what shares memory still does."""
    storages: dict[tuple[str, int], torch.UntypedStorage] = {}
    return tuple(_copy(a, storages) for a in args)


def _copy(value: Any, storages: dict[tuple[str, int], torch.UntypedStorage]) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    original = value.untyped_storage()
    key = (str(value.device), original.data_ptr())
    if key not in storages:
        storages[key] = _clone(original) if value.device.type == "cpu" else original.cpu()
    layout = value.storage_offset(), value.size(), value.stride()
    return torch.empty(0, dtype=value.dtype).set_(storages[key], *layout)


def _clone(original: torch.UntypedStorage) -> torch.UntypedStorage:
    """A copy by one thread: torch's own takes milliseconds where other work keeps cores busy."""
    import torch

    made = torch.UntypedStorage(original.nbytes())
    ctypes.memmove(made.data_ptr(), original.data_ptr(), original.nbytes())
    return made


def kernel_name(program: Program) -> str:
    """The name of a kernel in Python; the compiler's own where the source cannot be had."""
    mangled = program.kernel.name
    plain = mangled.removeprefix(_PREFIX)
    source = program.instructions[0].source if program.instructions else None
    if source is not None:  # the prologue carries the line of the first decorator
        for number in range(source.line, source.line + _NEAR):
            found = re.match(r"\s*def\s+(\w+)", linecache.getline(source.file, number))
            if found:
                return found[1] if plain.startswith(found[1]) else plain
    return plain
