"""What every operator does where PyTorch watches: batches of gradients, traces, torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd.functional import jacobian

from forgekit.ops import copy_transpose, reduce_sum, softmax, softmax_backward, use_backend

Function = Callable[..., torch.Tensor]

# Functions of one tensor (M, N), as forgekit's operators and as PyTorch computes them.
BOTH: dict[str, tuple[Function, Function]] = {
    "copy_transpose": (copy_transpose, lambda x: x.t().contiguous()),
    "reduce_sum": (reduce_sum, lambda x: x.sum(-1)),
    "softmax": (softmax, lambda x: x.softmax(-1)),
    "softmax_backward": (
        lambda x: softmax_backward(x, x),
        lambda x: x * (x - (x * x).sum(-1, keepdim=True)),
    ),
}


@pytest.fixture(params=BOTH)
def both(request: pytest.FixtureRequest) -> tuple[Function, Function]:
    return BOTH[request.param]


def test_batches_of_gradients(both: tuple[Function, Function]) -> None:
    """`vectorize=True` hands many gradients on as one tensor that has no memory of its own."""
    ours, theirs = both
    x = torch.randn(3, 4)
    expected = jacobian(theirs, x)
    torch.testing.assert_close(jacobian(ours, x, vectorize=True), expected, rtol=1e-5, atol=1e-6)
    with use_backend("ref"):
        found = jacobian(ours, x, vectorize=True)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_trace_computes_anew(both: tuple[Function, Function]) -> None:
    ours, theirs = both
    traced = torch.jit.trace(ours, torch.randn(3, 4))
    x = torch.randn(3, 4)
    torch.testing.assert_close(traced(x), theirs(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: softmax(x, 5), "dim: got 5"),
        (lambda x: softmax(x.double()), "x.dtype: got float64"),
        (lambda x: softmax(x, variant="fast"), "variant: got 'fast'"),
        (lambda x: softmax_backward(x, x.t()), "grad.shape: got (3, 4)"),
        (lambda x: reduce_sum(x, 5), "dim: got 5"),
        (lambda x: copy_transpose(x, tile=5), "tile: got 5"),
        (lambda x: copy_transpose(x[0]), "x: got shape (4,)"),
    ],
)
def test_mistakes_are_told_through_torch_compile(function: Any, told: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    with pytest.raises(Exception) as caught:  # Dynamo's own, which quotes ours
        compiled(torch.randn(3, 4))
    assert told in str(caught.value)
