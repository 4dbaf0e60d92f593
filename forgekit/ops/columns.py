"""Choose and compile the kernel for a call that reduces columns.

`choose_columns` alone determines the configuration. Its choices were measured on one H200 on
2026-11-21; `book/measured/tiles_h200.json` contains the latest runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from forgekit.compiling.compiled import compile
from forgekit.compiling.specs import TensorSpec
from forgekit.kernels import VECTOR_BYTES, WARP
from forgekit.ops.calls import Call, Launch, View
from forgekit.ops.launching import clusters_of, overlaps, runner, strided
from forgekit.ops.tile_choice import SMS, Op, power_below


@dataclass(frozen=True)
class ColumnChoice:
    """The fields of a `ColumnTile`, and the number of blocks that share a column.

    cluster: the number of blocks in a cluster, which share a column. split: the number of parts of
    a column; a second kernel adds up the parts' sums."""

    lanes: int
    rows: int
    loads: int
    vector: int
    once: bool = False
    cluster: int = 1
    split: int = 1


def choose_columns(
    op: Op, outer: int, size: int, inner: int, vector: int, clusters: int
) -> ColumnChoice:
    """Return the configuration for `outer` matrices of `size` rows and `inner` columns, reduced
    over the rows.

    vector, clusters: as for `choose_rows`. In a softmax, one block must read all rows of a column.
    """
    side_by_side = -(-inner // vector)
    most = 1 << (side_by_side - 1).bit_length()
    lanes = tile = min(_lanes(64, vector), most)
    wide, tiles = (outer * -(-side_by_side // each) for each in (WARP, tile))  # numbers of blocks
    shared = False  # True if several blocks share columns
    if size <= 8:  # each thread reduces whole columns
        return ColumnChoice(min(128, max(WARP, most)), 1, _below(size, 8), vector, once=True)
    # There are enough blocks for all SMs, so blocks do not share columns.
    if op == "sum" and wide >= 6 * SMS:
        lanes, threads = WARP, 256
    elif op == "sum" and wide >= 3 * SMS:  # half as many blocks need twice the threads
        lanes, threads = WARP, 512
    elif op == "sum" and (size <= 128 or (size <= 1024 and tiles < 2 * SMS)):
        # There is little work, so all threads do it in one step.
        lanes, threads = min(_lanes(16, vector), most), 512
    else:  # use clusters, and larger blocks if clusters of 8 blocks would not fill the GPU
        shared, threads = True, 256 if tiles * 8 >= 2 * SMS else 512
    rows = _below(-(-size // 4), threads // lanes)
    if op != "sum":
        loads = 8 if rows * 4 < size <= rows * 8 and op == "softmax" else 4
        return ColumnChoice(lanes, rows, loads, vector, once=size <= rows * loads)
    cluster, split = _helpers(tiles, size // (rows * 4), clusters) if shared else (1, 1)
    return ColumnChoice(lanes, rows, 4, vector, cluster=cluster, split=split)


def _lanes(columns: int, vector: int) -> int:
    """Return the number of adjacent threads that read `columns` columns, between 4 and 32."""
    return max(4, columns // vector) if vector > 1 else min(WARP, columns)


def _helpers(tiles: int, most: int, clusters: int) -> tuple[int, int]:
    """Return (cluster, split): the blocks per cluster and the parts per column that provide about 4
    blocks per SM. A column is split into parts only if clusters of 8 blocks provide far too few
    blocks."""
    wanted = power_below(min(4 * SMS // tiles, most), 256)
    if wanted <= min(clusters, 8):
        return wanted, 1
    if clusters > 1 and tiles * 8 >= 2 * SMS:
        return 8, 1
    return 1, wanted


def _below(size: int, most: int) -> int:
    """Return the number of threads per column: `size` rounded up to a power of two, at least 2 and
    at most `most`."""
    return min(most, 1 << max(size - 1, 1).bit_length())


# -- launches -------------------------------------------------------------------------------------
def launch_columns(call: Call, view: View) -> Launch:
    """Return a launch that reduces tensors (O, M, N), contiguous along N, over M."""
    op = call.kind
    O, M, N = sizes = view.outer, view.reduced, view.inner  # noqa: E741
    read = view.strides[:1] if op == "sum" else view.strides
    steps = [(s[0] if O > 1 else M * N, s[1] if M > 1 else N, 1) for s in read]
    apart = tuple(step for s in steps for step in s[:2])
    vector = column_vectors(N, apart, call.addresses, call.dtype.itemsize)
    alone = op != "sum" or call.variant == "split"
    choice = choose_columns(op, O, M, N, vector, 1 if alone else clusters_of(call.arch))
    run = runner(compile_columns(op, choice, call.dtype, call.arch), call.arch)
    if choice.split > 1:
        return _sum_in_two_steps(call, run, choice, sizes, steps[0])
    if op == "sum":
        kept = (1, O, N)
        return lambda x, y: run(x.as_strided(sizes, steps[0]), y.view(kept))
    return strided(run, sizes, steps)


def _sum_in_two_steps(
    call: Call, run: Launch, choice: ColumnChoice, sizes: tuple[int, ...], step: tuple[int, ...]
) -> Launch:
    """Return a launch that sums the parts of each column and then adds up these partial sums."""
    outer, _, inner = sizes
    columns = outer * inner
    second = choose_columns("sum", 1, choice.split, columns, 4 if columns % 4 == 0 else 1, 1)
    assert second.cluster == second.split == 1, "parts are few"
    add_up = runner(
        compile_columns("sum", second, torch.float32, call.arch, result=call.dtype), call.arch
    )

    def both(x: Tensor, y: Tensor) -> None:
        parts = x.new_empty((choice.split, outer, inner), dtype=torch.float32)
        run(x.as_strided(sizes, step), parts)
        add_up(parts.view(1, choice.split, columns), y.view(1, 1, columns))

    return both


def column_vectors(
    columns: int, apart: tuple[int, ...], addresses: tuple[int, ...], itemsize: int
) -> int:
    """Return the number of elements per access to columns: the largest vector width that divides
    the number of columns, all strides and all addresses."""
    vector = VECTOR_BYTES // itemsize
    while vector > 1 and (
        any(n % vector for n in (columns, *apart))
        or any(a % (vector * itemsize) for a in addresses)
    ):
        vector //= 2
    return vector


def compile_columns(
    op: str, choice: ColumnChoice, dtype: torch.dtype, arch: str | None,
    *, result: torch.dtype | None = None,
) -> Any:  # fmt: skip
    """Return the compiled kernel for a choice. Its arguments are x (O, M, N) and y (split, O, N)
    for "sum", x and y for "softmax", and dy, y and dx for "softmax_backward", all (O, M, N).

    result: the dtype of the sums, if it differs from x's; partial sums are float32.
    """
    from forgekit.kernels.columns import ColumnTile
    from forgekit.kernels.reduce_sum import ColumnSum
    from forgekit.kernels.softmax_columns import ColumnSoftmax, ColumnSoftmaxBackward

    once = choice.once and op != "sum"  # each element is read once
    c = choice
    tile = ColumnTile(c.lanes, c.rows, c.loads, c.vector, once, overlaps(arch))
    x = _column_spec(dtype, choice.vector)
    sums = _column_spec(torch.float32 if choice.split > 1 else result or dtype, choice.vector)
    kernel, specs = {
        "sum": (lambda tile: ColumnSum(tile, choice.cluster), (x, sums)),
        "softmax": (ColumnSoftmax, (x, x)),
        "softmax_backward": (ColumnSoftmaxBackward, (x, x, x)),
    }[op]
    return compile(kernel(tile), *specs, device="virtual" if arch else "gpu", arch=arch)


def _column_spec(dtype: torch.dtype, vector: int) -> TensorSpec:
    """Return the spec for tensors (O, M, N) that are read in vectors along N."""
    align = min(vector * dtype.itemsize, VECTOR_BYTES)
    return TensorSpec(dtype, (None, None, None), (None, None, 1), align, {2: vector})
