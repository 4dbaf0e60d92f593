"""From a tensor's shape and strides to something that adds it up, compiled once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from forgekit.compiling.compiled import compile
from forgekit.compiling.specs import TensorSpec
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.column_choice import ColumnChoice, choose_columns
from forgekit.ops.dispatching import check_variant
from forgekit.ops.launching import PIECE, clusters_of, runner
from forgekit.ops.tile_choice import RowChoice, choose_rows
from forgekit.ops.tuned import tuned_rows
from forgekit.ops.views import View, contiguous_strides, fold

__all__ = ["VARIANTS", "compile_columns", "compile_rows", "launcher"]

Run = Callable[[torch.Tensor, torch.Tensor], None]

VARIANTS = ("naive", "smem", "shuffle", "vectorized", "split")


@functools.lru_cache(maxsize=4096)
def launcher(
    dtype: torch.dtype,
    arch: str | None,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    address: int,
    dim: int,
    variant: str | None = None,
) -> Run | None:
    """What adds up such an x along dim into a contiguous y without dim; None if y is empty.

    dtype, shape, stride (elements), address (bytes modulo 16) of x; arch: that of the virtual GPU,
    None for the GPU; dim counts from 0. Compiles at the first call of its kind.

    Raises:
        UsageError: no such variant.
    """
    check_variant(variant, VARIANTS)
    if 0 in shape[:dim] + shape[dim + 1 :]:
        return None
    if shape[dim] == 0:
        return _zero
    result = shape[:dim] + shape[dim + 1 :]
    kept = contiguous_strides(result)
    kept = (*kept[:dim], 0, *kept[dim:])
    view = fold(shape, (stride, kept), dim)
    if view is None:
        return _copied(launcher(dtype, arch, shape, contiguous_strides(shape), 0, dim, variant))
    by_columns = _as_columns(view)
    if by_columns is None and view.inner > 1 and view.outer > 1:
        return _copied(launcher(dtype, arch, shape, contiguous_strides(shape), 0, dim, variant))
    if max(view.outer, view.reduced, view.inner) > PIECE:
        return _in_pieces(dtype, arch, shape, dim, variant)
    if by_columns is not None and variant in (None, "vectorized", "split"):
        return _columns(dtype, arch, by_columns, address, variant)
    if by_columns is not None and view.outer > 1:
        return _copied_last(dtype, arch, shape, dim, variant)
    return _rows(dtype, arch, shape, view, address, variant)


def _as_columns(view: View) -> View | None:
    """The view as columns that lie side by side in memory; None if rows are the better view."""
    (outer, reduced, inner), kept = view.strides
    if view.inner > 1:
        return view if inner == 1 else None
    if outer == 1 and view.outer > 1 and reduced != 1 and view.reduced > 1:
        return View(1, view.reduced, view.outer, ((0, reduced, 1), (0, 0, kept[0])))
    return None


def _zero(x: torch.Tensor, y: torch.Tensor) -> None:
    """The sums of nothing."""
    y.zero_()


def _copied(run: Run | None) -> Run | None:
    """For an x whose dimensions do not fold: from a contiguous copy."""
    return run and (lambda x, y: run(x.contiguous(), y))


def _copied_last(
    dtype: torch.dtype, arch: str | None, shape: tuple[int, ...], dim: int, variant: str | None
) -> Run | None:
    """For the variants of a lesson, which know rows only: from a copy with dim last."""
    moved = (*shape[:dim], *shape[dim + 1 :], shape[dim])
    run = launcher(dtype, arch, moved, contiguous_strides(moved), 0, len(shape) - 1, variant)
    return run and (lambda x, y: run(x.movedim(dim, -1).contiguous(), y))


def _in_pieces(
    dtype: torch.dtype, arch: str | None, shape: tuple[int, ...], dim: int, variant: str | None
) -> Run:
    """A dimension longer than a kernel counts: piece by piece, then the sum of the pieces' sums."""

    mode = max(range(len(shape)), key=lambda k: shape[k])
    step = min(PIECE // 2, -(-shape[mode] // 2))

    def call(x: torch.Tensor, y: torch.Tensor) -> None:
        starts = range(0, shape[mode], step)
        parts = [x.narrow(mode, at, min(step, shape[mode] - at)) for at in starts]
        if mode != dim:
            target = mode - (mode > dim)
            for at, part in zip(starts, parts, strict=True):
                place = y.narrow(target, at, part.shape[mode])
                own = torch.empty_like(place, memory_format=torch.contiguous_format)
                _call(part, own, arch, dim, variant)
                place.copy_(own)
            return
        sums = y.new_empty((len(starts), *y.shape), dtype=torch.float32)
        for part, own in zip(parts, sums, strict=True):
            _call(part.float(), own, arch, dim, variant)
        total = torch.empty_like(sums[0])
        _call(sums, total, arch, 0, None)
        y.copy_(total)

    return call


def _call(
    x: torch.Tensor, y: torch.Tensor, arch: str | None, dim: int, variant: str | None
) -> None:
    run = launcher(
        x.dtype, arch, tuple(x.shape), x.stride(), x.data_ptr() % VECTOR_BYTES, dim, variant
    )
    if run is not None:
        run(x, y)


# -- rows -----------------------------------------------------------------------------------------
def _rows(
    dtype: torch.dtype, arch: str | None, shape: tuple[int, ...], view: View, address: int,
    variant: str | None,
) -> Run:  # fmt: skip
    """One mode besides the reduced one: a matrix (M, N)."""
    (outer, reduced, inner), _ = view.strides
    M, N, apart = view.outer * view.inner, view.reduced, outer or inner
    apart = apart if M > 1 else N
    step = reduced if N > 1 else 1
    if variant in ("naive", "smem", "shuffle"):
        call: Any = runner(_compile_step(variant, dtype, arch), arch)
    else:
        clusters = 1 if variant == "split" else clusters_of(arch)
        vector, edges = row_vectors(N, (apart,), (address,), dtype.itemsize, step, sums=True)
        choice = tuned_rows("sum", arch, M, N, dtype, vector, edges) if variant is None else None
        choice = choice or choose_rows("sum", M, N, dtype.itemsize, vector, edges, clusters)
        call = _with_parts(choice, dtype, arch, M)
    if len(shape) == 2 and (view.inner == 1) and M > 1 and N > 1:
        return lambda x, y: call(x, y if y.dim() == 1 else y.view(-1))
    return lambda x, y: call(x.as_strided((M, N), (apart, step)), y.view(-1))


def row_vectors(
    size: int, apart: tuple[int, ...], addresses: tuple[int, ...], itemsize: int, step: int,
    *, sums: bool = False,
) -> tuple[int, bool]:  # fmt: skip
    """Elements of an access to rows of operands, and whether rows have edges.

    apart: elements from row to row, of each operand; addresses: in bytes, modulo 16, of those that
    may lie anywhere; step: elements from one of a row to the next. sums: only one operand is read
    in vectors.
    """
    vector = VECTOR_BYTES // itemsize
    if step != 1 or size < 4 * vector:
        return 1, False
    if size % vector == 0 and not any(a % vector for a in apart) and not any(addresses):
        return vector, False
    together = sums or (len({a % vector for a in apart} | {size % vector}) == 1
                        and not any(addresses))  # fmt: skip
    return (vector, True) if together else (1, False)


def _with_parts(choice: RowChoice, dtype: torch.dtype, arch: str | None, rows: int) -> Run:
    """The kernel of a choice; where rows are split, and a second one for the sums of the parts."""
    run = runner(compile_rows(choice, dtype, arch), arch)
    if choice.split == 1:
        return run
    second = RowChoice("sum", 128, 1, 2, 1)
    add_up = runner(compile_rows(second, torch.float32, arch, result=dtype), arch)
    shape = (rows, choice.split)

    def both(x: torch.Tensor, y: torch.Tensor) -> None:
        parts = x.new_empty(shape, dtype=torch.float32)
        run(x, parts.view(-1))
        add_up(parts, y)

    return both


def compile_rows(
    choice: RowChoice, dtype: torch.dtype, arch: str | None, result: torch.dtype | None = None
) -> Any:
    """The compiled kernel of a choice: a function of x (M, N) and y (M · split).

    result: y's dtype, where it is not x's; parts are float32.
    """
    from forgekit.kernels.reduce_sum import RowSum, ShortRowSum

    x = row_spec(dtype, choice)
    y = TensorSpec(torch.float32 if choice.split > 1 else result or dtype, (None,), (1,))
    tile, target = tile_of(choice), "virtual" if arch else "gpu"
    kernel = ShortRowSum(tile, choice.turns) if choice.kernel == "short" else RowSum(tile)
    return compile(kernel, x, y, device=target, arch=arch)


def tile_of(choice: RowChoice) -> Any:
    """The `RowTile` of a choice."""
    from forgekit.kernels.rows import RowTile

    return RowTile(
        choice.threads, choice.rows, choice.loads, choice.vector, choice.cluster, choice.split,
        choice.whole, choice.edges,
    )  # fmt: skip


def row_spec(dtype: torch.dtype, choice: RowChoice) -> TensorSpec:
    """What rows of a choice look like: whole vectors, contiguous with edges, or anything."""
    if choice.vector == 1:
        return TensorSpec(dtype, (None, None), (None, None))
    if choice.edges:
        return TensorSpec(dtype, (None, None), (None, 1))
    return TensorSpec(dtype, (None, None), (None, 1), VECTOR_BYTES, {1: choice.vector})


def _compile_step(variant: str, dtype: torch.dtype, arch: str | None) -> Any:
    """A kernel on the way to the fastest."""
    from forgekit.kernels import reduce_steps as steps

    kernel = {"naive": steps.NaiveRowSum, "smem": steps.SharedRowSum,
              "shuffle": steps.ShuffleRowSum}[variant]()  # fmt: skip
    x = TensorSpec(dtype, (None, None), (None, None))
    y = TensorSpec(dtype, (None,), (1,))
    return compile(kernel, x, y, device="virtual" if arch else "gpu", arch=arch)


# -- columns --------------------------------------------------------------------------------------
def _columns(
    dtype: torch.dtype, arch: str | None, view: View, address: int, variant: str | None
) -> Run:
    """A tensor (O, M, N) with neighbouring columns side by side in memory."""
    (outer, reduced, _), _ = view.strides
    O, M, N = view.outer, view.reduced, view.inner  # noqa: E741
    outer, reduced = outer if O > 1 else M * N, reduced if M > 1 else N
    vector = column_vectors(N, (outer, reduced), (address,), dtype.itemsize)
    choice = choose_columns("sum", O, M, N, vector, 1 if variant == "split" else clusters_of(arch))
    run = runner(compile_columns(choice, dtype, arch), arch)
    sizes, steps, kept = (O, M, N), (outer, reduced, 1), (1, O, N)
    if choice.split == 1:
        return lambda x, y: run(x.as_strided(sizes, steps), y.view(kept))
    second = choose_columns("sum", 1, choice.split, O * N, split_vector(O * N), 1)
    assert second.cluster == second.split == 1, "parts are few"
    add_up = runner(compile_columns(second, torch.float32, arch, result=dtype), arch)

    def both(x: torch.Tensor, y: torch.Tensor) -> None:
        parts = x.new_empty((choice.split, O, N), dtype=torch.float32)
        run(x.as_strided(sizes, steps), parts)
        add_up(parts.view(1, choice.split, O * N), y.view(1, 1, O * N))

    return both


def split_vector(columns: int) -> int:
    """Elements of an access to float32 parts."""
    return 4 if columns % 4 == 0 else 1


def column_vectors(
    columns: int, apart: tuple[int, ...], addresses: tuple[int, ...], itemsize: int
) -> int:
    """Elements of an access to columns: the largest that divides all that it has to."""
    vector = VECTOR_BYTES // itemsize
    while vector > 1 and (
        any(n % vector for n in (columns, *apart))
        or any(a % (vector * itemsize) for a in addresses)
    ):
        vector //= 2
    return vector


def compile_columns(
    choice: ColumnChoice, dtype: torch.dtype, arch: str | None, result: torch.dtype | None = None
) -> Any:
    """The compiled `ColumnSum` of a choice: a function of x (O, M, N) and y (split, O, N)."""
    from forgekit.kernels.columns import ColumnTile
    from forgekit.kernels.reduce_sum import ColumnSum

    tile = ColumnTile(choice.lanes, choice.rows, choice.loads, choice.vector)
    out = torch.float32 if choice.split > 1 else result or dtype
    x, y = column_spec(dtype, choice.vector), column_spec(out, choice.vector)
    target = "virtual" if arch else "gpu"
    return compile(ColumnSum(tile, choice.cluster), x, y, device=target, arch=arch)


def column_spec(dtype: torch.dtype, vector: int) -> TensorSpec:
    """Tensors (O, M, N) that are read in vectors of columns."""
    align = min(vector * dtype.itemsize, VECTOR_BYTES)
    return TensorSpec(dtype, (None, None, None), (None, None, 1), align, {2: vector})
