"""Test the kernels of softmax and its gradient: values, extreme values (compared with torch), order
of threads."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
import torch

import forgekit as fk
from forgekit.compiling.specs import TensorSpec
from forgekit.kernels.rows import RowTile
from forgekit.ops import row_launch
from forgekit.ops.columns import ColumnChoice, compile_columns
from forgekit.ops.row_launch import compile_rows, compile_step, shared
from forgekit.ops.tile_choice import Kernel, Op, RowChoice
from tests.kernels.rowwise import (
    WHERE,
    Output,
    assert_gradient,
    assert_like_torch,
    assert_softmax,
    device_of,
    extremes,
    need_clusters,
    normal,
    placed,
    same_bits,
)

# The properties of a kernel over rows: kernel, threads, rows, loads, True for vectors, cluster,
# True for unaligned rows.
ROWS: dict[str, tuple[Kernel, int, int, int, bool, int, bool]] = {
    "registers, elements": ("registers", 32, 4, 4, False, 1, False),
    "registers, part of a warp": ("registers", 16, 8, 2, True, 1, False),
    "registers, warps": ("registers", 96, 1, 1, True, 1, False),
    "registers, unaligned": ("registers", 64, 2, 1, True, 1, True),
    "registers, cluster": ("registers", 32, 1, 1, True, 4, False),
    "registers, cluster, unaligned": ("registers", 32, 1, 1, True, 2, True),
    "shared": ("shared", 64, 2, 2, True, 1, False),
    "shared, cluster": ("shared", 32, 1, 2, True, 2, False),
    "streaming": ("streaming", 64, 1, 2, True, 1, False),
    "streaming, elements": ("streaming", 64, 1, 2, False, 1, False),
    "streaming, cluster, unaligned": ("streaming", 32, 1, 1, True, 2, True),
    "split": ("split", 32, 1, 2, True, 3, False),  # parts instead of a cluster
    "split, unaligned": ("split", 32, 1, 1, True, 40, True),
}
BACKWARD = [name for name in ROWS if not name.startswith("shared")]
COLUMNS = {  # lanes, rows, loads, True for vectors
    "columns": (4, 16, 2, True),
    "columns, one row of threads": (8, 1, 4, True),
    "columns, elements": (32, 4, 4, False),
    "columns, once": (16, 16, 8, False),  # reads and keeps up to 128 rows
}
STEPS = row_launch.STEPS["softmax"]
FORWARD = [*ROWS, *COLUMNS, *STEPS]
# Kernels that are also tested with bfloat16; float16 differs from bfloat16 only in its range.
HALVES = ("registers, elements", "registers, unaligned", "streaming")
LONGEST = 256  # elements per row that each of these kernels supports, for every dtype


def row_choice(name: str, dtype: torch.dtype) -> RowChoice:
    kernel, threads, rows, loads, vectors, cluster, unaligned = ROWS[name]
    V = 16 // dtype.itemsize if vectors else 1
    if kernel == "split":
        return RowChoice(kernel, threads, rows, loads, V, split=cluster, unaligned=unaligned)
    if kernel != "streaming":  # room for LONGEST
        loads = max(loads, -(-LONGEST // (threads * V * cluster)))
    return RowChoice(kernel, threads, rows, loads, V, cluster, unaligned=unaligned)


@functools.cache
def kernel_of(op: Op, name: str, dtype: torch.dtype, arch: str | None) -> Any:
    """Return a function of x and y, or of dy, y and dx. All are (M, N), or, for columns, (O, M, N),
    reduced over M."""
    if name in ROWS:
        run, choice = (
            compile_rows(op, row_choice(name, dtype), dtype, arch),
            row_choice(name, dtype),
        )
        return shared(op, run, choice) if choice.kernel == "split" else run
    if name in STEPS:
        return compile_step("softmax", name, LONGEST, dtype, arch)
    lanes, rows, loads, vectors = COLUMNS[name]
    vector = 16 // dtype.itemsize if vectors else 1
    choice = ColumnChoice(lanes, rows, loads, vector, once=name.endswith("once"))
    return compile_columns(op, choice, dtype, arch)


def vector_of(name: str, dtype: torch.dtype) -> int:
    vectors = ROWS[name][4] if name in ROWS else name in COLUMNS and COLUMNS[name][3]
    return 16 // dtype.itemsize if vectors else 1


def run(op: Op, name: str, *tensors: torch.Tensor, arch: str | None = "sm_90a") -> torch.Tensor:
    """Return the kernel's result for the rows of matrices (M, N); kernels for columns receive
    transposed matrices."""
    dtype = tensors[0].dtype
    kernel = kernel_of(op, name, dtype, arch)
    if name not in COLUMNS:
        return result(kernel, *tensors, arch=arch)
    M, N = tensors[0].shape
    vector = vector_of(name, dtype)
    wide = -(-M // vector) * vector  # columns fill whole vectors
    padded = [torch.ones(1, N, wide, dtype=dtype, device=t.device) for t in tensors]
    for t, p in zip(tensors, padded, strict=True):
        p[0, :, :M] = t.t()
    return result(kernel, *padded, arch=arch)[0, :, :M].t()


def result(kernel: Any, *tensors: torch.Tensor, arch: str | None) -> torch.Tensor:
    """Return a kernel's result for tensors of the same shape."""
    y = Output(tuple(tensors[0].shape), tensors[0].dtype, arch)
    kernel(*tensors, y.tensor)
    return y.read()


