"""Test the kernels of reduce_sum: values against float64, the same bits in every run, order of
threads."""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import replace
from typing import Any

import pytest
import torch

import forgekit as fk
from forgekit.compiling.replay import run_again
from forgekit.ops import row_launch
from forgekit.ops.columns import ColumnChoice, compile_columns
from forgekit.ops.launching import clusters_of
from forgekit.ops.row_launch import compile_rows, compile_step, shared
from forgekit.ops.tile_choice import RowChoice
from tests.kernels.rowwise import (
    DTYPES,
    INF,
    NAN,
    WHERE,
    Output,
    assert_sums,
    device_of,
    need_clusters,
    normal,
    placed,
    same_bits,
)

STEPS = row_launch.STEPS["reduce_sum"]


def row_choices(dtype: torch.dtype) -> dict[str, RowChoice]:
    V = 16 // dtype.itemsize
    return {
        "elements": RowChoice("sum", 32, 8, 4, 1),
        "vectors": RowChoice("sum", 64, 4, 2, V),
        "unaligned": RowChoice("sum", 64, 2, 2, V, unaligned=True),
        "cluster": RowChoice("sum", 64, 1, 2, V, cluster=4),
        "cluster, unaligned": RowChoice("sum", 32, 1, 1, V, cluster=8, unaligned=True),
        "cluster, many warps": RowChoice("sum", 544, 1, 1, V, cluster=2),
        "split": RowChoice("split", 64, 1, 2, V, split=3),
        "short": RowChoice("short", 128, 2, 3, V),
        "short, in turn": RowChoice("short", 32, 2, 3, V, turns=3),
    }


COLUMNS = {
    "one vector": ColumnChoice(1, 4, 4, 4),
    "elements": ColumnChoice(32, 4, 4, 1),
    "pairs": ColumnChoice(4, 8, 2, 2),
    "one row of threads": ColumnChoice(32, 1, 4, 4),
    "cluster of 2": ColumnChoice(4, 16, 4, 4, cluster=2),
    "cluster of 8": ColumnChoice(8, 4, 1, 4, cluster=8),
    "split": ColumnChoice(4, 8, 2, 4, split=5),
}


def row_sums(choice: RowChoice, x: torch.Tensor, arch: str | None) -> torch.Tensor:
    y = Output((x.shape[0],), x.dtype, arch)
    row_kernel(choice, x.dtype, arch)(x, y.tensor)
    return y.read()


def row_kernel(choice: RowChoice, dtype: torch.dtype, arch: str | None) -> Any:
    run = compile_rows("sum", choice, dtype, arch)
    return shared("sum", run, choice) if choice.kernel == "split" else run


def column_sums(choice: ColumnChoice, x: torch.Tensor, arch: str | None) -> torch.Tensor:
    dtype = torch.float32 if choice.split > 1 else x.dtype
    y = Output((choice.split, x.shape[0], x.shape[2]), dtype, arch)
    compile_columns("sum", choice, x.dtype, arch)(x, y.tensor)
    return y.read().sum(0)


def step_sums(variant: str, x: torch.Tensor, arch: str | None) -> torch.Tensor:
    y = Output((x.shape[0],), x.dtype, arch)
    compile_step("reduce_sum", variant, x.shape[1], x.dtype, arch)(x, y.tensor)
    return y.read()


# -- values ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, torch.float32) for name in ("elements", "cluster", "short")),
     *((name, torch.bfloat16) for name in ("unaligned", "split", "short, in turn")),
     *((name, torch.float16) for name in ("vectors", "cluster, unaligned"))],
    ids=str,
)  # fmt: skip
def test_rows(name: str, dtype: torch.dtype, arch: str | None) -> None:
    choice = row_choices(dtype)[name]
    need_clusters(choice.cluster, arch)
    V = choice.vector
    sizes = (1, 3, 5, 33, 1000, 1031) if choice.unaligned or V == 1 else (V, 3 * V, 128 * V, 1032)
    if choice.kernel == "short":
        sizes = tuple(N for N in sizes if choice.threads * choice.loads * V >= N)
    for N, M in itertools.product(sizes, (1, 5)):
        x = normal(M, N, dtype=dtype, arch=arch)
        x = placed(x, N % V, N + 3) if choice.unaligned else x
        assert_sums(row_sums(choice, x, arch), x, 1)


