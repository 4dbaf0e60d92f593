"""CuTe DSL kernels on the virtual GPU against torch."""

from __future__ import annotations

import pytest
import torch

import forgekit.vgpu
from forgekit.vgpu.errors import DeadlockError, LaunchError

cutlass = pytest.importorskip("cutlass")
from cutlass import Int32, cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor  # noqa: E402

from tests.vgpu.kernels import copies, flow, warps  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Dynamic variable in block size")

# bfloat16 becomes other instructions on sm_80. Of other kernels one architecture suffices: but for
# its head their PTX is the same on sm_80 and sm_90a (CuTe DSL 4.8.1, compared; votes on sm_90a and
# sm_100a).
CASES = [(torch.float32, "sm_100a"), (torch.float16, "sm_80"), (torch.bfloat16, "sm_80"),
         (torch.bfloat16, "sm_90a")]  # fmt: skip

_compiled: dict[object, object] = {}


def tensor(t: torch.Tensor):
    """A tensor as kernels here take it: every size dynamic, the last stride 1."""
    return from_dlpack(t).mark_layout_dynamic(t.dim() - 1)


def run(fn, *args, arch: str = "sm_90a", key: object = None):
    """Call a jit function, compiled once for each architecture, types and `key`."""
    spec = tuple((a.dtype, a.dim()) for a in args if isinstance(a, torch.Tensor))
    known = (fn, spec, arch, key)
    given = [tensor(a) if isinstance(a, torch.Tensor) else a for a in args]
    if known not in _compiled:
        with forgekit.vgpu.installed(arch):
            _compiled[known] = cute.compile(fn, *given)
    _compiled[known](*(a for a in given if not isinstance(a, bool)))  # constants are compiled in


def poisoned(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.full(shape, float("nan"), dtype=dtype)
    return torch.full(shape, 77, dtype=dtype)


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + 1)
    if dtype.is_floating_point:
        return torch.randn(*shape, generator=generator).to(dtype)
    return torch.randint(0, 100, shape, generator=generator, dtype=dtype)


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


# -- control flow and integers -------------------------------------------------------------------
def test_nested_divergence():
    x, y = random(96, dtype=torch.int32), poisoned(96, dtype=torch.int32)
    run(flow.nested, x, y)
    own = []
    for v in x.tolist():
        if v % 2 == 0:
            own.append(sum(k * v for k in range(v % 7)) if v % 3 == 0 else v * v - 1000 * (v > 50))
        else:
            own.append(sum(5 if k % 5 == 0 else 1 for k in range(v, 0, -3)))
    value = torch.tensor(own, dtype=torch.int32)
    total = value.reshape(3, 32).sum(1, keepdim=True, dtype=torch.int32)
    assert torch.equal(y, (value.reshape(3, 32) + total).reshape(-1))


def test_while_loops():
    x, y = random(300, dtype=torch.int32) + 1, poisoned(300, dtype=torch.int32)
    run(flow.collatz, x, y)

    def steps(v: int) -> int:
        count = 0
        while v != 1:
            v, count = v // 2 if v % 2 == 0 else 3 * v + 1, count + 1
        return count

    assert y.tolist() == [steps(v) for v in x.tolist()]


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8, torch.int8])
def test_arithmetic_of_other_types(dtype):
    x = (torch.arange(128, dtype=torch.int64) * 2654435761 % 100003 - 50000).to(dtype)
    if dtype == torch.int64:
        x = x * 30000001
    y = poisoned(128, dtype=dtype)
    run(flow.polynomial, x, y)
    assert torch.equal(y, x * x + 3 * x - 7)


def test_local_arrays_with_a_dynamic_index():
    x = random(64, 20, dtype=torch.int32) % 8
    y = poisoned(64, 8, dtype=torch.int32)
    run(flow.histogram_of_registers, x, y)
    assert y.tolist() == [torch.bincount(row, minlength=8).tolist() for row in x]


# -- launches -------------------------------------------------------------------------------------
@pytest.mark.parametrize("times", [0, 1, 3])
def test_several_kernels_and_launches_run_in_order(times):
    x, y = random(100), poisoned(100)
    run(flow.scale_then_add, x, y, cutlass.Float32(3.0), Int32(times))
    torch.testing.assert_close(y, 3 * x + 1 + times)


@pytest.mark.parametrize(
    "grid, block", [((2, 3, 4), (5, 3, 2)), ((1, 1, 1), (1, 1, 64)), ((7, 1, 2), (33, 1, 1))]
)
def test_grids_and_blocks_of_three_dimensions(grid, block):
    y = torch.full((*grid[::-1], *block[::-1], 6), -1, dtype=torch.int32)
    run(flow.where_am_i, y)
    ranges = [torch.arange(n, dtype=torch.int32) for n in (*grid[::-1], *block[::-1])]
    bz, by, bx, tz, ty, tx = torch.meshgrid(*ranges, indexing="ij")
    assert torch.equal(y, torch.stack([tx, ty, tz, bx, by, bz], -1))


