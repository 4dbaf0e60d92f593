"""Choose and compile the kernel for a call that reduces rows."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from forgekit.compiling.compiled import compile
from forgekit.compiling.specs import TensorSpec
from forgekit.errors import usage_error
from forgekit.kernels import VECTOR_BYTES, WARP
from forgekit.ops.calls import Call, Launch, View, contiguous_strides
from forgekit.ops.launching import clusters_of, overlaps, runner, strided
from forgekit.ops.tile_choice import Kernel, Op, RowChoice, choose_rows, narrow_threads

# The lessons' variants, slowest first; `_step` maps them to classes.
STEPS: dict[str, tuple[str, ...]] = {
    "reduce_sum": ("naive", "smem", "shuffle"),
    "softmax": ("three_pass", "two_pass", "online"),
    "softmax_backward": (),
}


def launch_rows(call: Call, view: View) -> Launch:
    """Return a launch that reduces matrices (M, N) over N. A sum's result is a vector; a softmax's
    result is a matrix."""
    M, N = view.outer * view.inner, view.reduced
    apart = tuple((s[0] or s[2]) if M > 1 else N for s in view.strides)
    step = view.strides[0][1] if N > 1 else 1
    if call.variant in STEPS[call.op]:
        run = runner(compile_step(call.op, call.variant, N, call.dtype, call.arch), call.arch)
    else:
        run = run_of_choice(call, _choice(call, M, N, apart, step))
    as_they_are = len(call.shape) == 2 and view.inner == 1 and M > 1 and N > 1
    if call.kind != "sum":
        return run if as_they_are else strided(run, (M, N), [(each, 1) for each in apart])
    if as_they_are:
        return (lambda x, y: run(x, y.view(-1))) if call.keepdim else run
    return lambda x, y: run(x.as_strided((M, N), (apart[0], step)), y.view(-1))


def _choice(call: Call, rows: int, size: int, apart: tuple[int, ...], step: int) -> RowChoice:
    """Return the choice of `choose_rows`, adapted to the requested variant."""
    op = call.kind
    if op == "sum":
        apart = apart[:1]
    vector, unaligned = row_vectors(op, size, apart, call.addresses, call.dtype.itemsize, step)
    alone = call.variant == ("split" if op == "sum" else "vectorized")
    clusters = 1 if alone else clusters_of(call.arch)
    choice = choose_rows(op, rows, size, call.dtype.itemsize, vector, unaligned, clusters)
    return _in_a_cluster(choice, size) if call.variant == "cluster" else choice


def row_vectors(
    op: Op, size: int, apart: tuple[int, ...], addresses: tuple[int, ...], itemsize: int, step: int,
) -> tuple[int, bool]:  # fmt: skip
    """Return the elements per access to rows of operands, and True if rows are unaligned, that is,
    if they have elements before or after their whole vectors.

    apart: the distance between rows of each operand, in elements. addresses: the addresses of
    operands that may begin anywhere, in bytes modulo 16. step: the distance between elements of a
    row, in elements.
    """
    vector = VECTOR_BYTES // itemsize
    if step != 1:
        return 1, False
    whole = math.gcd(vector, size, *apart, *(address // itemsize for address in addresses))
    together = op == "sum" or (len({a % vector for a in apart} | {size % vector}) == 1
                               and not any(addresses))  # fmt: skip
    unaligned = whole < vector and size >= 4 * vector and together
    if unaligned and not narrow_threads(op, size, itemsize, whole):
        return vector, True
    return whole, False


def _in_a_cluster(choice: RowChoice, size: int) -> RowChoice:
    """Return the choice with at least two blocks per row, to measure the cost of a cluster."""
    if choice.cluster > 1:
        return choice
    vectors = -(-size // choice.vector)
    lanes = -(-vectors // (2 * choice.loads))
    threads = max(WARP, -(-lanes // WARP) * WARP)
    return RowChoice(
        "registers", threads, 1, choice.loads, choice.vector, 2, unaligned=choice.unaligned
    )


def run_of_choice(call: Call, choice: RowChoice) -> Launch:
    """Return a launch of a choice for operands (rows, N). Elements of a row must be contiguous
    unless the choice's vector is 1."""
    run = runner(compile_rows(call.kind, choice, call.dtype, call.arch), call.arch)
    return shared(call.kind, run, choice) if choice.kernel == "split" else run


def shared(op: Op, run: Launch, choice: RowChoice) -> Launch:
    """Return a launch that allocates memory for the partial results of blocks that share rows."""

    def with_parts(*operands: Tensor) -> None:
        *inputs, result = operands
        shape = parts_shape(op, choice, result.shape[0])
        run(*inputs, result.new_empty(shape, dtype=torch.float32), result)

    return with_parts


