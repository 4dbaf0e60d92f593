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

from forgekit.cuda import device as gpu
from forgekit.cuda import graphs, products
from forgekit.vgpu.errors import UsageError
from forgekit.vgpu.wording import got_needed

CUDA_ATTRIBUTE = "_forgekit_cuda"  # set on a storage: whether it counts as memory of the GPU

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


def marked_of(tensor: Any) -> Any:
    """What has the mark that a tensor is on "cuda": its storage, which views share, or, where it
    has none as sparse ones do, itself."""
    try:
        return tensor.untyped_storage()
    except (AttributeError, NotImplementedError, RuntimeError):
        return tensor


def on_gpu(tensor: Any) -> bool:
    """True if a tensor counts as memory of the GPU."""
    return getattr(marked_of(tensor), CUDA_ATTRIBUTE, False)


def mark(tensor: torch.Tensor, cuda: bool = True) -> torch.Tensor:
    """Say of a tensor's storage where it counts as lying; returns the tensor."""
    if cuda:
        gpu.say_once()
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
        device, cuda = kwargs.get("device"), False
        if is_cuda(device):
            kwargs["device"], cuda = CPU, True
        elif device is None or torch._C._current_graph_task_id() != -1:
            # (A backward pass names the device where the tensors really lie.)
            cuda = any(map(on_gpu, _tensors((args, kwargs))))
        result = graphs.capture_operation(func, args, kwargs) if cuda else graphs.NOT_CAPTURED
        if result is graphs.NOT_CAPTURED:
            result = _run(func, args, kwargs, plain=not types, cuda=cuda)
        if cuda:
            _mark_results(func, result)
        return result


# Operations that write to tensors on the CPU what lies on a GPU.
_CROSSING = ("copy", "_copy", "_foreach_copy", "set_")


def _mark_results(func: Any, result: Any) -> None:
    """Mark what an operation has made or written to. (A view may be a new tensor, as of `to`.)"""
    written = any(r.alias_info and r.alias_info.is_write for r in func._schema.returns)
    if not (written and func.name().partition("::")[2].startswith(_CROSSING)):
        for tensor in _tensors(result):
            mark(tensor)


def _run(func: Any, args: tuple, kwargs: dict[str, Any], *, plain: bool, cuda: bool) -> Any:
    """Run an operator; one that is not torch's may be Python for "cuda" alone, which finds "cuda"
    as any other code does. (Within a dispatch mode's handler that mode is off.) plain: no argument,
    such as a fake tensor, handles operators itself."""
    if plain and func.namespace not in ("aten", "prim", "prims"):
        for key in ("CUDA", "CPU") if cuda else ("CPU",):
            if torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), key):
                keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
                with Marking():
                    return func.redispatch(keys, *args, **kwargs)
    made = products.product(func, args) if plain and cuda else None
    return func(*args, **kwargs) if made is None else made


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
