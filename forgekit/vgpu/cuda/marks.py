"""Which of torch's tensors are memory of the virtual GPU: a mark on their storage.

All tensors lie in the CPU's memory. Views share a storage, so they share the mark; that the result
of an operation on marked tensors is marked too, also within a backward pass, is seen to by a
dispatch mode, under which torch's operations run in every thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from forgekit.errors import UsageError, got_needed
from forgekit.vgpu.cuda import graphs, notice
from forgekit.vgpu.host.arguments import CUDA_ATTRIBUTE, marked_of, on_virtual_gpu

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


def mark(tensor: torch.Tensor, cuda: bool = True) -> torch.Tensor:
    """Say of a tensor's storage where it counts as lying; returns the tensor."""
    if cuda:
        notice.say_once()
    setattr(marked_of(tensor), CUDA_ATTRIBUTE, cuda)
    return tensor


def is_cuda(device: Any) -> bool:
    """Whether a device, as torch takes it, is the GPU.

    Raises:
        UsageError: another GPU than the first.
    """
    if device is None:
        return False
    device = torch.device(device) if isinstance(device, str) else device
    index = device if isinstance(device, int) else device.index
    if not isinstance(device, int) and device.type != "cuda":
        return False
    if index not in (None, 0):
        needed = "cuda:0: one virtual GPU is there"
        raise UsageError(got_needed("device", f"cuda:{index}", needed, 'write "cuda"'))
    return True


class Marking(TorchDispatchMode):
    """Runs operations for "cuda" on the CPU and marks their results."""

    active = True  # off: whatever thread still runs under it finds torch as it was

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: that would import torch's compiler, which takes seconds, and it is not used."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if not Marking.active:
            return func(*args, **kwargs)
        device = kwargs.get("device")
        if cuda := is_cuda(device):
            kwargs["device"] = CPU
        elif device is None or torch._C._current_graph_task_id() != -1:
            # (A backward pass names the device where the tensors really lie.)
            cuda = any(on_virtual_gpu(t) for t in _tensors((args, kwargs)))
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if func is torch.ops.aten._pin_memory.default:
            return args[0].clone()
        result = graphs.capture_operation(func, args, kwargs) if cuda else graphs.NOT_CAPTURED
        if result is graphs.NOT_CAPTURED:
            result = _run(func, args, kwargs)
        # A view may be a new tensor (`to`); what is written to stays where it was.
        if cuda and not any(r.alias_info and r.alias_info.is_write for r in func._schema.returns):
            for tensor in _tensors(result):
                mark(tensor)
        return result


def _run(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run an operator; one that is not torch's may be Python for "cuda" alone, which finds "cuda"
    as any other code does. (Within a dispatch mode's handler that mode is off.)"""
    if func.namespace not in ("aten", "prims"):
        for key in ("CUDA", "CPU"):
            if torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), key):
                keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
                with Marking():
                    return func.redispatch(keys, *args, **kwargs)
    return func(*args, **kwargs)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