def need(name: str, arch: str | None) -> None:
    clustered = name in ROWS and not name.startswith("split")
    need_clusters(ROWS[name][5] if clustered else 1, arch)


def sizes_of(name: str, dtype: torch.dtype) -> list[int]:
    """Return row lengths; they are multiples of the vector if the kernel requires whole vectors."""
    if name == "columns, once":
        return [1, 3, 107, 128]
    if name in ROWS and ROWS[name][4] and not ROWS[name][6]:
        V = 16 // dtype.itemsize
        sizes = [V, 3 * V, 104, LONGEST]
    else:
        sizes = [1, 3, 33, 107, LONGEST]
    # the other kernels cannot hold more
    longer = {"str": 1600, "thr": 1600, "two": 1600, "col": 260}
    return [*sizes, longer[name[:3]]] if name[:3] in longer else sizes


def laid_out(name: str, x: torch.Tensor, offset: int) -> torch.Tensor:
    """Return a tensor in the layout that the kernel is made for; if unaligned, rows begin at
    different offsets."""
    N = x.shape[1]
    return placed(x, offset, N + 8) if name in ROWS and ROWS[name][6] else x


# -- values ---------------------------------------------------------------------------------------
def cases(names: list[str]) -> list[tuple[str, torch.dtype]]:
    halves = [(name, torch.bfloat16) for name in names if name in HALVES]
    return [(name, torch.float32) for name in names] + halves


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(("name", "dtype"), cases(FORWARD), ids=str)
def test_softmax(name: str, dtype: torch.dtype, arch: str | None) -> None:
    need(name, arch)
    for N, M in itertools.product(sizes_of(name, dtype), (1, 9)):
        x = normal(M, N, dtype=dtype, arch=arch, scale=3)
        y = run("softmax", name, laid_out(name, x, 0), arch=arch)
        assert_softmax(y, x, 1)
        if dtype == torch.float32:
            assert (y.double().sum(1) - 1).abs().max() < 2**-19


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(("name", "dtype"), cases([*BACKWARD, *COLUMNS]), ids=str)
def test_gradient(name: str, dtype: torch.dtype, arch: str | None) -> None:
    need(name, arch)
    for N, M in itertools.product(sizes_of(name, dtype), (1, 9)):
        dy = normal(M, N, dtype=dtype, arch=arch)
        y = dy.softmax(1) if M > 1 else dy.flip(1)  # y need not be a softmax
        dx = run("softmax_backward", name, *(laid_out(name, t, 0) for t in (dy, y)), arch=arch)
        assert_gradient(dx, dy, y, 1)


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", ["registers, warps", "shared"])
def test_float16(name: str, arch: str | None) -> None:
    x = normal(9, 104, dtype=torch.float16, arch=arch, scale=3)
    y = run("softmax", name, x, arch=arch)
    assert_softmax(y, x, 1)
    if name == "registers, warps":
        dy = normal(9, 104, dtype=torch.float16, arch=arch)
        y = y.to(dy.device)
        assert_gradient(run("softmax_backward", name, dy, y, arch=arch), dy, y, 1)


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", ["registers, unaligned", "registers, cluster, unaligned",
                                  "streaming, cluster, unaligned"])  # fmt: skip
