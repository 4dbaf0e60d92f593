"""From tensors' shapes and strides to something that computes softmax or its gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from forgekit.compiling.compiled import compile
from forgekit.compiling.specs import TensorSpec
from forgekit.errors import UsageError, got_needed
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.column_choice import choose_columns
from forgekit.ops.dispatching import check_variant
from forgekit.ops.launching import PIECE, clusters_of, runner
from forgekit.ops.reduce_launch import column_spec, column_vectors, row_spec, row_vectors, tile_of
from forgekit.ops.tile_choice import Op, RowChoice, choose_rows
from forgekit.ops.tuned import tuned_rows
from forgekit.ops.views import View, contiguous_strides, fold

__all__ = ["VARIANTS", "backward_launcher", "compile_rows", "launcher"]

Run = Callable[..., None]

VARIANTS = ("three_pass", "two_pass", "online", "vectorized", "cluster")


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
    """What writes softmax of such an x along dim into a contiguous y; None if it is empty.

    dtype, shape, stride (elements), address (bytes modulo 16) of x; arch: that of the virtual GPU,
    None for the GPU; dim counts from 0. Compiles at the first call of its kind.

    Raises:
        UsageError: no such variant; more than 2^30 elements along dim.
    """
    return _launcher("softmax", dtype, arch, shape, (stride,), (address,), dim, variant)


@functools.lru_cache(maxsize=4096)
def backward_launcher(
    dtype: torch.dtype,
    arch: str | None,
    shape: tuple[int, ...],
    strides: tuple[tuple[int, ...], tuple[int, ...]],
    addresses: tuple[int, int],
    dim: int,
    variant: str | None = None,
) -> Run | None:
    """As `launcher`, for the gradient: a function of dy, y and dx; strides, addresses: of dy, y."""
    return _launcher("softmax_backward", dtype, arch, shape, strides, addresses, dim, variant)


def _launcher(
    op: Op, dtype: torch.dtype, arch: str | None, shape: tuple[int, ...],
    strides: tuple[tuple[int, ...], ...], addresses: tuple[int, ...], dim: int,
    variant: str | None,
) -> Run | None:  # fmt: skip
    check_variant(variant, VARIANTS)
    if variant == "cluster" and clusters_of(arch) == 1:
        remedy = "leave variant out; without a GPU, fk.use_target('virtual', arch='sm_90a')"
        raise UsageError(
            got_needed("variant", "'cluster'", "a GPU with clusters, sm_90 or later", remedy)
        )
    if 0 in shape:
        return None
    kept = contiguous_strides(shape)
    view = fold(shape, (*strides, kept), dim)
    # Neighbours in the mode that threads stand side by side in; a mode of size 1 has none.
    size, mode = (0, 0) if view is None else (view.reduced, 1) if view.inner == 1 else (2, 2)
    if view is None or (size > 1 and any(s[mode] != 1 for s in view.strides)):
        if all(s == kept for s in strides):
            raise AssertionError(f"a contiguous tensor does not fold: {shape}, dim {dim}")
        run = _launcher(op, dtype, arch, shape, (kept,) * len(strides), (0,) * len(strides), dim,
                        variant)  # fmt: skip
        return _contiguous(run, len(strides))
    if view.reduced > PIECE:
        raise UsageError(
            got_needed("size of dim", view.reduced, f"{PIECE} at most", "compute it piece by piece")
        )
    if max(view.outer, view.inner) > PIECE:
        return _in_pieces(op, dtype, arch, shape, dim, variant)
    if view.inner > 1:
        if variant in ("three_pass", "two_pass", "online", "cluster"):
            return _dim_last(op, dtype, arch, shape, dim, variant)
        return _columns(op, dtype, arch, view, addresses)
    return _rows(op, dtype, arch, shape, view, addresses, variant)


def _contiguous(run: Run | None, operands: int) -> Run | None:
    """For operands whose dimensions do not fold: from contiguous copies."""

    def call(*tensors: torch.Tensor) -> None:
        assert run is not None
        run(*map(_aligned, tensors[:operands]), tensors[operands])

    return run and call


def _aligned(t: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor that begins at a whole vector; `contiguous` leaves a contiguous one where
    it is."""
    t = t.contiguous()
    return t.clone() if t.data_ptr() % VECTOR_BYTES else t


def _dim_last(
    op: Op, dtype: torch.dtype, arch: str | None, shape: tuple[int, ...], dim: int,
    variant: str | None,
) -> Run:  # fmt: skip
    """For variants that know rows only: from copies with dim last, and back."""
    moved = (*shape[:dim], *shape[dim + 1 :], shape[dim])
    kept = contiguous_strides(moved)
    operands = 1 if op == "softmax" else 2
    run = _launcher(op, dtype, arch, moved, (kept,) * operands, (0,) * operands, len(shape) - 1,
                    variant)  # fmt: skip
    assert run is not None

    def call(*tensors: torch.Tensor) -> None:
        last = [_aligned(t.movedim(dim, -1)) for t in tensors[:operands]]
        result = torch.empty_like(last[0])
        run(*last, result)
        tensors[operands].copy_(result.movedim(-1, dim))

    return call


