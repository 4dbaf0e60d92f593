"""Run a compiled kernel again on the virtual GPU for inspection, with copied arguments and without
its prints."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from forgekit.arguments import dense
from forgekit.errors import usage_error

if TYPE_CHECKING:
    import torch

    from forgekit.compiling.compiled import CompiledKernel


def bind(what: str, kernel: CompiledKernel, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a call's arguments in order. what: the public function to name in errors.

    Raises:
        UsageError: the kernel is not compiled, or the arguments do not fit it.
    """
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.compiling.parameters import bind_call

    if not isinstance(kernel, CompiledKernel):
        remedy = f"compile it first: run = fk.compile(copy, x, y); fk.{what}(run, x, y)"
        raise usage_error(what, kernel, "a compiled kernel", remedy)
    if len(args) != len(kernel.runtime):
        args = bind_call(kernel.name, kernel.parameters, args, {})
    for p, value in zip(kernel.runtime, args, strict=True):
        if hasattr(value, "is_nested") or (p.kind == "tensor" and value is not None):
            dense(f"argument {p.name}", value)
    return args


def run_again(kernel: CompiledKernel, args: tuple[Any, ...], **options: Any) -> tuple[Any, ...]:
    """Run the kernel with copies of the arguments, without its prints; return the copies.

    options: as in `forgekit.vgpu.options`. By default, the kernel runs in the usual order and
    without the sanitizer, regardless of the user's options, because this call does not check the
    kernel.

    Raises:
        KernelError: the virtual GPU stopped the kernel.
    """
    from forgekit import vgpu

    on_virtual = kernel.on_virtual_gpu()
    copies = copied(args)
    chosen = {"sanitize": False, "schedule": "default", "prints": False, **options}
    with vgpu.options(**chosen):
        on_virtual(*copies)
    return copies


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy the tensors to the CPU with the same layouts; copies share memory if the originals do.

    Uninitialized elements remain uninitialized for the sanitizer.
    """
    storages: dict[tuple[str, int], torch.UntypedStorage] = {}
    return tuple(_copy(a, storages) for a in args)


def _copy(value: Any, storages: dict[tuple[str, int], torch.UntypedStorage]) -> Any:
    import torch

    from forgekit.vgpu import HOST

    if not isinstance(value, torch.Tensor):
        return value
    original = value.untyped_storage()
    key = (str(value.device), original.data_ptr())
    if key not in storages:
        storages[key] = _clone(original) if HOST.real_device(value) == "cpu" else original.cpu()
    layout = value.storage_offset(), value.size(), value.stride()
    copy = torch.empty(0, dtype=value.dtype).set_(storages[key], *layout)
    HOST.copy_marks(value, copy)
    return copy


def _clone(original: torch.UntypedStorage) -> torch.UntypedStorage:
    """Copy a storage in a single thread, because torch's multithreaded copy takes milliseconds when
    the cores are busy."""
    import torch

    made = torch.UntypedStorage(original.nbytes())
    ctypes.memmove(made.data_ptr(), original.data_ptr(), original.nbytes())
    return made