def test_rows_that_begin_anywhere(name: str, arch: str | None) -> None:
    """A row of x and the same row of y have the same offset within a vector, because sizes and
    strides agree."""
    need(name, arch)
    for N in (1, 2, 5, 31, 33, 250):
        x, dy = (normal(5, N, arch=arch, scale=s) for s in (3, 1))
        assert_softmax(run("softmax", name, placed(x, 0, N + 4), arch=arch), x, 1)
        y = x.softmax(1)
        laid = placed(dy, 0, N + 12), placed(y, 0, N)
        assert_gradient(run("softmax_backward", name, *laid, arch=arch), dy, y, 1)


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("cluster", [8, 16])
def test_large_clusters(cluster: int, arch: str | None) -> None:
    need_clusters(cluster, arch)
    x, dy = (normal(3, 128 * cluster - 4, arch=arch, scale=s) for s in (3, 1))
    for kernel in ("registers", "shared", "streaming"):
        choice = RowChoice(kernel, 32, 1, 1, 4, cluster)
        run = compile_rows("softmax", choice, x.dtype, arch)
        assert_softmax(result(run, x, arch=arch), x, 1)
    y, choice = x.softmax(1), RowChoice("registers", 32, 1, 1, 4, cluster)
    run = compile_rows("softmax_backward", choice, x.dtype, arch)
    assert_gradient(result(run, dy, y, arch=arch), dy, y, 1)


@pytest.mark.parametrize("arch", WHERE)
def test_many_warps(arch: str | None) -> None:
    """A row has more parts than a warp has lanes, so the warp reads them in two rounds; one row
    length is exact."""
    need_clusters(2, arch)
    x = normal(2, 4092, arch=arch, scale=3)
    hard = extremes(4092, arch=arch, vector=4)  # the second round also contains a largest element
    kernels: tuple[Kernel, ...] = ("registers", "shared", "streaming")
    for kernel in kernels:
        given, check = (hard, assert_like_torch) if kernel == "registers" else (x, assert_softmax)
        run = compile_rows("softmax", RowChoice(kernel, 544, 1, 1, 4, 2), x.dtype, arch)
        check(result(run, given, arch=arch), given, 1)
    x = normal(3, 256, arch=arch)
    run = compile_rows("softmax", RowChoice("registers", 64, 1, 1, 4, whole=1), x.dtype, arch)
    assert_softmax(result(run, x, arch=arch), x, 1)


@pytest.mark.parametrize("arch", ["sm_80", "sm_100a"])
def test_other_architectures(arch: str) -> None:
    x = normal(3, 104, dtype=torch.bfloat16, scale=3)
    names = ["shared", "registers, cluster"] if arch == "sm_100a" else ["shared", "streaming"]
    for name in names:
        assert_softmax(run("softmax", name, x, arch=arch), x, 1)
    dx = run("softmax_backward", "registers, unaligned", x, x.softmax(1), arch=arch)
    assert_gradient(dx, x, x.softmax(1), 1)


# -- properties of a softmax
# ----------------------------------------------------------------------------
@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", FORWARD)
def test_extremes(name: str, arch: str | None) -> None:
    need(name, arch)
    for N in (16, 252) if vector_of(name, torch.float32) > 1 else (5, 107):
        x = extremes(N, arch=arch, vector=4)
        assert_like_torch(run("softmax", name, laid_out(name, x, 0), arch=arch), x, 1)


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", ["registers, unaligned", "registers, cluster, unaligned",
                                  "streaming, cluster, unaligned"])  # fmt: skip
def test_extremes_outside_whole_vectors(name: str, arch: str | None) -> None:
    """Consecutive rows of odd length have every offset within a vector."""
    need(name, arch)
    for N in (7, 103):
        x = extremes(N, arch=arch, vector=4)
        assert_like_torch(run("softmax", name, x, arch=arch), x, 1)


@pytest.mark.parametrize("name", ["registers, warps", "shared", "streaming", "columns"])
def test_extremes_of_halves(name: str) -> None:
    for dtype in (torch.float16, torch.bfloat16) if name == "shared" else (torch.bfloat16,):
        x = extremes(104, dtype, vector=8)
        assert_like_torch(run("softmax", name, x), x, 1)


