"""Compare CuTe DSL kernels on the virtual GPU with torch: copies, tails, launches.

Other files test control flow, atomics, barriers and warp-wide operations instruction by
instruction.
"""

from __future__ import annotations

import pytest
import torch

import forgekit.vgpu

cutlass = pytest.importorskip("cutlass")
from cutlass import Int32, cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor  # noqa: E402

from tests.vgpu.kernels import copies, flow  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Dynamic variable in block size")

# bfloat16 compiles to other instructions on sm_80. For other kernels, one architecture is enough,
# because their PTX, except for its header, is the same on sm_80 and sm_90a (compared with CuTe DSL
# 4.8.1; votes on sm_90a and sm_100a).
CASES = [(torch.float32, "sm_100a"), (torch.float16, "sm_80"), (torch.bfloat16, "sm_80"),
         (torch.bfloat16, "sm_90a")]  # fmt: skip

_compiled: dict[object, object] = {}


def tensor(t: torch.Tensor):
    """Return a tensor in the form that these kernels expect, with all sizes dynamic and a last
    stride of 1."""
    return from_dlpack(t).mark_layout_dynamic(t.dim() - 1)


def run(fn, *args, arch: str = "sm_90a"):
    """Call a jit function, which is compiled once per architecture and argument types."""
    known = (fn, tuple(a.dtype for a in args if isinstance(a, torch.Tensor)), arch)
    given = [tensor(a) if isinstance(a, torch.Tensor) else a for a in args]
    if known not in _compiled:
        with forgekit.vgpu.installed(arch):
            _compiled[known] = cute.compile(fn, *given)
    _compiled[known](*given)


def poisoned(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full(shape, float("nan"), dtype=dtype)


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


# -- copies ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [0, 1, 33, 1000])
def test_copy(n):
    x, y = random(n, dtype=torch.float16), poisoned(n, dtype=torch.float16)
    run(copies.copy, x, y)
    assert torch.equal(x, y)


@pytest.mark.parametrize("dtype, arch", CASES)
def test_predicated_tails(dtype, arch):
    for m, n in ((1, 1), (31, 33), (129, 760)):
        a, b = random(m, n, dtype=dtype), random(m, n + 1, dtype=dtype)[:, 1:]
        c = poisoned(m, n, dtype=dtype)
        run(copies.predicated_add, a, b, c, arch=arch)
        assert torch.equal(c, a + b)


def test_async_copy_fills_with_zeros():
    x, y = random(100), poisoned(512)
    sizes = cute.sym_int(divisibility=4), cute.sym_int()
    aligned = [make_fake_compact_tensor(cutlass.Float32, (n,), assumed_align=16) for n in sizes]
    with forgekit.vgpu.installed():
        fill = cute.compile(copies.zero_fill, *aligned)
    fill(*(from_dlpack(t, assumed_align=16).mark_layout_dynamic(0) for t in (x, y)))
    assert torch.equal(y[:100], x)
    assert torch.equal(y[100:], torch.zeros(412))


# -- launches -------------------------------------------------------------------------------------
@pytest.mark.parametrize("times", [0, 1, 3])
def test_several_kernels_and_launches_run_in_order(times):
    x, y = random(100), poisoned(100)
    run(flow.scale_then_add, x, y, cutlass.Float32(3.0), Int32(times))
    torch.testing.assert_close(y, 3 * x + 1 + times)
