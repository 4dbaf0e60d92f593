"""Implement cuda-python's host calls (`cuda.bindings.driver`, `cuda.bindings.runtime`) on the
virtual GPU.

Each supported call is an entry of `_calls`; any other call raises an error that names the call. A
device pointer is an address in this process, in memory allocated by these calls or in a live
tensor.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from forgekit.cuda import device, graphs, marks
from forgekit.cuda.patches import Patches
from forgekit.vgpu.errors import usage_error
from forgekit.vgpu.host import arguments, limits

_objects: dict[int, Any] = {}  # events and graphs, by handle

_allocated: dict[int, np.ndarray] = {}  # memory allocated by these calls, by address


def patch_bindings(patches: Patches) -> None:
    """Replace the functions in both modules with the virtual GPU's functions."""
    from cuda.bindings import driver, runtime

    for module, prefix, ok in (
        (driver, "cu", driver.CUresult.CUDA_SUCCESS),
        (runtime, "cuda", runtime.cudaError_t.cudaSuccess),
    ):
        offered = _calls(module, prefix)
        for name, value in list(vars(module).items()):
            if re.match(prefix + "[A-Z]", name) and callable(value) and not isinstance(value, type):
                call = offered.get(name.removeprefix(prefix)) or _refusing(name, prefix)
                patches.put(module, name, _answering(call, ok))


def _answering(call: Callable, ok: Any) -> Callable:
    def answer(*args: Any, **kwargs: Any) -> tuple:
        device.say_once()
        result = call(*args, **kwargs)
        if result is None:
            return (ok,)
        return (ok, *result) if isinstance(result, tuple) else (ok, result)

    return answer


def _refusing(name: str, prefix: str) -> Callable:
    which = "driver" if prefix == "cu" else "runtime"

    def refuse(*_: Any, **__: Any) -> Any:
        needed = "a function that the virtual GPU supports"
        remedy = "remove the call, or run the script on a GPU"
        raise usage_error(f"the CUDA {which}", f"a call to {name}", needed, remedy)

    return refuse


