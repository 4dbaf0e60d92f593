"""Test every operator with PyTorch's features: gradients, modes, traces, torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.autograd.functional import jacobian
from torch.utils._python_dispatch import TorchDispatchMode

import forgekit as fk
from forgekit.benching.suites.suite import OPERATORS
from forgekit.ops import copy_transpose, reduce_sum, softmax, softmax_backward, use_backend

Function = Callable[..., torch.Tensor]

# Functions of one tensor (M, N), computed by forgekit's operators and by PyTorch.
BOTH: dict[str, tuple[Function, Function]] = {
    "copy_transpose": (copy_transpose, lambda x: x.t().contiguous()),
    "reduce_sum": (reduce_sum, lambda x: x.sum(-1)),
    "softmax": (softmax, lambda x: x.softmax(-1)),
    "softmax_backward": (
        lambda x: softmax_backward(x, x),
        lambda x: x * (x - (x * x).sum(-1, keepdim=True)),
    ),
}


OPS = torch.ops.forgekit


@pytest.fixture(params=BOTH)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def both(name: str) -> tuple[Function, Function]:
    return BOTH[name]


def test_one_list_has_all_operators() -> None:
    known = (name.split("::") for name in torch._C._dispatch_get_all_op_names())
    assert {name for space, name in known if space == "forgekit"} == set(OPERATORS)
    assert set(OPERATORS) == set(BOTH) < set(fk.ops.__all__)


# -- with and without the dispatcher ---------------------------------------------------------
def dispatched(call: Callable[[], object]) -> set[str]:
    """Return the forgekit operators that PyTorch's dispatcher calls, as recorded by a profiler."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        call()
    return {event.name for event in profiled.events() if event.name.startswith("forgekit::")}


