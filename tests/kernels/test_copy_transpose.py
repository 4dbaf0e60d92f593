"""Test the kernels of copy_transpose on the virtual GPU: values, order of threads, traffic."""

from __future__ import annotations

import functools

import pytest
import torch

import forgekit as fk
from forgekit.compiling.compiled import CompiledKernel
from forgekit.ops.transposes import Choice, compile_choice
from forgekit.tensors import poison

DTYPES = (torch.float16, torch.float32, torch.uint8)
# Code that only moves elements compiles to the same PTX for both types (compared with CuTe DSL
# 4.8.1).
ON_BOTH = [(torch.float16, "sm_80"), (torch.float32, "sm_90a"), (torch.uint8, "sm_80")]
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def any_bits(M: int, N: int, dtype: torch.dtype) -> torch.Tensor:
    """Return random bit patterns, including NaNs with payloads."""
    generator = torch.Generator().manual_seed(M * 1000 + N)
    raw = torch.randint(0, 256, (M, N, dtype.itemsize), dtype=torch.uint8, generator=generator)
    return raw.view(dtype).squeeze(-1)


@functools.cache
def compiled(choice: Choice, dtype: torch.dtype, arch: str = "sm_90a") -> CompiledKernel:
    return compile_choice(choice, dtype, arch)


def run(kernel: CompiledKernel, x: torch.Tensor) -> None:
    """Run the kernel with a poisoned output, and compare bits."""
    y = torch.full((x.shape[1], x.shape[0]), poison(x.dtype), dtype=x.dtype)
    kernel(x, y)
    bits = INTEGERS[x.element_size()]
    assert torch.equal(y.view(bits), x.t().contiguous().view(bits))