def parts_shape(op: Op, choice: RowChoice, rows: int = 1) -> tuple[int, ...]:
    """Return the shape of the partial results of blocks that share rows."""
    return (rows, choice.split, 2)[: 3 if op == "softmax" else 2]


# -- kernels --------------------------------------------------------------------------------------
def compile_rows(op: Op, choice: RowChoice, dtype: torch.dtype, arch: str | None) -> Any:
    """Return the compiled kernel of a choice. It takes x (M, N) and y (M) for "sum"; x and y for
    "softmax"; dy, y and dx for "softmax_backward", all (M, N). Kernels that split rows take a
    float32 tensor of `parts_shape` before the result.
    """
    from forgekit.kernels.rows import RowTile

    c = choice
    tile = RowTile(
        c.threads, c.rows, c.loads, c.vector, c.cluster, c.split, c.whole, c.unaligned,
        c.once, overlaps(arch),
    )  # fmt: skip
    kernel = row_kernels(op)[c.kernel](tile, *([c.turns] if c.kernel == "short" else []))
    x, sums = _row_spec(dtype, choice), TensorSpec(dtype, (None,), (1,))
    specs = {"sum": (x, sums), "softmax": (x, x), "softmax_backward": (x, x, x)}[op]
    if c.kernel == "split":
        shape = parts_shape(op, c)
        strides = contiguous_strides(shape)
        parts = TensorSpec(torch.float32, (None, *shape[1:]), strides)
        specs = (*specs[:-1], parts, specs[-1])
    return compile(kernel, *specs, device="virtual" if arch else "gpu", arch=arch)


def _row_spec(dtype: torch.dtype, choice: RowChoice) -> TensorSpec:
    """Return the spec of an operand: rows of whole vectors, contiguous rows at any address, or rows
    with any strides."""
    if choice.vector == 1:
        return TensorSpec(dtype, (None, None), (None, None))
    if choice.unaligned:
        return TensorSpec(dtype, (None, None), (None, 1))
    align = choice.vector * dtype.itemsize
    return TensorSpec(dtype, (None, None), (None, 1), align, {1: choice.vector})


def compile_step(op: str, variant: str, size: int, dtype: torch.dtype, arch: str | None) -> Any:
    """Return the compiled kernel of a lesson's variant for rows of this size; it takes x and y."""
    x, sums = TensorSpec(dtype, (None, None), (None, None)), TensorSpec(dtype, (None,), (1,))
    y = sums if op == "reduce_sum" else x
    return compile(_step(variant, size), x, y, device="virtual" if arch else "gpu", arch=arch)


# Importing CuTe DSL takes seconds, so these two functions import the kernels when called.
def row_kernels(op: Op) -> dict[Kernel, Any]:
    """Return an operator's kernel classes for rows; each takes a `RowTile`."""
    from forgekit.kernels import reduce_sum, softmax, softmax_streaming

    of_op: dict[Op, dict[Kernel, Any]] = {
        "sum": {
            "sum": reduce_sum.RowSum,
            "short": reduce_sum.ShortRowSum,
            "split": reduce_sum.SplitRowSum,
        },
        "softmax": {
            "registers": softmax.Softmax,
            "shared": softmax.StagedSoftmax,
            "streaming": softmax_streaming.StreamingSoftmax,
            "split": softmax_streaming.SplitSoftmax,
        },
        "softmax_backward": {
            "registers": softmax.SoftmaxBackward,
            "streaming": softmax_streaming.StreamingSoftmaxBackward,
            "split": softmax_streaming.SplitSoftmaxBackward,
        },
    }
    return of_op[op]


def _step(variant: str, size: int) -> Any:
    """Return the kernel object of a lesson's variant for rows of this size."""
    from forgekit.kernels import reduce_steps, softmax_steps

    if variant == "online":
        return softmax_steps.OnlineSoftmax(*online_tile(size))
    return {
        "naive": reduce_steps.NaiveRowSum,
        "smem": reduce_steps.SharedRowSum,
        "shuffle": reduce_steps.ShuffleRowSum,
        "three_pass": softmax_steps.ThreePassSoftmax,
        "two_pass": softmax_steps.TwoPassSoftmax,
    }[variant]()


def online_tile(size: int) -> tuple[int, int]:
    """Return the threads, and the elements per thread, with which the variant "online" keeps a row
    in registers.

    Raises:
        UsageError: a row has more than 32,768 elements.
    """
    loads = min(16, 1 << (-(-size // 256) - 1).bit_length())
    threads = min(1024, -(-size // (loads * WARP)) * WARP)
    loads = loads if threads * loads >= size else 32
    if threads * loads < size:
        needed, remedy = "at most 32768 for variant 'online'", "use another variant"
        raise usage_error("size of dim", size, needed, remedy)
    return threads, loads
