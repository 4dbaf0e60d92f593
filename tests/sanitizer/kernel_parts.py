"""Define common parts of the bank's kernels: shared memory, flags in memory, small arguments."""

from collections.abc import Callable
from typing import Any

import cutlass
import torch
from cutlass import Float32, Int32, cute

import forgekit as fk


def smem(shape: Any, dtype: Any = Float32, stride: Any = None) -> Any:
    """Allocate a tensor in shared memory, aligned to 128 bytes; shape: a shape or a swizzled
    layout."""
    if isinstance(shape, cute.ComposedLayout):
        layout = shape
    else:
        layout = cute.make_layout(shape, stride=stride) if stride else cute.make_layout(shape)
    return cutlass.memory.SmemAllocator().allocate_tensor(dtype, layout, 128)


def indices() -> tuple[Any, Any]:
    """Return the thread's x in its block, and the block's x in the grid."""
    return cute.arch.thread_idx()[0], cute.arch.block_idx()[0]


def sync_if(
    wanted: bool, sync: Callable[..., Any] = cute.arch.sync_threads, *args: Any, **options: Any
) -> None:
    """Execute the block's barrier, or another operation that orders accesses, unless the mutant
    omits it."""
    if wanted:
        sync(*args, **options)


def acquire(flag: Any) -> Any:
    """Load a flag from global memory before all later accesses."""
    return cute.arch.load(flag, Int32, sem="acquire", scope="gpu")


def release(flag: Any, value: Any) -> None:
    """Set a flag in global memory after all earlier writes."""
    cute.arch.store(flag, Int32(value), sem="release", scope="gpu")


@cute.jit
def wait_for(flag: cute.Pointer, value: Int32):
    """Spin until a flag reaches the value."""
    seen = acquire(flag)
    while seen < value:
        seen = acquire(flag)


@cute.jit
def cluster_sync():
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


def by_rows(mX: Any, *_: Any) -> Any:
    """Return a grid with one block per row of the first tensor."""
    return mX.shape[0]


def by_parts(size: int) -> Callable[..., Any]:
    """Return a function for a grid with one block per `size` elements of the first tensor."""
    return lambda mX, *_: cute.ceil_div(mX.shape[0], size)


def by_tiles(side: int) -> Callable[..., tuple[Any, Any, int]]:
    """Return a function for a grid with one block per square tile of the first tensor, a matrix."""
    return lambda mX, *_: (cute.ceil_div(mX.shape[1], side), cute.ceil_div(mX.shape[0], side), 1)


@cute.jit
def init_mbarriers(*pairs: tuple, stages: cutlass.Constexpr = 1):
    """Initialise mbarriers in thread 0, `stages` consecutive ones per (pointer, arrivals); then all
    threads meet at a barrier."""
    if cute.arch.thread_idx()[0] == 0:
        for s in cutlass.range_constexpr(stages):
            for bar, arrivals in pairs:
                cute.arch.mbarrier_init(bar + s, arrivals)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()


def pair(*shape: int, **options: Any) -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    """Return a function that makes a random tensor and an unwritten one of the same shape."""
    return lambda: (fk.randn(*shape, **options), fk.empty(*shape, **options))


def integers(*shape: int) -> torch.Tensor:
    """Return small integers, whose sums are exact in every order."""
    return fk.randint(0, 9, *shape)


def zeros(*shape: int) -> torch.Tensor:
    return fk.zeros(*shape, dtype=torch.int32)


def empty(*shape: int) -> torch.Tensor:
    return fk.empty(*shape, dtype=torch.int32)
