"""Test CuTe DSL kernels with ldmatrix and mma: CuTe's layouts give each element's position, and
GEMM results are right."""

from __future__ import annotations

import pytest
import torch

cutlass = pytest.importorskip("cutlass")
from cutlass import BFloat16, Float8E4M3FN, Float16, Float32  # noqa: E402
from cutlass.cute.nvgpu import warp  # noqa: E402

import forgekit as fk  # noqa: E402
import forgekit.vgpu  # noqa: E402
from tests.vgpu.kernels import matrix  # noqa: E402

OPS = {
    "f16": (warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), torch.float16, "sm_90a"),
    "bf16": (warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)), torch.bfloat16, "sm_80"),
    "tf32": (warp.MmaTF32Op((16, 8, 8)), torch.float32, "sm_90a"),
    "e4m3": (warp.MmaFP8Op(Float8E4M3FN, Float32, (16, 8, 32)), torch.float8_e4m3fn, "sm_90a"),
    "s8": (matrix.MmaInt8Op(True, (16, 8, 32)), torch.int8, "sm_80"),
}


# -- GEMMs ----------------------------------------------------------------------------------------
def drawn(shape: tuple[int, int], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if not dtype.is_floating_point:
        low = 0 if dtype == torch.uint8 else -128
        return torch.randint(low, low + 256, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator).to(dtype)


@pytest.mark.parametrize("name", OPS)
def test_gemm(name):
    op, dtype, arch = OPS[name]
    k = 4 * matrix.ROW_BYTES // dtype.itemsize
    a, b = drawn((128, k), dtype, 1), drawn((128, k), dtype, 2)
    sums = torch.float32 if dtype.is_floating_point else torch.int32
    c = torch.full((128, 128), 77, dtype=sums)
    with fk.use_target("virtual"), forgekit.vgpu.installed(arch):
        specs = [fk.spec(t, divisible={1: 16}) for t in (a, b, c)]
        fk.compile(matrix.gemm, *specs, op)(a, b, c)
    if not dtype.is_floating_point:
        assert torch.equal(c, a.int() @ b.int().T)
        return
    if dtype == torch.float32:  # tf32
        a, b = ((x.view(torch.int32) & ~0x1FFF).view(torch.float32) for x in (a, b))
    want, size = a.double() @ b.double().T, a.double().abs() @ b.double().abs().T
    assert ((c.double() - want).abs() <= a.shape[1] * 2.0**-23 * size).all()


def test_lines_that_use_matrices_are_counted_and_drawn():
    """Four warps compute a 64 by 64 by 64 product with 128 mma, and load 16 by 16 elements per
    ldmatrix.x4; B is contiguous along N."""
    a, b = drawn((64, 64), torch.float16, 3), drawn((64, 64), torch.float16, 4)
    c = torch.zeros(64, 64)
    with fk.use_target("virtual"):
        run = fk.compile(matrix.tile, *(fk.spec(t, static=True) for t in (a, b, c)))
        run(a, b, c)
        p = fk.profile(run, a, b, c)
        steps = str(fk.timeline(run, a, b, c))
    fk.check(c, (a.double() @ b.double()).float())
    texts = [
        i.text for line in p.lines for i in line.instructions for _ in range(i.warp_instructions)
    ]
    assert sum(t.startswith("mma.sync") for t in texts) == 64 // 16 * 64 // 8 * 64 // 16
    loads = sum(t.startswith("ldmatrix") for t in texts)
    assert loads == 2 * 2 * 64 * 64 // 256  # two warps use each tile of A, and of B
    assert p["shared_load_requests"] == loads and p["shared_load_wavefronts"] == 4 * loads
    assert p["shared_load_bank_conflicts"] == 0
    assert steps.count("32 shared loads") == 2 and "128 warp-wide" in steps