SHORT = {
    "one thread per row": RowChoice("short", 1, 64, 5, 1, turns=3),
    "more turns than lanes": RowChoice("short", 2, 48, 2, 8, turns=5),
    "fewer turns than lanes": RowChoice("short", 8, 12, 2, 8, turns=2),
    "one line per load": RowChoice("short", 8, 8, 1, 8, turns=4, whole=1),
    "a warp": RowChoice("short", 32, 2, 1, 8, turns=4),
    "a block": RowChoice("short", 96, 1, 2, 8),
    "vectors of 8 bytes": RowChoice("short", 64, 4, 3, 4),
    "vectors of 4 bytes, 16 warps": RowChoice("short", 512, 1, 12, 2),
    "elements, 32 warps": RowChoice("short", 1024, 1, 15, 1),
    "32 warps": RowChoice("short", 1024, 1, 5, 8),
}


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", SHORT)
def test_short_rows(name: str, arch: str | None) -> None:
    """The test uses as many rows as one and three blocks hold, one row fewer and one row more. Rows
    fill their threads' vectors or are one vector shorter."""
    choice = SHORT[name]
    dtype = torch.float32 if choice.vector == 1 else torch.float16
    whole = choice.threads * choice.loads * choice.vector
    for M in (1, *(choice.rows * choice.turns * k + d for k in (1, 3) for d in (-1, 0, 1))):
        for N in {whole, whole if choice.whole else whole - choice.vector}:
            x = normal(max(M, 1), N, dtype=dtype, arch=arch)
            assert_sums(row_sums(choice, x, arch), x, 1)


def test_loads_of_large_tensors_are_first_to_evict() -> None:
    for choice in (SHORT["one line per load"], replace(SHORT["one line per load"], once=True)):
        ptx = compile_rows("sum", choice, torch.float16, "sm_90a").ptx
        assert ("evict_first" in ptx) == choice.once


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name: str, arch: str | None) -> None:
    choice = COLUMNS[name]
    need_clusters(choice.cluster, arch)
    dtype = torch.float16 if choice.vector == 2 else torch.float32
    for (outer, M), vectors in itertools.product(((1, 1), (3, 37), (1, 300)), (1, 3, 19)):
        x = normal(outer, M, vectors * choice.vector, dtype=dtype, arch=arch)
        assert_sums(column_sums(choice, x, arch), x, 1)


@pytest.mark.parametrize("arch", WHERE)
def test_columns_of_halves(arch: str | None) -> None:
    for choice in (ColumnChoice(4, 8, 4, 8), ColumnChoice(4, 8, 4, 8, cluster=4)):
        if choice.cluster <= clusters_of(arch):
            x = normal(2, 150, 40, dtype=torch.float16, arch=arch)
            assert_sums(column_sums(choice, x, arch), x, 1)


@pytest.mark.parametrize("arch", WHERE)
def test_columns_with_something_between(arch: str | None) -> None:
    x = normal(3, 41, 24, arch=arch)[1:, 2:39:3, 4:20]
    for name in ("one vector", "split"):
        assert_sums(column_sums(COLUMNS[name], x, arch), x, 1)


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("variant", STEPS)
def test_steps(variant: str, dtype: torch.dtype, arch: str | None) -> None:
    for M, N in ((1, 1), (3, 5), (2, 256), (130, 33), (2, 1031)):
        x = normal(M, N, dtype=dtype, arch=arch)
        assert_sums(step_sums(variant, x, arch), x, 1)
    x = normal(40, 60, dtype=dtype, arch=arch)
    for view in (x.t(), x[:, 1::2], x[3:4].expand(9, -1)):
        assert_sums(step_sums(variant, view, arch), view, 1)


@pytest.mark.parametrize("arch", ["sm_80", "sm_100a"])
def test_other_architectures(arch: str) -> None:
    x = normal(3, 130, 40, dtype=torch.bfloat16)
    columns = ColumnChoice(4, 8, 4, 8, cluster=2 if arch == "sm_100a" else 1)
    assert_sums(column_sums(columns, x, arch), x, 1)
    rows = row_choices(x.dtype)["cluster, unaligned" if arch == "sm_100a" else "unaligned"]
    assert_sums(row_sums(rows, x[0], arch), x[0], 1)


# -- guarantees of float32 sums --------------------------------------------------------------------


def sums(name: str, x: torch.Tensor, arch: str | None) -> torch.Tensor:
    """Return the sums of the rows of x (M, N) by any kernel; N is a multiple of the vector."""
    if name in STEPS:
        return step_sums(name, x, arch)
    if name in COLUMN_NAMES:
        choice = COLUMN_NAMES[name]
        return column_sums(choice, x.t().contiguous()[None], arch)[0]
    return row_sums(row_choices(x.dtype)[name], x, arch)


COLUMN_NAMES = {f"columns, {name}": choice for name, choice in COLUMNS.items()}
NAMES = [*row_choices(torch.float32), *COLUMN_NAMES, *STEPS]


