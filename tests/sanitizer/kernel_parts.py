"""What the kernels of the bank have in common: shared memory, flags in memory, small arguments."""

import inspect
import linecache
from collections.abc import Callable
from typing import Any

import cutlass
import torch
from cutlass import Float32, Int32, cute

import forgekit as fk


def smem(shape: Any, dtype: Any = Float32, stride: Any = None) -> Any:
    """A tensor in shared memory, aligned to 128 bytes; shape: or a swizzled layout."""
    if isinstance(shape, cute.ComposedLayout):
        layout = shape
    else:
        layout = cute.make_layout(shape, stride=stride) if stride else cute.make_layout(shape)
    return cutlass.memory.SmemAllocator().allocate_tensor(dtype, layout, 128)


_HOST = """\
@cute.jit
def {name}({tensors}, bug: cutlass.Constexpr = None):
    kernel({arguments}).launch(grid=size(grid, {names}), block=size(block, {names}), **more)
"""


def launched(block: Any, grid: Any = 1, **more: Any) -> Callable[[Any], Any]:
    """Makes of a kernel the host function that launches it, with its name, its tensors and `bug`.

    block, grid: threads and blocks, a number or (x, y, z), or a function of the tensors that says
    so; more: of `launch`, such as cluster. The kernel is the host's attribute `kernel`.
    """

    def make(kernel: Any) -> Any:
        plain = inspect.unwrap(kernel)
        parameters = list(inspect.signature(plain).parameters)
        names = [name for name in parameters if name != "bug"]
        text = _HOST.format(
            name=plain.__name__, tensors=", ".join(f"{name}: cute.Tensor" for name in names),
            arguments=", ".join(parameters), names=", ".join(names),
        )  # fmt: skip
        file = f"<host of {plain.__module__}.{plain.__name__}>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file  # its source
        known = {"cutlass": cutlass, "cute": cute, "kernel": kernel, "size": _size, "grid": grid,
                 "block": block, "more": more, "__name__": plain.__module__}  # fmt: skip
        exec(compile(text, file, "exec"), known)
        host = known[plain.__name__]
        host.kernel, host.__doc__ = kernel, plain.__doc__
        return host

    return make


def _size(value: Any, *tensors: Any) -> tuple[Any, Any, Any]:
    found = value(*tensors) if callable(value) else value
    return found if isinstance(found, tuple) else (found, 1, 1)


def acquire(flag: Any) -> Any:
    """A flag in global memory, and with it all that was written before it was set."""
    return cute.arch.load(flag, Int32, sem="acquire", scope="gpu")


def release(flag: Any, value: Any) -> None:
    """Set a flag in global memory, after all that was written before."""
    cute.arch.store(flag, Int32(value), sem="release", scope="gpu")


@cute.jit
def wait_for(flag: cute.Pointer, value: Int32):
    """Spin until a flag has reached the value."""
    seen = acquire(flag)
    while seen < value:
        seen = acquire(flag)


@cute.jit
def cluster_sync():
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


def pair(n: int) -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    """Makes n random numbers, and room for as many results."""
    return lambda: (fk.randn(n), fk.empty(n))


def integers(*shape: int) -> torch.Tensor:
    """Small ones, whose sums are exact in every order."""
    return fk.randint(0, 9, *shape)


def zeros(*shape: int) -> torch.Tensor:
    return fk.zeros(*shape, dtype=torch.int32)


def empty(*shape: int) -> torch.Tensor:
    return fk.empty(*shape, dtype=torch.int32)
