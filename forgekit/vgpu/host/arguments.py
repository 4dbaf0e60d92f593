"""Find the tensors among a call's arguments and give them virtual addresses.

The code is duck-typed on purpose, because the virtual GPU does not depend on torch. It recognises
torch tensors (by `untyped_storage`), the DSL's own runtime tensors (`from_dlpack`) and pointers
(`make_ptr`), and NumPy arrays.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forgekit.vgpu import plugins
from forgekit.vgpu.errors import usage_error
from forgekit.vgpu.memory import GlobalMemory, Region, TensorInfo, byte_range

# On a runtime tensor of the DSL, the hooks store the argument of from_dlpack in this attribute.
SOURCE_ATTRIBUTE = "_forgekit_source"

# This attribute marks an argument that kernels must not write to.
READ_ONLY_ATTRIBUTE = "_forgekit_read_only"

# in bytes, as in torch's CPU allocator
_CPU_ALIGN = 64
_MAX_DEPTH = 4  # maximum nesting depth of containers


@dataclasses.dataclass(frozen=True)
class TensorView:
    """The address and layout of a tensor from any library.

    pointer: the address of the first element; strides: in elements; align_offset: the offset of the
    first element, in bytes, from the start of the storage.
    """

    pointer: int
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    align_offset: int
    owner: object


def register(memory: GlobalMemory, arguments: Iterable[tuple[str, object]]) -> None:
    """Add every tensor among the named arguments to the memory, in the arguments' order.

    Raises:
        UsageError: a tensor is on a GPU, or a pointer points into memory of unknown size.
    """
    memory.live = storage_at
    regions: list[Region] = []
    pointers: list[tuple[str, Any]] = []
    for name, argument in arguments:
        for path, value in _leaves(name, argument, depth=0):
            if is_tensor(value):
                read_only = bool(getattr(value, READ_ONLY_ATTRIBUTE, False))
                regions.append(_region(path, describe(path, value), read_only))
            elif int(value._pointer):
                pointers.append((path, value))
    for path, pointer in pointers:
        address = int(pointer._pointer)
        if not any(r.start <= address < r.start + r.size_bytes for r in regions):
            regions.append(_region_around(path, address, pointer))
    if any(plugins.active.on_gpu(r.owner) for r in regions):
        memory.on_the_host = [r for r in regions if plugins.active.on_host(r.owner)]
        regions = [r for r in regions if not plugins.active.on_host(r.owner)]
        memory.live = _reachable
    memory.add_tensors(regions)


def _leaves(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the tensors and pointers in a value: the value itself, or the members of containers and
    DSL objects, with their names."""
    if depth > _MAX_DEPTH or value is None or isinstance(value, str | bytes | int | float):
        return
    if is_tensor(value) or _is_pointer(value):
        yield name, value
    elif isinstance(value, list | tuple):
        names = getattr(value, "_fields", None) or [f"[{i}]" for i in range(len(value))]
        for part, item in zip(names, value, strict=True):
            joined = f"{name}{part}" if part.startswith("[") else f"{name}.{part}"
            yield from _leaves(joined, item, depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{name}[{key!r}]", item, depth + 1)
    elif dataclasses.is_dataclass(value) or hasattr(value, "__c_pointers__"):
        for field, item in list(getattr(value, "__dict__", {}).items()):
            yield from _leaves(f"{name}.{field}", item, depth + 1)


def is_tensor(value: Any) -> bool:
    """Return True if a value is a tensor of a library that the virtual GPU supports."""
    return (
        hasattr(value, SOURCE_ATTRIBUTE)
        or hasattr(value, "untyped_storage")
        or hasattr(value, "_dltensor_wrapper")
        or hasattr(value, "__array_interface__")
    )


def real_device(tensor: Any) -> str:
    """Return the type of the device whose memory contains a torch tensor, such as cpu."""
    return "cpu" if plugins.active.on_gpu(tensor) else str(tensor.device.type)


def _is_pointer(value: Any) -> bool:
    return hasattr(value, "_pointer") and hasattr(value, "_assumed_align")


def describe(name: str, tensor: Any) -> TensorView:
    """Return the address and layout of a tensor.

    Raises:
        UsageError: the tensor is not in the CPU's memory.
    """
    source = getattr(tensor, SOURCE_ATTRIBUTE, None)
    if source is not None and is_tensor(source):
        view = describe(name, source)
        kind = getattr(getattr(tensor, "element_type", None), "__name__", "").lower()
        # Host code may set the element type, as in `cute_tensor.element_type =
        # cutlass.Float8E4M3FN`.
        return dataclasses.replace(view, dtype=kind) if kind.startswith("float8") else view
    if hasattr(tensor, "untyped_storage"):
        return _describe_torch(name, tensor)
    if hasattr(tensor, "_dltensor_wrapper"):
        pointer, kind = tensor.data_ptr, tensor.element_type
        return TensorView(
            pointer, kind.__name__.lower(), max(kind.width // 8, 1), tuple(tensor.shape),
            tuple(tensor.stride), pointer % _CPU_ALIGN, tensor,
        )  # fmt: skip
    pointer, itemsize = tensor.__array_interface__["data"][0], tensor.itemsize
    strides = tuple(s // itemsize for s in tensor.strides)
    # Measure alignment from the start of the array that owns the memory, whose address is
    # arbitrary.
    base = tensor
    while type(base.base) is type(base):
        base = base.base
    offset = pointer - base.__array_interface__["data"][0]
    return TensorView(
        pointer, str(tensor.dtype), itemsize, tuple(tensor.shape), strides, offset, tensor
    )


def _describe_torch(name: str, tensor: Any) -> TensorView:
    if real_device(tensor) != "cpu":
        remedy = "pass x.cpu(), because the virtual GPU uses the CPU's memory"
        got = f"a tensor on {tensor.device}"
        raise usage_error(f"argument `{name}`", got, "a CPU tensor", remedy)
    pointer = tensor.data_ptr()
    offset = pointer - tensor.untyped_storage().data_ptr() if pointer else 0
    return TensorView(
        pointer, str(tensor.dtype).split(".")[-1], tensor.element_size(), tuple(tensor.shape),
        tuple(tensor.stride()), offset, tensor,
    )  # fmt: skip


def _region(name: str, view: TensorView, read_only: bool) -> Region:
    low, size = byte_range(view.shape, view.strides, view.itemsize)
    info = TensorInfo(name, view.dtype, view.itemsize, view.shape, view.strides)
    start = view.pointer + low
    return Region(start, size, info, view.pointer, view.align_offset + low, view.owner, read_only)


def _region_around(name: str, address: int, pointer: Any) -> Region:
    """Return the whole storage of the live tensor to which a raw pointer points.

    Raises:
        UsageError: no live tensor contains the address.
    """
    found = storage_at(address)
    if found is None:
        raise usage_error(
            f"argument `{name}`",
            f"a pointer to memory of unknown size at {address:#x}",
            "a pointer into a tensor that is still alive",
            "keep the tensor in a variable while the kernel runs, or pass the tensor itself "
            "(from_dlpack(x)) instead of make_ptr(…)",
        )
    start, size, owner = found
    itemsize = max(pointer._dtype.width // 8, 1)
    count = max((start + size - address) // itemsize, 0)
    info = TensorInfo(name, pointer._dtype.__name__.lower(), itemsize, (count,), (1,))
    return Region(start, size, info, address, 0, owner)


# -- the tensor behind a raw pointer: `make_ptr(dtype, x.data_ptr())` does not include the size ----
def storage_at(address: int) -> tuple[int, int, object] | None:
    """Return (start, bytes, owner) of the memory of the live tensor or array that contains
    `address`, or None.

    The search covers the callers' variables first, and then all torch tensors that Python's garbage
    collector tracks.
    """
    allocated = plugins.active.allocation_at(address)
    if allocated is not None:
        return allocated
    for candidates in (_variables(), _tracked()):
        for value in candidates:
            found = _extent(value)
            if found and found[0] <= address < found[0] + found[1]:
                return *found, value
    return None


def _reachable(address: int) -> tuple[int, int, object] | None:
    """Like `storage_at`, for a call whose kernels cannot access CPU tensors."""
    found = storage_at(address)
    return None if found is None or plugins.active.on_host(found[2]) else found


def _variables() -> Iterator[Any]:
    frame = sys._getframe(1)
    while frame is not None:
        yield from list(frame.f_locals.values())
        if frame.f_back is None or frame.f_back.f_globals is not frame.f_globals:
            yield from list(frame.f_globals.values())
        frame = frame.f_back  # type: ignore[assignment]


def _tracked() -> Iterator[Any]:
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is not None:
        yield from (o for o in gc.get_objects() if issubclass(type(o), tensor))


def _extent(value: Any) -> tuple[int, int] | None:
    kind = type(value)
    if hasattr(kind, "untyped_storage"):
        if real_device(value) != "cpu":
            return None
        try:
            storage = value.untyped_storage()
            return storage.data_ptr(), storage.nbytes()
        except (NotImplementedError, RuntimeError):  # sparse tensors have no storage
            return None
    if hasattr(kind, "__array_interface__") and isinstance(getattr(value, "nbytes", None), int):
        base = value
        while type(base.base) is kind:  # find the array that owns the memory
            base = base.base
        return base.__array_interface__["data"][0], base.nbytes
    return None
