"""Provide the CUDA runtime that the DSL's compiled host code calls: kernel handles and recorded
launches.

The host code is linked against callbacks. A callback that loads a library returns kernel handles. A
launch callback records the grid, the block, the shared memory and the parameter bytes. After the
host function has returned, the recorded launches run in order, as in a stream.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forgekit.vgpu import plugins, program
from forgekit.vgpu.errors import UsageError
from forgekit.vgpu.host import launching, limits, machine_code
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.memory import GlobalMemory, tensor_maps
from forgekit.vgpu.memory.swizzles import SPANS

_Pointer = ctypes.c_void_p
_I32, _U64 = ctypes.c_int32, ctypes.c_uint64

# cudaLaunchConfig_t: grid and block (3 × u32 each), dynamic shared bytes, stream, attributes,
# number of attributes.
_ATTRIBUTE_BYTES, _CLUSTER_ATTRIBUTE, _COOPERATIVE_ATTRIBUTE = 72, 4, 2
_MAX_SHARED_OPTIN_ATTRIBUTE = 97


@dataclass(frozen=True)
class Launch:
    """A recorded launch."""

    stream: int
    run: Callable[[GlobalMemory], None]


def submit(launches: Sequence[Launch], memory: GlobalMemory) -> bool:
    """Run the launches in order, except those that a graph capture records.

    Return True if a launch ran, or if there are no launches.
    """
    ran = False
    for launch in launches:
        if not plugins.active.keep(launch.stream, functools.partial(launch.run, memory)):
            launch.run(memory)
            ran = True
    return ran or not launches


class _Recorded(threading.local):
    """The launches that a thread has recorded from the current host function."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []


_recorded = _Recorded()


def take_launches() -> list[Launch]:
    """Return the launches recorded in this thread since the last call, in order."""
    launches, _recorded.launches = _recorded.launches, []
    return launches


class Runtime:
    """The CUDA runtime for one compiled host module."""

    def __init__(self, ptx_text: str, arch: str, registers: Mapping[str, int]) -> None:
        self.ptx_text = ptx_text
        self.arch = arch
        self.registers = registers  # kernel -> registers per thread
        self.kernels: list[str] = []
        self.callbacks = {
            name: ctypes.CFUNCTYPE(_I32, *types)(function)
            for name, types, function in (
                ("_cudaLaunchKernelEx", (_Pointer, _Pointer, _Pointer), self.launch_ex),
                ("_cudaLaunchKernel", (_Pointer, *[_I32] * 6, _Pointer, _U64, _Pointer),
                 self.launch),
                ("_cudaLibraryLoadData", (_Pointer,) * 4 + (_I32, _Pointer, _Pointer, _I32),
                 lambda out, *_: self.put(out, 1, _U64)),
                ("_cudaLibraryGetKernel", (_Pointer, _Pointer, _Pointer), self.get_kernel),
                ("_cuKernelGetAttribute", (_Pointer, _I32, _Pointer, _I32),
                 lambda out, *_: self.put(out, 0)),
                ("_cudaDeviceGetAttribute", (_Pointer, _I32, _I32), self.device_attribute),
                ("_cudaGetDevice", (_Pointer,), lambda out: self.put(out, 0)),
                ("_cudaKernelSetAttributeForDevice", (_Pointer, _I32, _I32, _I32), lambda *_: 0),
                ("_cudaFuncSetAttribute", (_Pointer, _I32, _I32), lambda *_: 0),
                ("_cuTensorMapEncodeTiled", (_Pointer, _I32, _I32, *[_Pointer] * 5, *[_I32] * 4),
                 encode_tensor_map),
                ("cuda_dialect_assert_success", (_I32,), lambda _: 0),
                ("_cudaOccupancyMaxActiveBlocksPerMultiprocessor", (_Pointer, _Pointer, _I32, _U64),
                 lambda out, *_: self.put(out, 1)),
            )
        }  # fmt: skip

    @staticmethod
    def put(out: int | None, value: int, kind: Any = _I32) -> int:
        if out:
            kind.from_address(out).value = value
        return 0

    def device_attribute(self, out: int, attribute: int, device: int) -> int:
        limit = limits.max_shared_bytes(self.arch)
        return self.put(out, limit if attribute == _MAX_SHARED_OPTIN_ATTRIBUTE else 1)

    def get_kernel(self, out: int, library: int, name: int) -> int:
        self.kernels.append(ctypes.string_at(name).decode())
        return self.put(out, len(self.kernels), _U64)

    def launch(self, kernel: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int,
               params: int, shared: int, stream: int) -> int:  # fmt: skip
        return self.record(kernel, (gx, gy, gz), (bx, by, bz), shared, params, stream=stream or 0)

    def launch_ex(self, config: int, kernel: int, params: int) -> int:
        dims = (_I32 * 6).from_address(config)  # signed, so that errors report a grid of -1 as -1
        shared, stream = (_U64 * 2).from_address(config + 24)
        attributes = _U64.from_address(config + 40).value
        count = ctypes.c_uint32.from_address(config + 48).value
        cluster, cooperative = (1, 1, 1), False
        for i in range(count):
            at = attributes + i * _ATTRIBUTE_BYTES
            kind = ctypes.c_uint32.from_address(at).value
            if kind == _CLUSTER_ATTRIBUTE:
                x, y, z = (ctypes.c_uint32 * 3).from_address(at + 8)
                cluster = (x, y, z)
            elif kind == _COOPERATIVE_ATTRIBUTE:
                cooperative = bool(_I32.from_address(at + 8).value)
        grid, block = tuple(dims[:3]), tuple(dims[3:])
        return self.record(kernel, grid, block, shared, params, cluster, cooperative, stream)

    def record(self, kernel: int, grid: tuple, block: tuple, shared: int, params: int,
               cluster: tuple = (1, 1, 1), cooperative: bool = False,
               stream: int = 0) -> int:  # fmt: skip
        """Record a launch with a copy of its parameters; return an error code, which ends the host
        function. Other errors are raised when the launch runs."""
        if len(_recorded.launches) >= limits.MAX_LAUNCHES:
            _recorded.launches.append(_recorded.launches[-1])  # never runs; `check_count` counts it
            return 1  # CUDA_ERROR_INVALID_VALUE
        name = self.kernels[kernel - 1]
        try:
            ready = program.load(self.ptx_text)[name]
        except Exception as error:  # a callback must not raise an exception
            _recorded.launches.append(Launch(stream, functools.partial(_raise, error)))
            return 0
        packed, slots = _pack_params(ready, params)

        def run(memory: GlobalMemory) -> None:
            translated = launching.translate_pointers(packed, memory, slots)
            record = LaunchRecord(name, grid, block, shared, translated, cluster, cooperative,
                                  registers=self.registers.get(name))  # fmt: skip
            launching.launch(ready, record, memory)

        _recorded.launches.append(Launch(stream, run))
        return 0