def _in_pieces(
    op: Op, dtype: torch.dtype, arch: str | None, shape: tuple[int, ...], dim: int,
    variant: str | None,
) -> Run:  # fmt: skip
    """More rows than a kernel counts: piece by piece along the longest other dimension."""
    mode = max((k for k in range(len(shape)) if k != dim), key=lambda k: shape[k])
    step = min(PIECE // 2, -(-shape[mode] // 2))

    def call(*tensors: torch.Tensor) -> None:
        for at in range(0, shape[mode], step):
            size = min(step, shape[mode] - at)
            *operands, y = (t.narrow(mode, at, size) for t in tensors)
            whole = y.is_contiguous() and y.data_ptr() % VECTOR_BYTES == 0
            own = y if whole else torch.empty(y.shape, dtype=dtype, device=y.device)
            run = _launcher(
                op, dtype, arch, tuple(y.shape), tuple(t.stride() for t in operands),
                tuple(t.data_ptr() % VECTOR_BYTES for t in operands), dim, variant,
            )  # fmt: skip
            assert run is not None
            run(*operands, own)
            if own is not y:
                y.copy_(own)

    return call


# -- rows -----------------------------------------------------------------------------------------
def _rows(
    op: Op, dtype: torch.dtype, arch: str | None, shape: tuple[int, ...], view: View,
    addresses: tuple[int, ...], variant: str | None,
) -> Run:  # fmt: skip
    """dim is the last: matrices (M, N)."""
    M, N = view.outer, view.reduced
    apart = [s[0] if M > 1 else N for s in view.strides]
    if op == "softmax" and variant in ("three_pass", "two_pass", "online"):
        run = runner(_compile_step(variant, N, dtype, arch), arch)
    else:
        clusters = 1 if variant == "vectorized" else clusters_of(arch)
        vector, edges = row_vectors(N, tuple(apart), addresses, dtype.itemsize, 1)
        choice = tuned_rows(op, arch, M, N, dtype, vector, edges) if variant is None else None
        choice = choice or choose_rows(op, M, N, dtype.itemsize, vector, edges, clusters)
        if variant == "cluster" and choice.cluster == 1:
            choice = _in_a_cluster(choice, N)
        run = runner(compile_rows(op, choice, dtype, arch), arch)
    if len(shape) == 2 and M > 1 and N > 1:
        return run

    def call(*tensors: torch.Tensor) -> None:
        run(*(t.as_strided((M, N), (step, 1)) for t, step in zip(tensors, apart, strict=True)))

    return call


def _in_a_cluster(choice: RowChoice, size: int) -> RowChoice:
    """The same for two blocks a row, where one would do: to see what that costs."""
    vectors = -(-size // choice.vector)
    lanes = -(-vectors // (2 * choice.loads))
    threads = max(32, -(-lanes // 32) * 32)
    return RowChoice("registers", threads, 1, choice.loads, choice.vector, 2, edges=choice.edges)


def compile_rows(op: Op, choice: RowChoice, dtype: torch.dtype, arch: str | None) -> Any:
    """The compiled kernel of a choice: a function of x and y, or of dy, y and dx, all (M, N)."""
    from forgekit.kernels import softmax, softmax_staged, softmax_streaming

    kernels = {
        ("softmax", "registers"): softmax.Softmax,
        ("softmax", "shared"): softmax_staged.StagedSoftmax,
        ("softmax", "streaming"): softmax_streaming.StreamingSoftmax,
        ("softmax_backward", "registers"): softmax.SoftmaxBackward,
        ("softmax_backward", "streaming"): softmax_streaming.StreamingSoftmaxBackward,
    }
    kernel: Any = kernels[op, choice.kernel](tile_of(choice))
    specs = [row_spec(dtype, choice)] * (2 if op == "softmax" else 3)
    return compile(kernel, *specs, device="virtual" if arch else "gpu", arch=arch)


def _compile_step(variant: str, size: int, dtype: torch.dtype, arch: str | None) -> Any:
    """A kernel on the way to the fastest; "online" keeps rows of up to 32,768 elements."""
    from forgekit.kernels import softmax_steps as steps

    kernel: Any
    if variant == "online":
        loads = min(16, 1 << (-(-size // 256) - 1).bit_length())
        threads = min(1024, -(-size // (loads * 32)) * 32)
        loads = loads if threads * loads >= size else 32
        if threads * loads < size:
            needed, remedy = "32768 at most for variant 'online'", "use another variant"
            raise UsageError(got_needed("size of dim", size, needed, remedy))
        kernel = steps.OnlineSoftmax(threads, loads)
    else:
        kernel = {"three_pass": steps.ThreePassSoftmax, "two_pass": steps.TwoPassSoftmax}[variant]()
    x = TensorSpec(dtype, (None, None), (None, None))
    return compile(kernel, x, x, device="virtual" if arch else "gpu", arch=arch)


# -- columns --------------------------------------------------------------------------------------
def _columns(
    op: Op, dtype: torch.dtype, arch: str | None, view: View, addresses: tuple[int, ...]
) -> Run:
    """Tensors (O, M, N), reduced over M, with neighbouring columns side by side in memory."""
    from forgekit.kernels.columns import ColumnTile
    from forgekit.kernels.softmax_columns import ColumnSoftmax, ColumnSoftmaxBackward

    O, M, N = sizes = view.outer, view.reduced, view.inner  # noqa: E741
    steps = [(s[0] if O > 1 else M * N, s[1] if M > 1 else N, 1) for s in view.strides]
    apart = tuple(step for s in steps for step in s[:2])
    vector = column_vectors(N, apart, addresses, dtype.itemsize)
    choice = choose_columns(op, O, M, N, vector, 1)
    tile = ColumnTile(choice.lanes, choice.rows, choice.loads, choice.vector, choice.once)
    kernel: Any = (ColumnSoftmax if op == "softmax" else ColumnSoftmaxBackward)(tile)
    specs = [column_spec(dtype, vector)] * len(steps)
    run = runner(compile(kernel, *specs, device="virtual" if arch else "gpu", arch=arch), arch)

    def call(*tensors: torch.Tensor) -> None:
        run(*(t.as_strided(sizes, step) for t, step in zip(tensors, steps, strict=True)))

    return call