def _calls(module: Any, prefix: str) -> dict[str, Callable]:
    """Return a dictionary from names, without the prefix, to the supported calls. Each call returns
    a tuple of results, a single result, or None."""

    def nothing(*_: Any, **__: Any) -> None:
        """Do nothing, because all work has already run."""

    def always(value: Any) -> Callable:
        return lambda *_, **__: value

    return {
        **dict.fromkeys(
            ("Init", "CtxDestroy", "CtxSetCurrent", "CtxPushCurrent", "CtxSynchronize",
             "DevicePrimaryCtxRelease", "DevicePrimaryCtxReset", "StreamDestroy",
             "StreamSynchronize", "StreamQuery", "EventSynchronize", "EventQuery", "GraphUpload",
             "SetDevice", "DeviceSynchronize", "DeviceReset", "ProfilerStart",
             "ProfilerStop", "FuncSetAttribute", "GetLastError", "PeekAtLastError"), nothing),
        **dict.fromkeys(("DriverGetVersion", "RuntimeGetVersion"), always(device.CUDA_VERSION)),
        "DeviceGetCount": always(1), "GetDeviceCount": always(1), "GetDevice": always(0),
        "DeviceGet": lambda index: _device(module, index),
        "CtxGetDevice": lambda *_: _device(module, 0),
        "DeviceGetName": lambda size, which: device.name().encode()[:size],
        "DeviceComputeCapability": lambda which: device.capability(),
        "DeviceGetPCIBusId": lambda size, which: b"0000:00:00.0"[:size],
        "DeviceGetUuid": lambda which: module.CUuuid(),
        "DeviceTotalMem": lambda which: device.memory_bytes()[1],
        "DeviceGetAttribute": lambda which, index=0: _attribute(which),
        "GetDeviceProperties": lambda index=0: _properties(),
        "MemGetInfo": lambda *_: device.memory_bytes(),
        **dict.fromkeys(("CtxCreate", "CtxGetCurrent", "DevicePrimaryCtxRetain", "CtxPopCurrent"),
                        lambda *_: module.CUcontext(1)),
        **dict.fromkeys(("GetErrorName", "GetErrorString"),
                        lambda error: str(getattr(error, "name", error)).encode()),
        "OccupancyAvailableDynamicSMemPerBlock":
            lambda *_: limits.max_shared_bytes(device.arch()),
        "OccupancyMaxActiveBlocksPerMultiprocessor": always(1),
        # The result assumes that each block occupies a whole multiprocessor.
        "OccupancyMaxActiveClusters":
            lambda function, config: int(limits.MULTIPROCESSORS // config.gridDimX),
        **_streams(module, prefix), **_memory(module, prefix),
    }  # fmt: skip


def _device(module: Any, index: int) -> Any:
    if index:
        raise usage_error(
            "device", index, "0, because there is only one virtual GPU", "use device 0"
        )
    return module.CUdevice(index)


def _attribute(which: Any) -> int:
    name = which.name.removeprefix("CU_DEVICE_ATTRIBUTE_").removeprefix("cudaDevAttr")
    return device.attribute(name.replace("_", "").upper())


def _properties() -> Any:
    p = device.properties()
    p.totalGlobalMem, p.multiProcessorCount, p.l2CacheSize = (
        p.total_memory, p.multi_processor_count, p.L2_cache_size)  # fmt: skip
    p.sharedMemPerBlockOptin, p.warpSize = p.shared_memory_per_block_optin, 32
    p.maxThreadsPerMultiProcessor, p.name = p.max_threads_per_multi_processor, p.name.encode()
    return p


# -- streams, events, graphs ----------------------------------------------------------------------
def _streams(module: Any, prefix: str) -> dict[str, Callable]:
    names = ("CUstream", "CUevent", "CUgraph", "CUgraphExec", "CUstreamCaptureStatus")
    if prefix == "cuda":
        names = ("cudaStream_t", "cudaEvent_t", "cudaGraph_t", "cudaGraphExec_t",
                 "cudaStreamCaptureStatus")  # fmt: skip
    stream, event, graph, executable, statuses = (getattr(module, name) for name in names)
    idle, active = list(statuses)[:2]

    def keep(kind: Any, value: Any) -> Any:
        handle = graphs.new_handle()
        _objects[handle] = value
        return kind(handle)

    def of(handle: Any) -> Any:
        return _objects[int(handle)]

    def forget(handle: Any) -> None:
        _objects.pop(int(handle), None)

    return {
        **dict.fromkeys(("StreamCreate", "StreamCreateWithFlags", "StreamCreateWithPriority"),
                        lambda *_: stream(graphs.new_handle())),
        "StreamWaitEvent": lambda stream, which, *_: of(which).let_wait(int(stream)),
        "StreamBeginCapture": lambda stream, *_: graphs.begin_capture(int(stream)),
        "StreamEndCapture": lambda *_: keep(graph, graphs.end_capture()),
        "StreamIsCapturing": lambda stream: active if graphs.is_capturing(int(stream)) else idle,
        **dict.fromkeys(("EventCreate", "EventCreateWithFlags"),
                        lambda *_: keep(event, graphs.Event())),
        **dict.fromkeys(("EventRecord", "EventRecordWithFlags"),
                        lambda which, stream=0, *_: of(which).record(int(stream))),
        "EventElapsedTime": lambda start, end: of(start).elapsed_ms(of(end)),
        "GraphGetNodes": lambda which, count=0: (list(range(count)), len(of(which).nodes)),
        **dict.fromkeys(("GraphInstantiate", "GraphInstantiateWithFlags"),
                        lambda which, *_: keep(executable, of(which))),
        "GraphLaunch": lambda which, stream=0: of(which).replay(),
        **dict.fromkeys(("EventDestroy", "GraphDestroy", "GraphExecDestroy"), forget),
    }  # fmt: skip


# -- memory ---------------------------------------------------------------------------------------
def _memory(module: Any, prefix: str) -> dict[str, Callable]:
    pointer = int if prefix == "cuda" else module.CUdeviceptr

    def copying(to_device: bool, from_device: bool) -> Callable:
        def copy(to: Any, source: Any, size: int, stream: Any = 0, *_: Any) -> None:
            ends = (int(to), to_device), (int(source), from_device)
            graphs.submit(int(stream), lambda: _copy(*ends, size))

        return copy

    def by_kind(to: Any, source: Any, size: int, kind: Any, stream: Any = 0) -> None:
        name = kind.name  # such as cudaMemcpyHostToDevice
        copying("ToDevice" in name, "yDevice" in name)(to, source, size, stream)

    def setting(item_bytes: int) -> Callable:
        def fill(to: Any, value: int, count: int, stream: Any = 0) -> None:
            graphs.submit(int(stream), lambda: _fill(int(to), value, item_bytes, count))

        return fill

    copies = {"HtoD": (True, False), "DtoH": (False, True), "DtoD": (True, True)}
    calls: dict[str, Callable] = {f"Memcpy{n}": copying(*sides) for n, sides in copies.items()}
    calls |= {f"MemsetD{8 * n}": setting(n) for n in (1, 2, 4)}
    if prefix == "cuda":
        calls = {"Memcpy": by_kind, "Memset": setting(1)}
    calls |= {f"{name}Async": call for name, call in calls.items()}
    return {
        **calls,
        **dict.fromkeys(("MemAlloc", "MemAllocAsync", "MemAllocManaged", "Malloc", "MallocAsync",
                         "MallocManaged"), lambda size, *_: pointer(_allocate(size))),
        **dict.fromkeys(("MemAllocHost", "MemHostAlloc", "MallocHost", "HostAlloc"),
                        lambda size, *_: _allocate(size)),
        **dict.fromkeys(("MemFree", "MemFreeAsync", "MemFreeHost", "Free", "FreeAsync",
                         "FreeHost"), lambda address, *_: _free(int(address))),
    }  # fmt: skip


def _allocate(size_bytes: int) -> int:
    """Allocate memory, set all its bits, as in other unwritten memory, and return its address."""
    memory = marks.room(int(size_bytes))
    memory[:] = 0xFF
    _allocated[memory.ctypes.data] = memory
    return int(memory.ctypes.data)


def allocation_at(address: int) -> tuple[int, int, object] | None:
    """Return (start, bytes, owner) of the allocation that contains an address, or None."""
    for start, memory in _allocated.items():
        if start <= address < start + memory.nbytes:
            return start, memory.nbytes, memory
    return None


def _free(address: int) -> None:
    """Free an allocation. Raise UsageError if no allocation begins at the address, or if it has
    already been freed."""
    if address and _allocated.pop(address, None) is None:
        needed = "an allocated pointer that has not been freed"
        raise usage_error("free", f"{address:#x}", needed, "free each pointer once")


def _copy(to: tuple[int, bool], source: tuple[int, bool], size_bytes: int) -> None:
    """Copy bytes. to, source: pairs (address, True if it is a device pointer).

    Raises:
        UsageError: the memory at a device pointer is too small.
    """
    for address, on_device in (to, source):
        if on_device:
            _check_holds(address, size_bytes, "memcpy")
    ctypes.memmove(to[0], source[0], size_bytes)


def _fill(address: int, value: int, item_bytes: int, count: int) -> None:
    """Write `count` items of the same value. Raise UsageError if the memory is too small."""
    _check_holds(address, item_bytes * count, "memset")
    item = (value % (1 << 8 * item_bytes)).to_bytes(item_bytes, "little")
    memory = (ctypes.c_uint8 * (item_bytes * count)).from_address(address)
    np.ctypeslib.as_array(memory).reshape(count, item_bytes)[:] = np.frombuffer(item, np.uint8)


def _check_holds(address: int, size_bytes: int, what: str) -> None:
    found = arguments.storage_at(address) if size_bytes else (address, 0, None)
    if found is None or address + size_bytes > found[0] + found[1]:
        got = f"{size_bytes:,} bytes at {address:#x}, where "
        got += "no memory is allocated" if found is None else (
            f"{found[0] + found[1] - address:,} bytes remain")  # fmt: skip
        raise usage_error(what, got, "an allocation of that size", "check the pointer and the size")