def vector(dtype: torch.dtype, side: int) -> Choice:
    return Choice("vector", (side, side), min(16 // dtype.itemsize, side // 8))


@pytest.mark.parametrize(("dtype", "arch"), ON_BOTH, ids=str)
def test_vector(dtype: torch.dtype, arch: str) -> None:
    V = 16 // dtype.itemsize
    kernel = compiled(vector(dtype, 64), dtype, arch)
    for M, N in ((V, V), (64, 64), (V * 9, V * 5), (V * 3, V * 17)):
        run(kernel, any_bits(M, N, dtype))
    run(kernel, any_bits(64, V * 12, dtype)[:, V * 2 : V * 7])


@pytest.mark.parametrize("side", [16, 32])
def test_vector_with_other_tiles(side: int) -> None:
    for dtype in (torch.float16, torch.float64):
        run(compiled(vector(dtype, side), dtype), any_bits(side + 16, 2 * side + 8, dtype))


@pytest.mark.parametrize(
    ("dtype", "tile", "V"),
    [
        (torch.float16, (128, 64), 8),
        (torch.float16, (16, 128), 8),
        (torch.float32, (64, 8), 4),
        (torch.uint8, (256, 32), 8),
    ],
    ids=str,
)
def test_vector_with_tiles_for_narrow_matrices(
    dtype: torch.dtype, tile: tuple[int, int], V: int
) -> None:
    """Every row of Y is stored, for any start of its block; tall tiles have no bank conflicts."""
    kernel = compiled(Choice("vector", tile, V), dtype)
    run(kernel, any_bits(3 * tile[0] + 2 * V, tile[1], dtype))
    run(kernel, any_bits(tile[0], 2 * tile[1] + V, dtype))
    x = any_bits(2 * tile[0], 2 * tile[1], dtype)
    p = fk.profile(kernel, x, torch.empty(x.shape[1], x.shape[0], dtype=dtype))
    assert p.shared_load_bank_conflicts == 0
    assert p.shared_store_bank_conflicts == 0 or tile[0] < tile[1]
    assert p.global_load_sectors == p.global_store_sectors == x.numel() * dtype.itemsize // 32


@pytest.mark.parametrize(("dtype", "arch"), ON_BOTH, ids=str)
def test_gather_of_rows_that_begin_anywhere(dtype: torch.dtype, arch: str) -> None:
    kernel = compiled(Choice("gather", (64, 64), 1, True, True), dtype, arch)
    for M, N in ((1, 1), (1, 70), (70, 1), (31, 33), (65, 127), (129, 61)):
        run(kernel, any_bits(M, N, dtype))
    # Addresses that are not at a word boundary, and rows with gaps between them.
    for offset in (1, 3):
        memory = any_bits(1, 50 * 41 + offset, dtype)[0]
        run(kernel, memory[offset:].view(50, 41)[:, 2:37])


def test_gather_of_any_strides() -> None:
    x = any_bits(70, 140, torch.float32)
    kernel = compiled(Choice("gather", (32, 64), 1, False, False), torch.float32)
    run(kernel, x[:64, ::2])
    run(kernel, x[3:11, :1].expand(8, 99))
    shifted = compiled(Choice("gather", (16, 16), 1, False, True), torch.float32)
    run(shifted, x[::2, 1::3])
    run(shifted, x[:, 5:].t())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_flat(dtype: torch.dtype) -> None:
    V = 16 // dtype.itemsize
    elements = compiled(Choice("flat"), dtype)
    for M, N in ((1, 1), (3, 77), (50, 5), (2, 1)):
        run(elements, any_bits(M, N, dtype))
    run(elements, any_bits(33, 21, dtype).t()[:, 3:])
    run(elements, any_bits(1, 21, dtype).expand(30, 21))
    vectors = compiled(Choice("flat", vector=V), dtype)
    run(vectors, any_bits(1, 1003, dtype).t())
    run(vectors, any_bits(19, V * 6, dtype).t())


@pytest.mark.parametrize(
    ("choice", "shape", "dtype"),
    [
        (vector(torch.float16, 64), (136, 72), torch.float16),
        (Choice("vector", (128, 32), 8), (264, 32), torch.float16),
        (Choice("gather", (64, 64), 1, True, True), (65, 77), torch.float16),
        (Choice("gather", (32, 64), 1, False, False), (64, 41), torch.float32),
        (Choice("flat"), (3, 90), torch.float32),
    ],
    ids=["vector", "vector-tall", "gather", "gather-strided", "flat"],
)
def test_no_order_of_threads_matters(
    choice: Choice, shape: tuple[int, int], dtype: torch.dtype
) -> None:
    x = any_bits(*shape, dtype)
    y = fk.empty(shape[1], shape[0], dtype=dtype, device="virtual")
    report = fk.sanitize(compiled(choice, dtype), x, y, schedule="adversarial")
    assert report and not report.findings, str(report)


@pytest.mark.parametrize(("dtype", "side"), [(torch.float16, 128), (torch.float32, 64)], ids=str)
def test_traffic_of_the_fastest_kernel(dtype: torch.dtype, side: int) -> None:
    """The kernel moves 16 bytes per thread and whole sectors, without bank conflicts, so its
    traffic is minimal."""
    x = any_bits(512, 512, dtype)
    p = fk.profile(compiled(vector(dtype, side), dtype), x, torch.empty_like(x))
    sectors = x.numel() * dtype.itemsize // 32
    assert p.global_load_sectors == p.global_load_ideal_sectors == sectors
    assert p.global_store_sectors == p.global_store_ideal_sectors == sectors
    assert p.global_load_requests == p.global_store_requests == sectors // 16
    assert p.shared_load_bank_conflicts == p.shared_store_bank_conflicts == 0
    assert p.shared_load_requests == p.shared_store_requests == sectors // 16


def test_traffic_of_odd_sizes() -> None:
    """Stores cover whole sectors; only a row's first and last sector can be incomplete."""
    x = any_bits(255, 257, torch.float16)
    choice = Choice("gather", (64, 128), 1, True, True)
    p = fk.profile(compiled(choice, torch.float16), x, torch.empty(257, 255, dtype=x.dtype))
    assert p.shared_store_bank_conflicts == 0
    assert p.global_store_bytes_asked == x.numel() * 2
    rows, sectors_of_a_row = 257, -(-255 * 2 // 32) + 1
    assert p.global_store_sectors <= rows * (sectors_of_a_row + 2 * 16)
    assert p.global_load_sectors < 1.7 * x.numel() * 2 / 32