@pytest.mark.parametrize("name", FORWARD)
def test_only_differences_matter(name: str) -> None:
    """If x + c is exact, so is its softmax; rows are independent."""
    x = (normal(9, 104, scale=24).round() / 8).clamp(-16, 16)
    y = run("softmax", name, x)
    for c in (1.0, -4096.0, 2.0**17):
        assert same_bits(run("softmax", name, x + c), y)
    order = torch.tensor([3, 8, 0, 7, 1, 2, 6, 5, 4])
    assert same_bits(run("softmax", name, x[order]), y[order])


@pytest.mark.parametrize("name", [*BACKWARD, *COLUMNS])
def test_gradients_add_up_to_nothing(name: str) -> None:
    """A softmax does not change if a constant is added to a row, so each row of the gradient sums
    to zero."""
    y, dy = normal(9, 104, scale=3).softmax(1), normal(9, 104) + 5
    dx = run("softmax_backward", name, dy, y)
    assert (dx.double().sum(1).abs() < 2**-20 * (dy.abs() * y).sum(1)).all()
    zero = run("softmax_backward", name, torch.full_like(y, 0.5), (y * 4096).round() / 4096)
    assert zero.abs().max() < 2**-10  # the rounded y adds up to 1 within 2^-9 or so


# -- order of threads, both machines --------------------------------------------------------------
CASES: list[tuple[Op, str]] = [("softmax", n) for n in FORWARD] + [
    ("softmax_backward", n) for n in (*BACKWARD, *COLUMNS)
]


@pytest.mark.parametrize(("op", "name"), CASES)
def test_no_order_of_threads_matters(op: Op, name: str) -> None:
    shape = (1, 104, 8) if name in COLUMNS else (3, 104)
    x, y = normal(*shape), normal(*shape).softmax(1)
    operands = (x,) if op == "softmax" else (x, y)
    result = torch.empty(shape)
    if name.startswith("split"):
        parts = (3, ROWS[name][5], 2)[: 3 if op == "softmax" else 2]
        operands = (*operands, torch.empty(parts))
        kernel = compile_rows(op, row_choice(name, torch.float32), torch.float32, "sm_90a")
    else:
        kernel = kernel_of(op, name, torch.float32, "sm_90a")
    report = fk.sanitize(kernel, *operands, result, schedule="adversarial")
    assert report and not report.findings, str(report)


@pytest.mark.parametrize("op", ["softmax", "softmax_backward"])
def test_rows_that_share_blocks_come_in_groups(op: Op) -> None:
    """L2 has room for 3 of 7 rows, so the launches process 3, 3 and 1."""
    choice = row_choice("split", torch.float32)
    tile = RowTile(choice.threads, 1, choice.loads, choice.vector, split=choice.split, overlap=True)
    x, y = normal(7, 104), normal(7, 104).softmax(1)
    operands = (x,) if op == "softmax" else (x, y)
    make = row_launch.row_kernels(op)["split"]
    parts = torch.empty((7, choice.split, 2)[: 3 if op == "softmax" else 2])
    held = 3 * 104 * 4 * len(operands)
    rows = TensorSpec(torch.float32, (None, None), (None, 1), 16, {1: 4})
    specs = (*[rows] * len(operands), parts, rows)
    kernel = fk.compile(make(tile, held), *specs, device="virtual", arch="sm_90a")
    result = torch.empty_like(x)
    kernel(*operands, parts, result)
    if op == "softmax":
        assert_softmax(result, x, 1)
    else:
        assert_gradient(result, x, y, 1)
    profile = fk.profile(kernel, *operands, parts, result)
    assert [launch.grid for launch in profile.launches] == [
        (3, rows, 1) for rows in (3, 3, 3, 3, 1, 1)
    ]


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "name"), CASES)
def test_gpu_and_virtual_gpu_agree(op: Op, name: str) -> None:
    """exp2 and division may differ by 4 roundings; two runs on the GPU return the same bits."""
    need(name, None)
    operands = [normal(9, 104, scale=3)]
    if op == "softmax_backward":
        operands.append(operands[0].softmax(1))
    there = [t.to(device_of(None)) for t in operands]
    first = run(op, name, *there, arch=None)
    assert same_bits(first, run(op, name, *there, arch=None))
    torch.testing.assert_close(first, run(op, name, *operands), rtol=2**-22, atol=2**-24)
