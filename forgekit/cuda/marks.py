"""Mark the storage of torch tensors that count as memory of the virtual GPU.

All tensors are in the CPU's memory. Views share a storage, so they share the mark. In every thread,
torch's operations run under a dispatch mode, which marks the results of operations on marked
tensors, including in backward passes. Tensors that a script creates on the CPU are marked as CPU
tensors, so an operation that mixes CPU and GPU tensors raises torch's error. A tensor without a
mark, such as one of torch's temporaries, can be combined with either.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from forgekit.cuda import device as gpu
from forgekit.cuda import graphs, products
from forgekit.vgpu.wording import got_needed

# Attributes of a storage. The first is True for GPU memory and False for CPU memory. The second is
# True for pinned memory, which kernels can also access.
CUDA_ATTRIBUTE, PINNED_ATTRIBUTE = "_forgekit_cuda", "_forgekit_pinned"

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


def marked_of(tensor: Any) -> Any:
    """Return the object that stores a tensor's "cuda" mark: the storage, which views share, or the
    tensor itself if it has no storage (as for a sparse tensor)."""
    try:
        return tensor.untyped_storage()
    except (AttributeError, NotImplementedError, RuntimeError):
        return tensor


def on_gpu(tensor: Any) -> bool:
    """Return True if a tensor counts as GPU memory."""
    return getattr(marked_of(tensor), CUDA_ATTRIBUTE, False)


def on_host(tensor: Any) -> bool:
    """Return True if a tensor is known to be on the CPU and is not pinned."""
    marked = marked_of(tensor)
    known = getattr(marked, CUDA_ATTRIBUTE, None) is False
    return known and not getattr(marked, PINNED_ATTRIBUTE, False)


def mark(tensor: torch.Tensor, cuda: bool = True, *, new: bool = False) -> torch.Tensor:
    """Mark a tensor's storage as GPU memory (or CPU memory), and return the tensor. new: True if
    the tensor has no views yet."""
    if cuda and new:
        _align(tensor)
    marked = marked_of(tensor)
    if cuda:
        gpu.say_once()
        if marked is not tensor and not getattr(marked, CUDA_ATTRIBUTE, False):
            _keep(marked)
    setattr(marked, CUDA_ATTRIBUTE, cuda)
    return tensor


def room(size_bytes: int) -> np.ndarray:
    """Return memory that begins at a multiple of 512 bytes, like memory from torch's GPU
    allocator."""
    memory = np.empty(size_bytes + _ALIGNED, np.uint8)
    start = -memory.ctypes.data % _ALIGNED
    return memory[start : start + size_bytes]


def _align(tensor: torch.Tensor) -> None:
    """Move a new tensor to memory from `room`, because scripts rely on aligned addresses."""
    old = marked_of(tensor)
    if type(tensor) is torch.Tensor and old is not tensor and old.nbytes():
        new = torch.frombuffer(room(old.nbytes()), dtype=torch.uint8).untyped_storage()
        new.copy_(old)
        with torch.no_grad():
            tensor.set_(new, tensor.storage_offset(), tensor.size(), tensor.stride())


# The latest storages on "cuda", oldest first. On a GPU, torch's allocator keeps the memory of a
# tensor that a script deletes, so a pointer to this memory, for example in a table of a grouped
# product, remains valid.
KEPT: collections.deque[Any] = collections.deque()
_KEPT_BYTES = 64 << 20
_ALIGNED = 512  # in bytes, as in torch's GPU allocator


def _keep(storage: Any) -> None:
    KEPT.append(storage)
    if len(KEPT) % 64 == 0 or storage.nbytes() > _KEPT_BYTES >> 6:
        sizes = itertools.accumulate(kept.nbytes() for kept in reversed(KEPT))
        fit = sum(size <= _KEPT_BYTES for size in sizes)
        for _ in range(len(KEPT) - fit):
            KEPT.popleft()


def kept_at(address: int) -> tuple[int, int, object] | None:
    """Return (start, bytes, storage) of the kept memory that contains an address, or None."""
    for storage in reversed(KEPT):
        start = storage.data_ptr()
        if start <= address < start + storage.nbytes():
            return start, storage.nbytes(), storage
    return None


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    setattr(tensor.untyped_storage(), PINNED_ATTRIBUTE, True)
    return mark(tensor, False)


def is_cuda(device: Any) -> bool:
    """Return True if a device is the GPU. device: anything that torch accepts as a device.

    Raises:
        RuntimeError: torch's error for an invalid device, if the device is a GPU other than the
            first.
    """
    if device is None:
        return False
    device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    if device.type == "cuda" and device.index:
        needed = "cuda:0, because there is only one virtual GPU"
        why = got_needed("device", str(device), needed, 'write "cuda"')
        raise torch.AcceleratorError(f"CUDA error: invalid device ordinal ({why})")
    return device.type == "cuda"


class Marking(TorchDispatchMode):
    """Runs operations for "cuda" on the CPU and marks their results."""

    # False after `stop`: torch is then unchanged in threads that still run under this mode
    active = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False, because skipping would import torch's unused compiler, which takes
        seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if not Marking.active:
            return func(*args, **kwargs)
        device, on_cpu = kwargs.get("device"), False
        if cuda := is_cuda(device):
            kwargs["device"] = CPU
        elif device is None or torch._C._current_graph_task_id() != -1:
            # (Backward passes pass the tensors' true device.)
            given = [*_tensors((args, kwargs))]
            marks = [getattr(marked_of(t), CUDA_ATTRIBUTE, None) for t in given]
            cuda, on_cpu = True in marks, False in marks
            if cuda and on_cpu and torch._C._current_graph_task_id() == -1:
                _refuse_mixing(func, given, marks)
        if kwargs.get("pin_memory"):
            return _pinned(func(*args, **kwargs | {"pin_memory": False}))
        if func is torch.ops.aten._pin_memory.default:
            return _pinned(args[0].clone())
        result = graphs.capture_operation(func, args, kwargs) if cuda else graphs.NOT_CAPTURED
        if result is graphs.NOT_CAPTURED:
            result = _run(func, args, kwargs, plain=not types, cuda=cuda)
        if cuda or on_cpu:
            _mark_results(func, result, cuda)
        return result


# Operations that accept both CPU and GPU tensors, as on a real GPU.
_CROSSING = ("copy", "_copy", "_foreach", "_fused", "_nested", "_pack_padded", "_pad_packed",
             "set_", "tensor_split", "_ctc_loss")  # fmt: skip
_INDEXING = ("index", "_index_put_impl_", "_unsafe_index")


def _refuse_mixing(func: Any, given: list[torch.Tensor], marks: list[bool | None]) -> None:
    """Raise torch's error if a torch operation mixes CPU and GPU tensors."""
    name = func.name().partition("::")[2]
    if func.namespace != "aten" or name.startswith(_CROSSING):
        return
    if name.startswith(_INDEXING):  # CPU indices can be used with all tensors
        mixed = marks[0] is False
    else:  # zero-dimensional CPU tensors can be used with all tensors
        mixed = any(m is False and t.dim() for t, m in zip(given, marks, strict=True))
    if mixed:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{CUDA} and cpu! (in {func})"
        )


