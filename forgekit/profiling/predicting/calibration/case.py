"""Define a calibration kernel: its host function, its options, and arguments of three sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from forgekit.compiling.specs import spec

ALIGN = 16  # the alignment of all tensors in bytes
DIVISOR = 128  # the declared divisor of the modes' sizes


@dataclass(frozen=True)
class Case:
    """A calibration kernel.

    name: a unique name. kind: the category, such as "copy". run: the host function. make(size):
    returns the tensors, on torch's default device. options: values of the Constexpr parameters.
    sizes: three sizes, in ascending order.
    """

    name: str
    kind: str
    run: Any
    make: Callable[[int], tuple[torch.Tensor, ...]]
    options: tuple[Any, ...] = ()
    sizes: tuple[int, ...] = field(default=(2**18, 2**22, 2**25))

    def compile(self, compiler: Callable[..., Any], **where: Any) -> Any:
        """Compile the kernel once for all of its sizes. where: the arguments `device` and `arch` of
        `forgekit.compile`.
        """
        specs = [_spec(x) for x in self.make(self.sizes[0])]
        return compiler(self.run, *specs, *self.options, **where)


def _spec(x: torch.Tensor) -> Any:
    whole = {k: DIVISOR for k, size in enumerate(x.shape) if size % DIVISOR == 0}
    return spec(x, align=ALIGN, divisible=whole)


def pair(dtype: torch.dtype = torch.float32) -> Callable[[int], tuple[torch.Tensor, ...]]:
    """Return a function of n that makes x and y, each with n elements."""
    return lambda n: (_ones(n, dtype), torch.empty(n, dtype=dtype))


def spread(stride: int, *, reads: bool) -> Callable[[int], tuple[torch.Tensor, ...]]:
    """Return a function of n that makes x and y. The tensor that the kernel accesses with a stride
    (x if `reads`, otherwise y) is `stride` times as long as the other tensor.
    """

    def make(n: int) -> tuple[torch.Tensor, ...]:
        few, many = n // stride, n
        return (_ones(many if reads else few), torch.empty(few if reads else many))

    return make


def rows(columns: int, out: int = 0) -> Callable[[int], tuple[torch.Tensor, ...]]:
    """Return a function of n that makes x of shape (n / columns, columns), and y, of the same shape
    if `out` is set, otherwise with one element per row.
    """

    def make(n: int) -> tuple[torch.Tensor, ...]:
        m = max(n // columns, 1)
        return _ones(m * columns).view(m, columns), torch.empty(m, columns) if out else (
            torch.empty(m)
        )

    return make


def square(n: int) -> tuple[torch.Tensor, ...]:
    """Return x and y, both of shape (m, m) with about n elements."""
    m = max(round(n**0.5) // DIVISOR * DIVISOR, DIVISOR)
    return _ones(m * m).view(m, m), torch.empty(m, m)


def permuted(n: int) -> torch.Tensor:
    """Return a fixed, patternless permutation of the integers below n, a power of two."""
    x, half = torch.arange(n, dtype=torch.int64), (n.bit_length() - 1) // 2
    # from xxHash; odd, so all products modulo n differ
    for odd in (2654435761, 2246822519, 3266489917):
        x = (x ^ (x >> half)) * odd % n
    return x


def _ones(n: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(n, dtype=dtype)
