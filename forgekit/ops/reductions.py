"""Build the launch for a call to a sum, a softmax or its gradient, for any shape and strides.

Kernels take rows (M, N) or columns (O, M, N). This module chooses between them, and determines
whether operands must first be copied or divided into pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
VARIANTS = {  # for each operator; the gradient of softmax has softmax's variants
    "reduce_sum": (*STEPS["reduce_sum"], "vectorized", "split"),
    "softmax": _SOFTMAX,
    "softmax_backward": _SOFTMAX,
}
BY_COLUMNS = (None, "vectorized", "split")  # variants that also reduce over columns


def check_operand(op: str, x: Any, dim: object, variant: object, name: str = "x") -> None:
    """Raise UsageError for an unsupported tensor, dim or variant."""
    check_tensor(x, name)
    check_float(x.dtype, name)
    normal_dim(dim, x.dim())
    check_variant(variant, VARIANTS[op])


def launcher(call: Call) -> Launch | None:
    """Return a function that stores a call's result in a contiguous tensor, or None if the result
    has no elements.

    The kernel is compiled in the first call that needs it. The result of a sum may keep dim, with
    size 1.

    Raises:
        UsageError: the dim or variant does not exist, the dtype is unsupported, or a softmax has
            more than 2^30 elements along dim.
    """
    check_float(call.dtype)
    check_variant(call.variant, VARIANTS[call.op])
    if call.variant == "cluster" and clusters_of(call.arch) == 1:
        remedy = "leave variant out; without a GPU, fk.use_target('virtual', arch='sm_90a')"
        raise usage_error("variant", "'cluster'", "a GPU with clusters, sm_90 or later", remedy)
    call = call._replace(dim=normal_dim(call.dim, len(call.shape)))
    if not call.shape:  # the single element forms one row
        call = call.contiguous((1,), 0)._replace(addresses=call.addresses)
    sums = call.kind == "sum"
    if 0 in (_without(call.shape, call.dim) if sums else call.shape):
        return None
    if sums and call.shape[call.dim] == 0:
        return lambda x, y: y.zero_()
    way = _way(call)
    return _from_copies(call) if way is None else _launch_by(call, way)


# -- reading in place -----------------------------------------------------------------------------
class Way(NamedTuple):
    """A way to read operands in place: along the rows or along the columns of the view."""

    launch: Callable[[Call, View], Launch]
    view: View


def _way(call: Call) -> Way | None:
    """Return the way to read the operands in place, or None if they must be copied first."""
    return _way_of_sum(call) if call.kind == "sum" else _way_of_softmax(call)


def _way_of_sum(call: Call) -> Way | None:
    shape, dim = call.shape, call.dim
    kept = contiguous_strides(_without(shape, dim))
    view = fold(shape, (*call.strides, (*kept[:dim], 0, *kept[dim:])), dim)
    if view is None:
        return None
    columns = _as_columns(view)
    if columns is not None and call.variant in BY_COLUMNS:
        return Way(launch_columns, columns)
    # Read rows if they are evenly spaced (one dimension is not reduced) and columns are not better.
    rows = view.outer == 1 or (columns is None and view.inner == 1)
    return Way(launch_rows, view) if rows else None


def _as_columns(view: View) -> View | None:
    """Return the view as columns if elements along its rows are contiguous, or None if it is better
    to read rows."""
    (outer, reduced, inner), kept = view.strides
    if view.inner > 1:
        return view if inner == 1 else None
    if outer == 1 and view.outer > 1 and reduced != 1 and view.reduced > 1:
        return View(1, view.reduced, view.outer, ((0, reduced, 1), (0, 0, kept[0])))
    return None


def _way_of_softmax(call: Call) -> Way | None:
    view = fold(call.shape, (*call.strides, contiguous_strides(call.shape)), call.dim)
    if view is None or not _has_neighbours(view):
        return None
    if view.inner == 1:
        return Way(launch_rows, view)
    return Way(launch_columns, view) if call.variant in BY_COLUMNS else None


def _has_neighbours(view: View) -> bool:
    """Return True if neighbouring threads can access neighbouring elements, along rows or across
    columns."""
    mode = 1 if view.inner == 1 else 2
    return (view.inner == 1 and view.reduced == 1) or all(s[mode] == 1 for s in view.strides)


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return shape[:dim] + shape[dim + 1 :]


def _launch_by(call: Call, way: Way) -> Launch:
    """Return a launch of one kernel, or of several if a size is too large for a single launch."""
    sums, shape, dim, view = call.kind == "sum", call.shape, call.dim, way.view
    if not sums and view.reduced > PIECE:
        remedy = "compute it piece by piece"
        raise usage_error("size of dim", view.reduced, f"at most {PIECE}", remedy)
    if max(view.outer, view.reduced, view.inner) <= PIECE:
        return way.launch(call, view)
    longest = max((k for k in range(len(shape)) if sums or k != dim), key=lambda k: shape[k])
    return _sum_of_pieces(call) if longest == dim else _in_pieces(call, longest)


# -- copies ---------------------------------------------------------------------------------------
def _from_copies(call: Call) -> Launch:
    """Return a launch on contiguous copies of the operands. For variants from the lessons, which
    reduce only over rows, the launch moves dim to the end and back."""
    dim, last = call.dim, len(call.shape) - 1
    if dim == last or call.variant in BY_COLUMNS:
        run = _launch_contiguous(call.contiguous(call.shape, dim))
        return lambda *tensors: run(*map(aligned, tensors[:-1]), tensors[-1])
    moved = (*_without(call.shape, dim), call.shape[dim])
    run = _launch_contiguous(call.contiguous(moved, last))

    def launch(*tensors: Tensor) -> None:
        *operands, result = tensors
        turned = [aligned(x.movedim(dim, -1)) for x in operands]
        if call.kind == "sum":
            run(*turned, result)
            return
        own = torch.empty_like(turned[0])
        run(*turned, own)
        result.copy_(own.movedim(-1, dim))

    return launch


def _launch_contiguous(call: Call) -> Launch:
    way = _way(call)
    assert way is not None, "a contiguous tensor needs no copies"
    return _launch_by(call, way)


# -- sizes beyond 32 bits --------------------------------------------------------------------------
def _in_pieces(call: Call, mode: int) -> Launch:
    """Return a launch that handles one piece at a time along a dimension that is not reduced."""
    size, dim = call.shape[mode], call.dim
    step = min(PIECE // 2, -(-size // 2))
    sums = call.kind == "sum"
    shape = _without(call.shape, dim) if sums else call.shape
    target = mode - (sums and mode > dim)  # the result's dimension for `mode`

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
    """Return a launch that sums one piece of the reduced dimension at a time and then adds up the
    pieces' sums."""
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
    """Compute a piece, or the total of the pieces' sums, as a smaller call; the last tensor is the
    result."""
    *operands, result = tensors
    run = launcher(Call.of(call.op, *operands, arch=call.arch, dim=call.dim, variant=call.variant))
    if run is not None:
        run(*operands, result)
