"""CuTe DSL kernels with ldmatrix and mma: who holds what is what CuTe says, and GEMMs are right."""

from __future__ import annotations

import pytest
import torch

cutlass = pytest.importorskip("cutlass")
from cutlass import BFloat16, Float8E4M3FN, Float16, Float32  # noqa: E402
from cutlass.cute.nvgpu import warp  # noqa: E402

import forgekit as fk  # noqa: E402
import forgekit.vgpu  # noqa: E402
from forgekit.errors import CheckError  # noqa: E402
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


# -- what is wrong gives wrong values ------------------------------------------------------------
def tiles(bug: str | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(A, B, what the kernel makes of them)."""
    a, b = drawn((64, 64), torch.float16, 3), drawn((64, 64), torch.float16, 4)
    c = torch.full((64, 64), float("nan"))
    with fk.use_target("virtual"):
        specs = [fk.spec(t, static=True) for t in (a, b, c)]
        fk.compile(matrix.tile, *specs, bug)(a, b, c)
    return a.double(), b.double(), c


def test_lines_that_use_matrices_are_counted_and_drawn():
    """64 by 64 by 64 by four warps: ldmatrix.x4 of 16 by 16 elements, 128 mma."""
    a, b = drawn((64, 64), torch.float16, 3), drawn((64, 64), torch.float16, 4)
    c = torch.zeros(64, 64)
    with fk.use_target("virtual"):
        run = fk.compile(matrix.tile, *(fk.spec(t, static=True) for t in (a, b, c)), None)
        p = fk.profile(run, a, b, c)
        steps = str(fk.timeline(run, a, b, c))
    texts = [
        i.text for line in p.lines for i in line.instructions for _ in range(i.warp_instructions)
    ]
    assert sum(t.startswith("mma.sync") for t in texts) == 64 // 16 * 64 // 8 * 64 // 16
    loads = sum(t.startswith("ldmatrix") for t in texts)
    assert loads == 2 * 2 * 64 * 64 // 256  # two warps take each tile of A, and of B
    assert p["shared_load_requests"] == loads and p["shared_load_wavefronts"] == 4 * loads
    assert p["shared_load_bank_conflicts"] == 0
    assert steps.count("32 shared loads") == 2 and "128 warp-wide" in steps


def test_b_may_lie_along_n():
    a, b, c = tiles(None)
    fk.check(c, (a @ b).float())


def test_a_tile_that_is_swizzled_only_to_be_read():
    """The swizzle leaves every eighth row where it is."""
    a, b, c = tiles("swizzled only to be read")
    with pytest.raises(CheckError, match=r"3,584 of 4,096 elements differ \(87.5 %"):
        fk.check(c, (a @ b).float())
    fk.check(c[::8].contiguous(), (a @ b).float()[::8].contiguous())


def test_a_wrong_fragment_gives_the_values_of_its_mistake():
    a, b, c = tiles("B not transposed")
    fk.check(c, (a @ b.T).float())
