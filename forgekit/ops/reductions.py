"""From a call of a sum, a softmax or its gradient to what launches it, for any shape and strides.

Kernels take rows (M, N) or columns (O, M, N); here is decided which of them a call becomes, and
what is copied, or cut into pieces, before it is one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from forgekit.errors import usage_error
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.calls import Call, Launch, View, contiguous_strides, fold
from forgekit.ops.checks import check_float, check_tensor, check_variant, normal_dim
from forgekit.ops.columns import launch_columns
from forgekit.ops.launching import PIECE, aligned, clusters_of
from forgekit.ops.row_launch import STEPS, launch_rows

_SOFTMAX = (*STEPS["softmax"], "vectorized", "cluster")
VARIANTS = {  # that an operator takes; a gradient those of its softmax
    "reduce_sum": (*STEPS["reduce_sum"], "vectorized", "split"),
    "softmax": _SOFTMAX,
    "softmax_backward": _SOFTMAX,
}
BY_COLUMNS = (None, "vectorized", "split")  # variants that know columns; the others know rows only


def check_operand(op: str, x: Any, dim: object, variant: object, name: str = "x") -> None:
    """Raise UsageError for a tensor or a dim that cannot be reduced, or another variant."""
    check_tensor(x, name)
    check_float(x.dtype, name)
    normal_dim(dim, x.dim())
    check_variant(variant, VARIANTS[op])


def launcher(call: Call) -> Launch | None:
    """What computes a call into a contiguous result; None if that has no elements.

    Compiles at the first call of its kind. The result of a sum may have dim with size 1.

    Raises:
        UsageError: no such dim or variant, another dtype; of softmax, more than 2^30 elements along
            dim.
    """
    check_float(call.dtype)
    check_variant(call.variant, VARIANTS[call.op])
    call = call._replace(dim=normal_dim(call.dim, len(call.shape)))
    if not call.shape:  # the one element is a row
        row = launcher(call.contiguous((1,), 0)._replace(addresses=call.addresses))
        return row and (lambda *tensors: row(*(t.view(1) for t in tensors)))
    return _sum(call) if call.kind == "sum" else _softmax(call)


def _sum(call: Call) -> Launch | None:
    shape, dim, result = call.shape, call.dim, _without(call.shape, call.dim)
    if 0 in result:
        return None
    if shape[dim] == 0:
        return lambda x, y: y.zero_()
    kept = contiguous_strides(result)
    view = fold(shape, (*call.strides, (*kept[:dim], 0, *kept[dim:])), dim)
    columns = view and _as_columns(view)
    if view is None or (columns is None and view.inner > 1 and view.outer > 1):
        return _from_copies(call)
    if max(view.outer, view.reduced, view.inner) > PIECE:
        longest = max(range(len(shape)), key=lambda k: shape[k])
        return _sum_of_pieces(call) if longest == dim else _in_pieces(call, longest)
    if columns is not None and call.variant in BY_COLUMNS:
        return launch_columns(call, columns)
    if columns is not None and view.outer > 1:
        return _with_dim_last(call)
    return launch_rows(call, view)


def _as_columns(view: View) -> View | None:
    """The view as columns that lie side by side in memory; None if rows are the better view."""
    (outer, reduced, inner), kept = view.strides
    if view.inner > 1:
        return view if inner == 1 else None
    if outer == 1 and view.outer > 1 and reduced != 1 and view.reduced > 1:
        return View(1, view.reduced, view.outer, ((0, reduced, 1), (0, 0, kept[0])))
    return None


def _softmax(call: Call) -> Launch | None:
    if call.variant == "cluster" and clusters_of(call.arch) == 1:
        remedy = "leave variant out; without a GPU, fk.use_target('virtual', arch='sm_90a')"
        raise usage_error("variant", "'cluster'", "a GPU with clusters, sm_90 or later", remedy)
    if 0 in call.shape:
        return None
    view = fold(call.shape, (*call.strides, contiguous_strides(call.shape)), call.dim)
    if view is None or not _has_neighbours(view):
        return _from_copies(call)
    if view.reduced > PIECE:
        remedy = "compute it piece by piece"
        raise usage_error("size of dim", view.reduced, f"{PIECE} at most", remedy)
    if max(view.outer, view.inner) > PIECE:
        others = (k for k in range(len(call.shape)) if k != call.dim)
        return _in_pieces(call, max(others, key=lambda k: call.shape[k]))
    if view.inner == 1:
        return launch_rows(call, view)
    return launch_columns(call, view) if call.variant in BY_COLUMNS else _with_dim_last(call)


def _has_neighbours(view: View) -> bool:
    """Whether elements lie side by side where threads do: along rows, or across columns."""
    mode = 1 if view.inner == 1 else 2
    return (view.inner == 1 and view.reduced == 1) or all(s[mode] == 1 for s in view.strides)


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return shape[:dim] + shape[dim + 1 :]


# -- copies ---------------------------------------------------------------------------------------
def _from_copies(call: Call) -> Launch | None:
    """For operands whose dimensions do not fold: from contiguous copies."""
    copied = call.contiguous(call.shape, call.dim)
    assert copied != call, "a contiguous tensor folds"
    run = launcher(copied)
    return run and (lambda *tensors: run(*map(aligned, tensors[:-1]), tensors[-1]))


def _with_dim_last(call: Call) -> Launch:
    """For the variants of a lesson, which know rows only: from copies with dim last, and back."""
    dim = call.dim
    moved = (*_without(call.shape, dim), call.shape[dim])
    run = launcher(call.contiguous(moved, len(moved) - 1))
    assert run is not None

    def launch(*tensors: Tensor) -> None:
        *operands, result = tensors
        last = [aligned(x.movedim(dim, -1)) for x in operands]
        if call.kind == "sum":
            return run(*last, result)
        own = torch.empty_like(last[0])
        run(*last, own)
        result.copy_(own.movedim(-1, dim))
        return None

    return launch


# -- more than a kernel counts --------------------------------------------------------------------
def _in_pieces(call: Call, mode: int) -> Launch:
    """Piece by piece along a dimension that is not reduced."""
    size, dim = call.shape[mode], call.dim
    step = min(PIECE // 2, -(-size // 2))
    sums = call.kind == "sum"
    shape = _without(call.shape, dim) if sums else call.shape
    target = mode - (sums and mode > dim)  # that dimension of the result

    def launch(*tensors: Tensor) -> None:
        *operands, result = tensors
        result = result.view(shape)
        for at in range(0, size, step):
            length = min(step, size - at)
            place = result.narrow(target, at, length)
            whole = place.is_contiguous() and place.data_ptr() % VECTOR_BYTES == 0
            own = place if whole else torch.empty_like(place, memory_format=torch.contiguous_format)
            _launch(call, *(x.narrow(mode, at, length) for x in operands), own)
            if own is not place:
                place.copy_(own)

    return launch


def _sum_of_pieces(call: Call) -> Launch:
    """Piece by piece along the reduced dimension, then the sum of the pieces' sums."""
    step = min(PIECE // 2, -(-call.shape[call.dim] // 2))
    shape = _without(call.shape, call.dim)

    def launch(x: Tensor, y: Tensor) -> None:
        parts = x.split(step, call.dim)
        sums = y.new_empty((len(parts), *shape), dtype=torch.float32)
        for part, own in zip(parts, sums, strict=True):
            _launch(call, part.float(), own)
        total = torch.empty_like(sums[0])
        _launch(call._replace(dim=0, variant=None), sums, total)
        y.copy_(total.view(y.shape))

    return launch


def _launch(call: Call, *tensors: Tensor) -> None:
    """The same for other tensors, the last of which is the result."""
    *operands, result = tensors
    run = launcher(Call.of(call.op, *operands, arch=call.arch, dim=call.dim, variant=call.variant))
    if run is not None:
        run(*operands, result)
