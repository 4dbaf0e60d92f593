"""Define cases with tensor copies (TMA) and `wgmma`, to compare their counters of loads and
stores."""

from __future__ import annotations

from collections.abc import Callable

import torch
from cutlass import Float16, Float32, cute
from cutlass.cute.nvgpu import warpgroup

from tests.profiling.case import F16, F32, Case, Tensors, numbers, untouched
from tests.sanitizer.planted import tensor_copies as copies
from tests.vgpu.kernels import wgmma


@cute.jit
def product(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor):
    op = warpgroup.MmaF16BF16Op(Float16, Float32, (64, 64, 16), wgmma.SMEM, wgmma.K, wgmma.K)
    wgmma.product(mA, mB, mC, mD, op, (128, 128))


def rows(x: int, y: int) -> Callable[[], Tensors]:
    """Return a function that makes x and y with these numbers of rows of 32 elements."""
    columns = copies.COLUMNS
    return lambda: (numbers(x * columns, F32).view(x, columns),
                    untouched(y * columns, F32).view(y, columns))  # fmt: skip


def factors() -> Tensors:
    count = 2 * 64 * 64
    given = *(numbers(count, F16) % 7 for _ in "ab"), numbers(count, F32), untouched(count, F32)
    return tuple(t.view(2, 64, 64) for t in given)


def sums(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return y + x.view(-1, *y.shape).sum(0)


def products(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    return c + a.float() @ b.float().mT


CASES = {
    "tensor_loads": Case(copies.tensor_pipeline.host, rows(40, 40), lambda x, y: 2 * x,
                         "swizzled tiles are loaded, threads store", static=True),
    "tensor_stores": Case(copies.tensor_store.host, rows(64, 64), lambda x, y: x + 1,
                          "threads load, tiles are stored", static=True),
    "tensor_sums": Case(copies.tensor_sum.host, rows(24, 8), sums, "tiles are added to y",
                        static=True),
    "tensor_multicast": Case(copies.tensor_multicast.host, rows(16, 32),
                             lambda x, y: x.repeat(2, 1),
                             "each block loads half a tile for two", static=True),
    "wgmma_f16": Case(product, factors, products, "both operands in shared memory", static=True),
}  # fmt: skip