# CUtensorMapDataType, CUtensorMapSwizzle
_MAP_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16")


def encode_tensor_map(out: int, dtype: int, rank: int, address: int | None, sizes: int,
                      strides: int, box: int, steps: int, interleave: int, swizzle: int,
                      promotion: int, fill: int) -> int:  # fmt: skip
    """Implement `cuTensorMapEncodeTiled`. Errors are raised after the host function has
    returned."""

    def numbers(at: int, kind: Any, count: int) -> list[int]:
        return list((kind * count).from_address(at)) if count else []

    try:
        if not 1 <= rank <= 5:
            raise ValueError(f"{rank} modes (needed 1 to 5)")
        if not 0 <= dtype < len(_MAP_TYPES) or interleave or not 0 <= swizzle < len(SPANS):
            raise ValueError(
                f"data type {dtype} (needed 0 to 9: no tf32, no ftz, no 4 or 6 bits), "
                f"interleave {interleave} (needed 0), swizzle {swizzle} (needed 0 to 3)"
            )
        raw = tensor_maps.encode(
            _MAP_TYPES[dtype], address or 0, numbers(sizes, _U64, rank),
            numbers(strides, _U64, rank - 1), numbers(box, ctypes.c_uint32, rank),
            numbers(steps, ctypes.c_uint32, rank), SPANS[swizzle], bool(fill),
        )  # fmt: skip
    except ValueError as error:
        text = f"cuTensorMapEncodeTiled: got {error}."
        _recorded.launches.append(Launch(0, functools.partial(_raise, UsageError(text))))
        return 1  # CUDA_ERROR_INVALID_VALUE
    ctypes.memmove(out, raw, len(raw))
    return 0


def _pack_params(ready: program.Program, params: int) -> tuple[bytes, list[int]]:
    """Return the kernel's parameter bytes, and the offsets that may contain a pointer."""
    packed = bytearray(ready.param_bytes)
    pointers = (_Pointer * len(ready.kernel.params)).from_address(params) if params else ()
    for variable, pointer in zip(ready.kernel.params, pointers, strict=True):
        start, size = ready.param_offsets[variable.name], variable.size_bytes
        packed[start : start + size] = ctypes.string_at(pointer, size)
    return bytes(packed), ready.pointer_slots


def _raise(error: Exception, memory: GlobalMemory) -> None:
    raise error


# -- engines --------------------------------------------------------------------------------------
@functools.cache
def _engine_class() -> Any:
    from cutlass._mlir import execution_engine

    class VirtualEngine(execution_engine.ExecutionEngine):
        """An engine whose CUDA runtime is a `Runtime`."""

        runtime: Runtime

    return VirtualEngine


def is_virtual(engine: object) -> bool:
    """Return True if a compiled function's engine launches on the virtual GPU."""
    return isinstance(engine, _engine_class())


def make_engine(module: Any, text: str, arch: str) -> Any:
    """Return an engine for a compiled module with the kernels in the PTX `text`.

    The host code is not optimised. This saves a fifth of the compile time, and calls are equally
    fast.
    """
    declared = {
        str(op.attributes["sym_name"]).strip('"'): op
        for op in module.body.operations
        if "sym_name" in op.attributes
    }
    constants = [op.attributes["value"] for op in declared.values() if "value" in op.attributes]
    machine = b"".join(getattr(value, "value_bytes", b"") for value in constants)
    runtime = Runtime(text, arch, machine_code.registers(machine))
    if "cuda_load" in declared:  # unused, and the slowest function to link
        declared.pop("cuda_load").erase()
    engine = _engine_class()(module, opt_level=0, shared_libs=())
    for name in sorted(n for n in declared if n.startswith(("_cu", "cuda_dialect_"))):
        callback = runtime.callbacks.get(name) or _refuse(name, runtime)
        engine.raw_register_runtime(name, ctypes.cast(callback, _Pointer))
    engine.runtime = runtime
    return engine


def _refuse(name: str, runtime: Runtime) -> Any:
    """Return a callback that reports the call of a runtime function that the virtual GPU lacks."""

    def called() -> int:
        error = UsageError(
            f"The host code calls {name.lstrip('_')}, which the virtual GPU does not support yet. "
            "Run this function on a GPU."
        )
        _recorded.launches.append(Launch(0, functools.partial(_raise, error)))
        return 0

    callback = ctypes.CFUNCTYPE(_I32)(called)
    runtime.callbacks[name] = callback
    return callback