# -- threads together ------------------------------------------------------------------------------
def test_atomics():
    x = random(256, dtype=torch.int32) * 37 % 1000 - 300
    start = [5, 0, 0, -1, 0, 0, 0, -1, 0, 1]
    i = torch.tensor(start, dtype=torch.int32)
    f = torch.tensor([0.0, -1e9, 1e9])
    run(warps.atomics, x, i, f)
    values = x.tolist()
    bits = {"and": -1, "or": 0, "xor": 0}
    for v in values:
        bits = {"and": bits["and"] & v, "or": bits["or"] | v, "xor": bits["xor"] ^ v}
    total = sum(values)
    ends = [values[-1], values[0]]  # the last exchange and the first compare-and-swap win
    want = [5 + total, max(0, *values), min(0, *values), *bits.values(), *ends, 256, 1 + total]
    assert i.tolist() == want
    torch.testing.assert_close(f[0], (x * 0.1).sum(), atol=1e-2, rtol=1e-4)
    assert f[1:].tolist() == [max(values), min(values)]


def test_float_sums_by_atomics_are_the_same_every_time():
    results = set()
    for batch in (64, 256, 1 << 15):
        x, i, f = random(512, dtype=torch.int32), torch.zeros(10, dtype=torch.int32), torch.zeros(3)
        with forgekit.vgpu.options(batch_threads=batch):
            run(warps.atomics, x, i, f)
        results.add(f[0].item())
    assert len(results) == 1


def test_named_barriers():
    x, y = random(160, dtype=torch.int32), poisoned(2, 160, dtype=torch.int32)
    run(warps.named_barriers, x, y)
    turned = x.reshape(5, 32).flip(1).reshape(-1)
    assert torch.equal(y, torch.stack([turned, 2 * turned]))


def test_votes_matches_and_shuffles():
    x, y = random(64, dtype=torch.int32), torch.zeros(16, 64, dtype=torch.int32)
    run(warps.votes, x, y)
    lanes = x.reshape(2, 32).tolist()

    def bits(flags) -> int:
        value = sum(1 << i for i, f in enumerate(flags) if f)
        return value - (1 << 32) if value >> 31 else value

    for w, row in enumerate(lanes):
        got = y[:, 32 * w : 32 * w + 32].tolist()
        odd = bits(v % 2 for v in row)
        assert got[0] == [odd] * 32
        assert got[1] == [int(any(v > 90 for v in row))] * 32
        assert got[2] == [int(all(v < 90 for v in row))] * 32
        assert got[3] == [int(len({v > 90 for v in row}) == 1)] * 32
        assert got[4] == [bits(u % 4 == v % 4 for u in row) for v in row]
        assert got[5] == [-1] * 32
        assert got[6] == [sum(row)] * 32
        assert got[7] == [max(row)] * 32
        assert got[8] == [min(row)] * 32
        xor = 0
        for v in row:
            xor ^= v
        assert got[9] == [xor] * 32
        assert got[10] == [row[max(k - 3, k % 3 if k < 3 else 0)] for k in range(32)]
        assert got[11] == [row[k + 5] if k < 27 else row[k] for k in range(32)]
        assert got[12] == [row[7]] * 32
        assert got[13] == [v.bit_count() for v in row]
        assert got[14] == [odd if v % 2 else 0 for v in row]
        assert sum(got[15]) == 1


@pytest.mark.parametrize("down", [False, True])
def test_blocks_that_spin_make_progress(down):
    x = random(40, dtype=torch.int32)
    flags, y = torch.zeros(40, dtype=torch.int32), torch.zeros(40, dtype=torch.int32)
    run(warps.spin_between_blocks, flags, x, y, down, key=down)
    want = x.flip(0).cumsum(0).flip(0) if down else x.cumsum(0)
    assert y.tolist() == want.tolist()


def test_blocks_of_a_cooperative_launch_run_together():
    x = random(40, dtype=torch.int32)
    flags, y = torch.zeros(40, dtype=torch.int32), torch.zeros(40, dtype=torch.int32)
    with forgekit.vgpu.options(batch_threads=32):
        run(warps.spin_in_a_cooperative_launch, flags, x, y)
    assert y.tolist() == x.flip(0).cumsum(0).flip(0).tolist()


# -- kernels that never end: what the student reads -------------------------------------------
def test_a_warp_instruction_that_part_of_a_warp_calls():
    with pytest.raises(DeadlockError) as caught:
        run(warps.warp_index_in_a_branch, poisoned(2))
    message = str(caught.value)
    assert "shfl.sync.idx.b32 for lanes of their warp that are elsewhere, warps.py" in message
    assert "cute.arch.warp_idx() is a shuffle of the whole warp: call it before the `if`" in message


def test_clusters_are_refused_where_there_are_none():
    with pytest.raises(LaunchError, match=r"clusters of \(2, 1, 1\) blocks"):
        run(warps.in_a_cluster, torch.ones(64), arch="sm_80")