def _mark_results(func: Any, result: Any, cuda: bool) -> None:
    """Mark the results of an operation. A result that the schema declares to be a view may still be
    a new tensor (as for `to`). A tensor that the operation writes to keeps its mark."""
    written = any(r.alias_info and r.alias_info.is_write for r in func._schema.returns)
    name = func.name().partition("::")[2]
    if written and (not cuda or name.startswith(_CROSSING)):
        return
    if name.startswith("_pack_padded"):  # the second result, the sizes, is a CPU tensor
        result = result[0]
    for tensor in _tensors(result):
        known = getattr(marked_of(tensor), CUDA_ATTRIBUTE, None)
        if not (written and known is False):
            mark(tensor, cuda, new=known is None and not written)


def _run(func: Any, args: tuple, kwargs: dict[str, Any], *, plain: bool, cuda: bool) -> Any:
    """Run an operator. A custom operator may be Python code that supports only "cuda", so it runs
    with this dispatch mode enabled again (torch disables the mode in its handler). plain: True if
    no argument handles operators itself, as a fake tensor does."""
    if plain and func.namespace not in ("aten", "prim", "prims"):
        for key in ("CUDA", "CPU") if cuda else ("CPU",):
            if torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), key):
                keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
                with Marking():
                    return func.redispatch(keys, *args, **kwargs)
    made = products.product(func, args, kwargs) if plain and cuda else None
    return func(*args, **kwargs) if made is None else made


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