class Seen(TorchDispatchMode):
    """A mode that records the operators that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_no_dispatcher_unless_something_needs_it(
    name: str, both: tuple[Function, Function], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = both
    x = torch.randn(3, 4)
    with monkeypatch.context() as patch:
        patch.delattr("forgekit.ops.operators.Operator._recorded")
        assert not dispatched(lambda: ours(x))
    assert not dispatched(lambda: ours(x.requires_grad_()).pow(2).sum().backward())
    operands = (x, x) if name == "softmax_backward" else (x,)
    assert dispatched(lambda: getattr(OPS, name)(*operands)) == {f"forgekit::{name}"}
    with Seen() as seen:
        ours(x.detach())
    assert f"forgekit.{name}.default" in seen.names


def test_no_gradient_where_none_is_wanted(both: tuple[Function, Function]) -> None:
    ours, _ = both
    x = torch.nn.Parameter(torch.randn(3, 4))
    assert ours(x).requires_grad
    with torch.no_grad():
        assert not ours(x).requires_grad
    with torch.inference_mode():
        assert torch.equal(ours(x), ours(x.detach()))


def test_what_python_operators_cannot_is_refused(both: tuple[Function, Function]) -> None:
    ours, theirs = both
    x = torch.randn(3, 4)
    with pytest.raises(fk.UsageError, match=r"inside torch\.func\.grad"):
        torch.func.grad(lambda a: ours(a).pow(2).sum())(x)
    with pytest.raises(fk.UsageError, match=r"inside torch\.func\.grad"):
        torch.func.grad(lambda a: torch.func.vmap(ours)(a[None]).pow(2).sum())(x)
    with forward_ad.dual_level(), pytest.raises(fk.UsageError, match="dual tensor"):
        ours(forward_ad.make_dual(x, torch.randn(3, 4)))
    # the dispatcher also computes results for which no derivative is requested
    found = torch.func.grad(lambda p: (p * ours(x)).sum())(torch.randn_like(theirs(x)))
    torch.testing.assert_close(found, theirs(x))
    batch = torch.randn(3, 2, 4)
    expected = torch.stack([theirs(each) for each in batch.unbind(1)])
    torch.testing.assert_close(torch.func.vmap(ours, in_dims=1)(batch), expected)


def test_fake_and_meta_tensors(both: tuple[Function, Function]) -> None:
    ours, theirs = both
    with FakeTensorMode():
        x = torch.empty(4, 3).t()
        y, expected = ours(x), theirs(x)
    assert y.shape == expected.shape and y.is_contiguous()
    meta = ours(torch.empty(3, 4, device="meta", dtype=torch.float16))
    assert (meta.shape, meta.dtype, meta.device.type) == (y.shape, torch.float16, "meta")


OPCHECKS: list[tuple[str, tuple[Any, ...]]] = [
    ("copy_transpose", (32,)),
    ("reduce_sum", (0,)),
    ("reduce_sum", (-2, True)),
    ("softmax", (0,)),
    ("softmax", (0, None, "ref")),
    ("softmax_backward", (-1,)),
]


@pytest.mark.parametrize(("op", "options"), OPCHECKS, ids=str)
def test_opcheck(op: str, options: tuple[Any, ...]) -> None:
    operands = [torch.randn(3, 4, requires_grad=True)]
    if op == "softmax_backward":
        operands.append(torch.rand(4, 3).t().requires_grad_())
    torch.library.opcheck(getattr(OPS, op), (*operands, *options))


# -- batches of gradients, traces, torch.compile ---------------------------------------------
@pytest.mark.parametrize(("backend", "dynamic"), [("eager", False), ("aot_eager", True)])
def test_compile(backend: str, dynamic: bool) -> None:
    def ours(x: torch.Tensor) -> torch.Tensor:
        turned = copy_transpose(copy_transpose(x * 2, tile=32))
        sums = reduce_sum(x * 2, 0) + reduce_sum(x, -1, True)
        return softmax(x * 2, 0) + softmax_backward(x, softmax(x), -1) + turned + sums

    def theirs(x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x, -1)
        sums = 2 * x.sum(0) + x.sum(-1, True)
        return torch.softmax(x * 2, 0) + y * (x - (x * y).sum(-1, keepdim=True)) + x * 2 + sums

    torch._dynamo.reset()
    compiled = torch.compile(ours, fullgraph=True, backend=backend, dynamic=dynamic)
    for rows in (3, 5):
        x = torch.randn(rows, 4, requires_grad=True)
        weight = torch.randn(rows, 4)
        found, expected = compiled(x), theirs(x)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        (found,) = torch.autograd.grad(found, x, weight)
        (expected,) = torch.autograd.grad(expected, x, weight)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_batches_of_gradients(both: tuple[Function, Function]) -> None:
    """`vectorize=True` passes many gradients as one tensor without memory."""
    ours, theirs = both
    x = torch.randn(3, 4)
    expected = jacobian(theirs, x)
    torch.testing.assert_close(jacobian(ours, x, vectorize=True), expected, rtol=1e-5, atol=1e-6)
    with use_backend("ref"):
        found = jacobian(ours, x, vectorize=True)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_trace_computes_again(both: tuple[Function, Function]) -> None:
    ours, theirs = both
    traced = torch.jit.trace(ours, torch.randn(3, 4))
    x = torch.randn(3, 4)
    torch.testing.assert_close(traced(x), theirs(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "words"),
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
def test_mistakes_are_said_through_torch_compile(function: Any, words: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    with pytest.raises(Exception) as caught:  # Dynamo's own error, which quotes forgekit's
        compiled(torch.randn(3, 4))
    assert words in str(caught.value)


def test_the_operators_check_too() -> None:
    x = torch.zeros(3, 3)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: OPS.softmax(x.int()), "int32"),
        (lambda: OPS.softmax_backward(x, x, 5), "dim: got 5"),
        (lambda: OPS.softmax_backward(x, torch.zeros(3, 4)), r"grad\.shape"),
        (lambda: OPS.reduce_sum(x.int()), "int32"),
        (lambda: OPS.reduce_sum(x, 5), "dim: got 5"),
        (lambda: OPS.copy_transpose(x[0]), "2 dimensions"),
        (lambda: OPS.copy_transpose(x, 5), "tile: got 5"),
        (lambda: softmax(x.double().requires_grad_()), "float64"),
        (lambda: reduce_sum(torch.zeros(3, requires_grad=True), 5), "dim: got 5"),
        (lambda: softmax(torch.zeros(3, 4, device="meta"), 2), "dim: got 2"),
        (lambda: reduce_sum(torch.zeros(3, 4, device="meta"), 2), "dim: got 2"),
    ]
    for call, words in calls:
        with pytest.raises(fk.UsageError, match=words):
            call()
