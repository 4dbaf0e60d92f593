"""Cases with tensor copies (TMA) and `wgmma`: what counters of loads and stores say of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from cutlass import Float16, Float32, cute
from cutlass.cute.nvgpu import warpgroup

from tests.profiling.case import F16, F32, Case, numbers, untouched
from tests.sanitizer.planted import tensor_copies as copies
from tests.vgpu.kernels import wgmma


@cute.jit
def product(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor):
    op = warpgroup.MmaF16BF16Op(Float16, Float32, (64, 64, 16), wgmma.SMEM, wgmma.K, wgmma.K)
    wgmma.product(mA, mB, mC, mD, op, (128, 128))


def rows(*counts: int) -> Callable[[torch.device], tuple[torch.Tensor, ...]]:
    """x and y of so many rows of 32 elements."""
    x, y = ((n, copies.COLUMNS) for n in counts)

    def make(device: torch.device) -> tuple[torch.Tensor, ...]:
        given = numbers(x[0] * x[1], F32).view(x), untouched(y[0] * y[1], F32).view(y)
        return tuple(t.to(device) for t in given)

    return make


def factors(device: torch.device) -> tuple[torch.Tensor, ...]:
    a, b = (numbers(2 * n * 64, F16).view(2, n, 64) % 7 for n in (64, 64))
    c, d = numbers(2 * 64 * 64, F32).view(2, 64, 64), untouched(2 * 64 * 64, F32).view(2, 64, 64)
    return tuple(t.to(device) for t in (a, b, c, d))


def sums(x: torch.Tensor, y: torch.Tensor) -> dict[int, torch.Tensor]:
    return {1: y + x.view(-1, *y.shape).sum(0)}


def products(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor):
    return {3: c + a.float() @ b.float().mT}


CASES = {
    "tensor_loads": Case(copies.tensor_pipeline.host, rows(40, 40), lambda x, y: {1: 2 * x},
                         "tiles with a swizzle come, threads store", static=True),
    "tensor_stores": Case(copies.tensor_store.host, rows(64, 64), lambda x, y: {1: x + 1},
                          "threads load, tiles go", static=True),
    "tensor_sums": Case(copies.tensor_sum.host, rows(24, 8), sums, "tiles are added", static=True),
    "tensor_multicast": Case(copies.tensor_multicast.host, rows(16, 32),
                             lambda x, y: {1: x.repeat(2, 1)}, "half a tile for two", static=True),
    "wgmma_f16": Case(product, factors, products, "both operands in shared memory", static=True),
}  # fmt: skip
