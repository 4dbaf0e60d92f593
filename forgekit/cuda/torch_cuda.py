"""Implement `torch.cuda` on the virtual GPU: a single device, whose streams run all work
immediately and in order."""

from __future__ import annotations

import collections
import contextlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
import torch._subclasses.fake_tensor
import torch.utils._device

from forgekit.cuda import device, graphs
from forgekit.cuda.marks import CPU, CUDA, is_cuda
from forgekit.cuda.patches import Patches
from forgekit.cuda.tensors import made_by_a_script, made_from_data


class _Done:
    """Base class for streams and events; their work is always complete."""

    def synchronize(self) -> None:
        """Return immediately, because there is no work to wait for."""

    def query(self) -> bool:
        return True


class Event(_Done):
    """`torch.cuda.Event`. `elapsed_time` uses this machine's clock."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, **_: Any) -> None:
        self.event, self.cuda_event = graphs.Event(), graphs.new_handle()

    def record(self, stream: Stream | None = None) -> None:
        self.event.record((stream or current_stream()).cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        self.event.let_wait((stream or current_stream()).cuda_stream)

    def elapsed_time(self, end_event: Event) -> float:
        return self.event.elapsed_ms(end_event.event)


class Stream(_Done):
    """`torch.cuda.Stream`, represented by a number."""

    def __init__(
        self, device: Any = None, priority: int = 0, *, stream_ptr: int | None = None, **_: Any
    ) -> None:
        self.cuda_stream = graphs.new_handle() if stream_ptr is None else int(stream_ptr)
        self.device, self.device_index, self.priority = CUDA, 0, priority

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def is_capturing(self) -> bool:
        return graphs.is_capturing(self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self._before = graphs.set_current_stream(self.cuda_stream)
        return self

    def __exit__(self, *_: object) -> None:
        graphs.set_current_stream(self._before)


def current_stream(device: Any = None) -> Stream:
    return Stream(stream_ptr=graphs.current_stream())


def _stream(stream: Stream | None) -> Any:
    return contextlib.nullcontext() if stream is None else stream


class CUDAGraph:
    """`torch.cuda.CUDAGraph`: captured work that can be replayed."""

    def __init__(self, keep_graph: bool = False) -> None:
        self.graph = graphs.Graph()

    def capture_begin(self, *_: Any, **__: Any) -> None:
        graphs.begin_capture(graphs.current_stream())

    def capture_end(self) -> None:
        self.graph = graphs.end_capture()

    def replay(self) -> None:
        self.graph.replay()

    def reset(self) -> None:
        self.graph = graphs.Graph()

    def pool(self) -> tuple[int, int]:
        return 0, 0

    def instantiate(self) -> None:
        """Do nothing, because a captured graph can be replayed immediately."""


@contextlib.contextmanager
def graph(
    cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None, **_: Any
) -> Iterator[None]:
    """Capture the work within the block, like `torch.cuda.graph`."""
    with stream or Stream():
        cuda_graph.capture_begin()
        try:
            yield
        finally:
            cuda_graph.capture_end()


class Generator(torch._C.Generator):
    """`torch.Generator`. On "cuda", it draws the CPU's random numbers."""

    device = CPU

    def __new__(cls, device: Any = "cpu") -> Any:
        cuda = is_cuda(device)
        made = super().__new__(cls, CPU if cuda else device)  # type: ignore[call-arg]
        made.device = CUDA if cuda else torch.device(device)
        return made


class Device:
    """`torch.cuda.device` and `device_of`, for a single device."""

    def __init__(self, which: Any) -> None:
        is_cuda(which.device if isinstance(which, torch.Tensor) else which)

    def __enter__(self) -> None:
        """Do nothing, because there is only one device."""

    def __exit__(self, *_: object) -> None:
        """Do nothing, because there is only one device."""


def _properties(which: Any = None) -> SimpleNamespace:
    """Return the device's properties. Raise torch's error for any GPU other than the first."""
    is_cuda(which)
    return device.properties()


def _is_available() -> bool:
    """Return True, or False if the caller is a forgekit module, which needs a real GPU."""
    return not str(sys._getframe(1).f_globals.get("__name__")).startswith("forgekit.")


def _set_stream(stream: Stream | None) -> None:
    if stream is not None:
        graphs.set_current_stream(stream.cuda_stream)


def _answers(**values: Any) -> dict[str, Any]:
    """Return functions with these constant results. Each is a separate function, because torch's
    compiler inspects them."""

    def always(value: Any) -> Any:
        return lambda *_, **__: value

    return {name: always(value) for name, value in values.items()}


# These functions do nothing, because all work has already run, and there is a single memory.
_DONE_ALREADY = (
    "init", "_lazy_init", "synchronize", "empty_cache", "ipc_collect", "_sleep",
    "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_accumulated_memory_stats",
    "set_per_process_memory_fraction",
)  # fmt: skip


