"""Define the suites' operators: their inputs, minimum traffic, results and checks.

A result is correct if it satisfies `forgekit.check`'s rule with the tolerances in `dtypes.py`. This
module applies the rule with torch on the device, one slice at a time, because a result may have
2^31 elements. The reference is `forgekit.ref`, applied to the same inputs in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from forgekit import ref
from forgekit.benching.suites.suite import Case
from forgekit.devices import Target
from forgekit.dtypes import dtype_info

_EXACT = ("copy", "copy_transpose")
_PART = 2**25  # elements per chunk: 256 MB in float64
_COPIES = 6  # float64 copies of a chunk in memory at the peak of a comparison
_RESERVE = 512 * 2**20  # the buffer that flushes the L2 cache, plus the compiler's memory


@dataclass(frozen=True)
class BenchedOp:
    """An operator in the suites. inputs: the number of inputs; torch(*inputs, dim): a function that
    computes the result with the usual torch expression.
    """

    inputs: int
    torch: Callable[..., Tensor]


def _softmax_backward(grad: Tensor, y: Tensor, dim: int) -> Tensor:
    """Call the operation that torch's autograd uses."""
    result: Tensor = torch._softmax_backward_data(grad, y, dim, y.dtype)
    return result


BENCHED_OPS = {
    "copy": BenchedOp(1, lambda x, dim: x.clone()),  # used by notebook steps, but by no suite
    "copy_transpose": BenchedOp(1, lambda x, dim: x.t().contiguous()),
    "reduce_sum": BenchedOp(1, lambda x, dim: x.sum(dim)),
    "softmax": BenchedOp(1, lambda x, dim: x.softmax(dim)),
    "softmax_backward": BenchedOp(2, _softmax_backward),
}


def make_inputs(case: Case, device: torch.device) -> tuple[Tensor, ...]:
    """Return normally distributed inputs, the same for each call; for softmax_backward, the
    gradient and a softmax y. The values are drawn on the device, in the inputs' type, because there
    may be billions of them.
    """
    dtype = getattr(torch, case.dtype)

    def drawn(seed: int) -> Tensor:
        generator = torch.Generator(device).manual_seed(seed)
        return torch.randn(case.shape, dtype=dtype, device=device, generator=generator)

    if case.op == "softmax_backward":
        return drawn(1), drawn(0).softmax(case.dim)
    return (drawn(0),)


def result_shape(case: Case) -> tuple[int, ...]:
    """Return the shape of the operator's result."""
    m, n = case.shape
    if case.op == "copy_transpose":
        return (n, m)
    if case.op == "reduce_sum":
        return (n,) if case.dim == 0 else (m,)
    return case.shape


def moved_bytes(case: Case) -> int:
    """Return the minimum traffic in bytes: each input read once and the output written once."""
    inputs = BENCHED_OPS[case.op].inputs * case.elements
    return (inputs + math.prod(result_shape(case))) * getattr(torch, case.dtype).itemsize


def memory_needed(case: Case) -> int:
    """Return the approximate bytes of device memory needed to check and time the case."""
    another = math.prod(result_shape(case)) * getattr(torch, case.dtype).itemsize
    return moved_bytes(case) + another + 8 * _COPIES * min(case.elements, _PART) + _RESERVE


def lacking_memory(case: Case, target: Target) -> str:
    """Return a message if the device lacks memory for a case, otherwise an empty string."""
    if target.kind != "gpu":
        return ""
    torch.cuda.empty_cache()
    free, needed = torch.cuda.mem_get_info()[0], memory_needed(case)
    if needed <= free:
        return ""
    return f"needs about {needed / 1e9:.1f} GB of device memory; only {free / 1e9:.1f} GB is free"


def why_wrong(case: Case, inputs: tuple[Tensor, ...], result: Tensor) -> str | None:
    """Return None if the result is correct; otherwise return a message with the number of wrong
    elements and the worst element."""
    want = (result_shape(case), getattr(torch, case.dtype))
    if (tuple(result.shape), result.dtype) != want:
        return f"it is {tuple(result.shape)} {result.dtype}, but should be {want[0]} {want[1]}"
    wrong, worst = 0, (-1.0, "")
    for start, actual, expected in _parts(case, inputs, result):
        error = (actual.double() - expected).abs() / _allowed(case, expected)
        error = torch.where(actual == expected, 0.0, error).nan_to_num(math.inf, math.inf)
        wrong += int((error > 1).sum())
        at = int(error.argmax())
        value = float(error.flatten()[at])
        if value > worst[0]:
            # torch.unravel_index would import sympy
            index = [int(i) for i in np.unravel_index(at, actual.shape)]
            index[_result_axis(case)] += start
            got, needed = float(actual.flatten()[at]), float(expected.flatten()[at])
            worst = value, f"the worst is at {index}: got {got:.6g}, expected {needed:.6g}"
    return f"{wrong:,} of {result.numel():,} elements are wrong; {worst[1]}" if wrong else None


def _parts(
    case: Case, inputs: tuple[Tensor, ...], result: Tensor
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield (start, slice of the result, its reference) for each independent slice."""
    axis = 1 if case.dim == 0 else 0
    step = max(_PART * case.shape[axis] // case.elements, 1)
    for start in range(0, case.shape[axis], step):
        length = min(step, case.shape[axis] - start)
        sliced = [x.narrow(axis, start, length) for x in inputs]
        if case.op in _EXACT:
            expected = BENCHED_OPS[case.op].torch(*sliced, dim=case.dim)
        else:
            expected = getattr(ref, case.op)(*(x.double() for x in sliced), case.dim)
        yield start, result.narrow(_result_axis(case), start, length), expected


def _result_axis(case: Case) -> int:
    """Return the dimension along which the result is divided into slices."""
    if case.op == "reduce_sum":
        return 0
    return int(case.op == "copy_transpose" or case.dim == 0)


def _allowed(case: Case, expected: Tensor) -> Tensor | float:
    """Return the allowed error of each element; 0 for exact operations."""
    info = dtype_info(getattr(torch, case.dtype))
    if case.op in _EXACT:
        return info.smallest / 2
    scale = float(expected.square().mean().sqrt())
    atol = max(info.atol * min(1.0, scale), info.smallest)
    if case.op in ("reduce_sum", "softmax_backward"):
        # Sums near 0 result from cancellation, so the allowed error depends on the magnitude of a
        # typical result.
        atol = max(atol, info.rtol * scale)
    return atol + info.rtol * expected.abs()