@pytest.mark.parametrize("name", NAMES)
def test_large_values_cancel(name: str) -> None:
    """All summands are multiples of 2^20 and less than 2^44 in magnitude, so the sums are exact."""
    dtype = torch.float16 if name == "columns, pairs" else torch.float32
    large = 2.0**15 if dtype == torch.float16 else 2.0**40
    x = torch.tensor([large, -large]).repeat(8, 160)
    x[:, 7] += large / 8
    x[:, 318] = -large / 4
    expected = x.double().sum(1)
    assert expected.abs().max() > 0
    assert torch.equal(sums(name, x.to(dtype), "sm_90a").double(), expected)


@pytest.mark.parametrize("name", ["vectors", "unaligned", "cluster", "naive", "smem", "shuffle"])
def test_halves_pass_what_they_cannot_hold(name: str) -> None:
    """Partial sums reach 120 times the largest float16, but the result is a float16."""
    x = torch.full((3, 480), 60000.0)
    x[:, 240:] = -60000.0
    x[:, 11] = 59968.0
    expected = torch.full((3,), -32.0, dtype=torch.float64)
    assert torch.equal(sums(name, x.half(), "sm_90a").double(), expected)


@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan(name: str) -> None:
    dtype = torch.float16 if name == "columns, pairs" else torch.float32
    x = normal(8, 320, dtype=dtype)
    x[0, 0], x[1, 319], x[2, 161], x[3, 5] = INF, -INF, NAN, INF
    x[3, 300] = -INF  # INF - INF is NaN
    y = sums(name, x, "sm_90a")
    assert torch.equal(y[:2], torch.tensor([INF, -INF], dtype=dtype))
    assert y[2:4].isnan().all() and y[4:].isfinite().all()


@functools.cache
def kernel_and_tensors(name: str) -> tuple[Any, ...]:
    """Return a compiled kernel and its tensors."""
    dtype = torch.float16 if name == "columns, pairs" else torch.float32
    x = normal(3, 328, dtype=dtype)
    if name in STEPS:
        return compile_step("reduce_sum", name, 0, dtype, "sm_90a"), x, torch.empty(3, dtype=dtype)
    if name in COLUMN_NAMES:
        choice = COLUMN_NAMES[name]
        x = normal(2, 82, 8, dtype=dtype)
        y = torch.empty((choice.split, 2, 8), dtype=torch.float32 if choice.split > 1 else dtype)
        return compile_columns("sum", choice, dtype, "sm_90a"), x, y
    row = row_choices(dtype)[name]
    x = placed(x, 3, 331) if row.unaligned else x
    parts = [torch.empty(3, row.split)] if row.kernel == "split" else []
    return compile_rows("sum", row, dtype, "sm_90a"), x, *parts, torch.empty(3)


@pytest.mark.parametrize("name", NAMES)
def test_no_order_of_threads_matters(name: str) -> None:
    kernel, *tensors = kernel_and_tensors(name)
    report = fk.sanitize(kernel, *tensors, schedule="adversarial")
    assert report and not report.findings, str(report)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_in_every_order_of_threads(name: str) -> None:
    kernel, *operands, y = kernel_and_tensors(name)
    first = y.clone()
    kernel(*operands, first)
    for seed in (1, 2):
        *_, again = run_again(kernel, (*operands, y), schedule="adversarial", seed=seed)[
            : len(operands) + 1
        ]
        assert same_bits(first, again)


def test_blocks_see_what_others_stored_for_them() -> None:
    """The second barrier of a cluster orders its stores; the virtual GPU does not model this
    order."""
    choice = ColumnChoice(32, 4, 4, 4, cluster=4)
    ptx = compile_columns("sum", choice, torch.float32, "sm_90a").ptx
    meetings = re.findall(r"barrier\.cluster\.\w+(?:\.relaxed)?|st\.shared::cluster", ptx)
    stored = meetings.index("st.shared::cluster")
    assert meetings[:stored] == ["barrier.cluster.arrive.relaxed", "barrier.cluster.wait"]
    assert meetings[-2:] == ["barrier.cluster.arrive", "barrier.cluster.wait"]


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_gpu_and_virtual_gpu_agree(name: str) -> None:
    """Both add in the same order, and two runs on the GPU return the same bits."""
    choice = row_choices(torch.float32).get(name) or COLUMN_NAMES.get(name)
    need_clusters(choice.cluster if choice else 1, None)
    dtype = torch.float16 if name == "columns, pairs" else torch.float32
    x = normal(8, 328, dtype=dtype)
    virtual, first = sums(name, x, "sm_90a"), sums(name, x.to(device_of(None)), None)
    assert same_bits(first, sums(name, x.to(device_of(None)), None))
    torch.testing.assert_close(first, virtual)