_MADE_FROM_DATA = ("tensor", "as_tensor", "asarray")
_MADE_BY_A_SCRIPT = (
    "empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "arange", "linspace",
    "eye", "from_numpy",
)  # fmt: skip


def patch_torch(patches: Patches) -> None:
    """Replace torch.cuda's functions with the virtual GPU's."""
    default = torch.default_generator
    patches.put_all(torch.cuda, _answers(**dict.fromkeys(_DONE_ALREADY)))
    patches.put_all(torch.cuda, _answers(
        is_initialized=True, device_count=1, current_device=0,
        is_bf16_supported=True, can_device_access_peer=False, graph_pool_handle=(0, 0),
        memory_allocated=0, max_memory_allocated=0, memory_reserved=0, max_memory_reserved=0,
    ))  # fmt: skip
    patches.put_all(torch.cuda, {
        "is_available": _is_available,
        "Stream": Stream, "Event": Event, "CUDAGraph": CUDAGraph, "graph": graph, "stream": _stream,
        "StreamContext": _stream, "set_stream": _set_stream, "current_stream": current_stream,
        "default_stream": lambda device=None: Stream(stream_ptr=graphs.LEGACY_STREAM),
        "is_current_stream_capturing": lambda: current_stream().is_capturing(),
        "device": Device, "device_of": Device, "set_device": is_cuda,
        "get_device_name": lambda which=None: device.name(),
        "get_device_capability": lambda which=None: device.capability(),
        "get_device_properties": _properties,
        "get_arch_list": lambda: [device.arch().rstrip("af")],
        "mem_get_info": lambda which=None: device.memory_bytes(),
        "manual_seed": lambda seed: default.manual_seed(seed) and None,
        "manual_seed_all": lambda seed: default.manual_seed(seed) and None,
        "seed": lambda: default.seed() and None, "seed_all": lambda: default.seed() and None,
        "initial_seed": lambda: default.initial_seed(),
        "get_rng_state": lambda which=None: torch.get_rng_state(),
        "set_rng_state": lambda state, which=None: torch.set_rng_state(state),
        "cudart": lambda: SimpleNamespace(
            **_answers(cudaProfilerStart=None, cudaProfilerStop=None)),
    })  # fmt: skip
    patches.put(torch.cuda, "memory_stats", lambda device=None: collections.Counter())
    patches.put(torch.cuda, "memory_summary", lambda *_, **__: (
        '"cuda" has no allocator: its tensors are stored in this machine\'s memory.'))  # fmt: skip
    patches.put(torch.cuda.nvtx, "_nvtx", SimpleNamespace(**_answers(
        rangePushA=0, rangePop=0, rangeStartA=0, rangeEnd=None, markA=None)))  # fmt: skip
    torch.utils._device._device_constructors()  # fills a cache before functions are replaced
    for name in _MADE_FROM_DATA:
        patches.put(torch, name, made_by_a_script(made_from_data(getattr(torch, name))))
    for name in _MADE_BY_A_SCRIPT:
        patches.put(torch, name, made_by_a_script(getattr(torch, name)))
    # Before torch 2.13, a fake tensor starts a context on the real GPU.
    patches.put(torch._subclasses.fake_tensor, "init_gpu_context", lambda device: None)
    patches.put(torch, "Generator", Generator)
    _patch_autocast(patches)
    patches.put(torch.backends.cuda, "is_built", lambda: True)
    patches.put(torch.version, "cuda", f"{device.CUDA_VERSION // 1000}.0")
    profile = torch.autograd.profiler.profile.__init__
    patches.put(torch.autograd.profiler.profile, "__init__", lambda self, *args, **kwargs: profile(
        self, *args, **kwargs | {"use_device": None}))  # fmt: skip
    # Compiled code would need a GPU; the original function returns the same values.
    patches.put(torch, "compile", lambda model=None, **_: model or (lambda model: model))
    patches.put(torch.nn.Module, "compile", lambda self, *_, **__: None)
    patches.put(torch.compiler, "reset", lambda: None)
    # With one device, `nn.DataParallel` moves CPU tensors to that device and gradients back.
    patches.put_all(torch._C, {
        "_scatter": lambda tensor, *_: (tensor.to(CUDA),),
        "_gather": lambda parts, dim, where: parts[0].cpu() if where == -1 else parts[0],
    })  # fmt: skip


def _patch_autocast(patches: Patches) -> None:
    """Make `torch.autocast("cuda")` enable the CPU's autocast as well, with the same dtype."""
    kind = torch.autocast
    enter, leave = kind.__enter__, kind.__exit__

    def enter_both(self: Any) -> Any:
        if self.device == "cuda":
            self.on_cpu = kind("cpu", self.fast_dtype, self._enabled, self._cache_enabled)
            enter(self.on_cpu)
        return enter(self)

    def leave_both(self: Any, *why: Any) -> Any:
        if self.device == "cuda":
            leave(self.on_cpu, *why)
        return leave(self, *why)

    patches.put_all(kind, {"__enter__": enter_both, "__exit__": leave_both})
