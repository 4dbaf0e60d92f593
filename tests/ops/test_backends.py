"""Test the choice of a backend (per call, in a block, by default) and user functions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import forgekit as fk
from forgekit import ops, ref
from forgekit.ops import backends, operators

X = torch.arange(12.0).reshape(3, 4) / 10
CALLS: dict[str, Callable[..., torch.Tensor]] = {
    "copy_transpose": lambda **more: ops.copy_transpose(X, **more),
    "reduce_sum": lambda **more: ops.reduce_sum(X, **more),
    "softmax": lambda **more: ops.softmax(X, **more),
    "softmax_backward": lambda **more: ops.softmax_backward(X, X, **more),
}


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """Undo a test's registrations and choices."""
    functions = {op: dict(known) for op, known in backends.functions.items()}
    yield
    backends.functions.update(functions)
    backends.defaults.clear()


class Mine:
    """A backend that counts its calls and returns the reference's result."""

    def __init__(self, op: str) -> None:
        self.function = getattr(ref, op)
        self.arguments: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> torch.Tensor:
        self.arguments.append(arguments[1:])
        result: torch.Tensor = self.function(*arguments)
        return result

    @property
    def calls(self) -> int:
        return len(self.arguments)


@pytest.fixture
def mine() -> dict[str, Mine]:
    """Register the backend "mine" for every operator."""
    made = {op: Mine(op) for op in CALLS}
    for op, function in made.items():
        ops.register_backend(op, "mine", function)
    return made


# -- choosing --------------------------------------------------------------------------------
@pytest.mark.parametrize("op", CALLS)
def test_the_kernel_unless_another_is_chosen(op: str, mine: dict[str, Mine]) -> None:
    expected = CALLS[op]()
    assert mine[op].calls == 0 and ops.current_backend(op) == "kernel"
    torch.testing.assert_close(CALLS[op](backend="mine"), expected)
    assert mine[op].calls == 1
    torch.testing.assert_close(CALLS[op](backend="ref"), expected)
    with ops.use_backend("mine"):
        CALLS[op]()
        assert mine[op].calls == 2
        CALLS[op](backend="kernel")
        with ops.use_backend("kernel"):
            CALLS[op]()
        assert mine[op].calls == 2
        CALLS[op]()
    assert mine[op].calls == 3
    ops.set_default_backend("mine")
    CALLS[op]()
    assert mine[op].calls == 4
    ops.set_default_backend("kernel")
    CALLS[op]()
    assert mine[op].calls == 4 and not backends.defaults


@pytest.mark.parametrize("op", CALLS)
def test_ref_launches_no_kernel(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("launched")

    monkeypatch.setattr(operators, "plan", never)
    assert CALLS[op](backend="ref").is_contiguous()
    with pytest.raises(AssertionError, match="launched"):
        CALLS[op]()


def test_a_block_for_one_operator(mine: dict[str, Mine]) -> None:
    with ops.use_backend("mine", op="softmax"), ops.use_backend("ref", op="reduce_sum"):
        CALLS["softmax"](), CALLS["reduce_sum"]()
        chosen = {op: ops.current_backend(op) for op in CALLS}
    assert mine["softmax"].calls == 1 and mine["reduce_sum"].calls == 0
    assert list(chosen.values()) == ["kernel", "ref", "mine", "kernel"]
    ops.set_default_backend("mine", op="softmax")
    assert ops.current_backend("softmax") == "mine"
    assert ops.current_backend("reduce_sum") == "kernel"


def test_a_block_is_about_operators_that_have_the_backend() -> None:
    ops.register_backend("softmax", "own", Mine("softmax"))
    with ops.use_backend("ref"), ops.use_backend("own"):
        assert ops.current_backend("softmax") == "own"
        assert ops.current_backend("reduce_sum") == "ref"


def test_a_block_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), ops.use_backend("ref"):
        raise ZeroDivisionError
    assert ops.current_backend("softmax") == "kernel"


def test_blocks_are_of_a_thread_and_defaults_of_all() -> None:
    seen: list[str] = []

    def look() -> None:
        thread = threading.Thread(target=lambda: seen.append(ops.current_backend("softmax")))
        thread.start()
        thread.join()

    with ops.use_backend("ref"):
        look()
    ops.set_default_backend("ref")
    look()
    assert seen == ["kernel", "ref"]


def test_blocks_are_of_a_task() -> None:
    seen: dict[str, str] = {}

    async def work(name: str, first: asyncio.Event, then: asyncio.Event) -> None:
        with ops.use_backend(name):
            first.set()
            await then.wait()
            seen[name] = ops.current_backend("softmax")

    async def both() -> None:
        a, b = asyncio.Event(), asyncio.Event()
        await asyncio.gather(work("ref", a, b), work("kernel", b, a))

    asyncio.run(both())
    assert seen == {"ref": "ref", "kernel": "kernel"}


def test_a_backend_may_call_the_operator_itself() -> None:
    called = []

    def logged(x: torch.Tensor, dim: int) -> torch.Tensor:
        called.append(dim)
        return ops.softmax(x, dim)

    ops.register_backend("softmax", "logged", logged)
    x = torch.randn(2, 3)
    with ops.use_backend("logged"):
        torch.testing.assert_close(ops.softmax(x), x.softmax(-1))
        ops.softmax(x)
    assert called == [1, 1]


# -- the arguments of a function ----------------------------------------------------------
def test_arguments(mine: dict[str, Mine]) -> None:
    with ops.use_backend("mine"):
        ops.reduce_sum(X, -1, True)
        ops.reduce_sum(torch.tensor(1.0))
        ops.softmax(X, -2)
    assert mine["reduce_sum"].arguments == [(1, True), (0, False)]
    assert mine["softmax"].arguments == [(0,)]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x, dim: None, "got NoneType, needed a tensor"),
        (lambda x, dim: torch.zeros(4, 3), r"got \(4, 3\) torch.float32 on cpu, needed \(3, 4\)"),
        (lambda x, dim: x.double(), "got .* torch.float64 on cpu, needed .* torch.float32"),
        (lambda x, dim: torch.zeros(4, 3).t(), r"strides \(1, 3\), needed a contiguous"),
        (lambda x, dim: x, "got a tensor that shares memory with its input"),
        (lambda x, dim: x.view(3, 4).mul_(1), "got a tensor that shares memory with its input"),
    ],
)
@pytest.mark.parametrize("grad", [False, True])
def test_wrong_results(function: Callable[..., Any], words: str, grad: bool) -> None:
    ops.register_backend("softmax", "bad", function)
    with pytest.raises(fk.UsageError, match=f"the backend of softmax: {words}|{words}"):
        ops.softmax(X.clone().requires_grad_(grad), backend="bad")


def test_a_backend_gets_no_more_than_the_kernel_takes(mine: dict[str, Mine]) -> None:
    for x, words in ((X.double(), "float64"), (X.to_sparse(), "sparse"), ([1.0], "list")):
        with pytest.raises(fk.UsageError, match=words):
            ops.softmax(x, backend="mine")
        with pytest.raises(fk.UsageError, match=words):
            ops.reduce_sum(x, backend="mine")
    with pytest.raises(fk.UsageError, match="dim: got 7"):
        ops.softmax_backward(X, X, 7, backend="mine")
    with pytest.raises(fk.UsageError, match="2 dimensions"):
        ops.copy_transpose(X[0], backend="mine")
    assert not any(function.calls for function in mine.values())


# -- gradients -------------------------------------------------------------------------------
def both_registered() -> tuple[Mine, Mine]:
    """Register the backend "own" for softmax and its gradient."""
    made = Mine("softmax"), Mine("softmax_backward")
    for op, function in zip(("softmax", "softmax_backward"), made, strict=True):
        ops.register_backend(op, "own", function)
    return made


@pytest.mark.parametrize("op", ["copy_transpose", "reduce_sum"])
def test_gradients_that_need_no_function(op: str, mine: dict[str, Mine]) -> None:
    x = X.clone().requires_grad_()
    getattr(ops, op)(x, backend="mine").sum().backward()
    assert torch.equal(x.grad, torch.ones_like(X))
    assert mine[op].calls == (2 if op == "copy_transpose" else 1)


def test_the_backend_of_the_forward_pass_computes_the_gradient() -> None:
    forward, backward = both_registered()
    assert ops.backend_names("softmax_backward") == ("kernel", "ref", "own")
    x = X.clone().requires_grad_()
    with ops.use_backend("own"):
        y = ops.softmax(x)
    (y**2).sum().backward()
    assert (forward.calls, backward.calls) == (1, 1) and backward.arguments[0][1:] == (1,)
    other = X.clone().requires_grad_()
    (torch.softmax(other, -1) ** 2).sum().backward()
    torch.testing.assert_close(x.grad, other.grad)
    ops.softmax(x).sum().backward()
    assert backward.calls == 1
    torch.autograd.gradgradcheck(
        lambda a: ops.softmax(a, backend="own"), x, eps=1e-2, atol=1e-2, rtol=1e-1
    )


@pytest.mark.parametrize("through", ["function", "operator"])
def test_a_missing_backward_is_reported(through: str) -> None:
    ops.register_backend("softmax", "own", Mine("softmax"))
    x = X.clone().requires_grad_()
    if through == "function":
        y = ops.softmax(x, backend="own")
    else:
        y = torch.ops.forgekit.softmax(x, -1, None, "own")
    torch.testing.assert_close(y.detach(), ref.softmax(X))
    with pytest.raises(
        fk.UsageError, match=r"backend 'own': got no backward.*register_backend.*adds one"
    ):
        y.sum().backward()
    with torch.no_grad():
        assert not ops.softmax(x, backend="own").requires_grad
    backward = Mine("softmax_backward")
    ops.register_backend("softmax_backward", "own", backward)
    ops.softmax(x, backend="own").sum().backward()
    assert backward.calls == 1


# -- torch.compile ---------------------------------------------------------------------------
def test_compile_asks_when_it_runs() -> None:
    forward, backward = both_registered()
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: ops.softmax(x), fullgraph=True, backend="aot_eager")
    x = X.clone().requires_grad_()
    compiled(x).sum().backward()
    assert (forward.calls, backward.calls) == (0, 0)
    with ops.use_backend("own"):
        compiled(x).sum().backward()
    assert (forward.calls, backward.calls) == (1, 1)
    fixed = torch.compile(
        lambda x: ops.softmax(x, backend="own"), fullgraph=True, backend="aot_eager"
    )
    fixed(x).sum().backward()
    assert (forward.calls, backward.calls) == (2, 2)


# -- errors ----------------------------------------------------------------------------------
def test_name_clashes() -> None:
    own = Mine("softmax")
    ops.register_backend("softmax", "own", own)
    with pytest.raises(fk.UsageError, match=r"'own', which softmax already has.*replace=True"):
        ops.register_backend("softmax", "own", Mine("softmax"))
    ops.register_backend("reduce_sum", "own", Mine("reduce_sum"))
    for name in ("kernel", "ref"):
        with pytest.raises(fk.UsageError, match="a name other than kernel and ref"):
            ops.register_backend("softmax", name, own, replace=True)
    other = Mine("softmax")
    ops.register_backend("softmax", "own", other, replace=True)
    ops.softmax(X, backend="own")
    assert (own.calls, other.calls) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sofmax", "own", len), "op: got 'sofmax', needed one of copy_transpose, reduce_s"),
        ((["softmax"], "own", len), r"op: got \['softmax'\]"),
        (("softmax", "", len), "name: got ''"),
        (("softmax", 3, len), "name: got 3"),
        (("softmax", "own", X), "forward: got .*, needed a function"),
    ],
)
def test_what_cannot_be_registered(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(fk.UsageError, match=words):
        ops.register_backend(*arguments)


def test_unknown_backends() -> None:
    ops.register_backend("reduce_sum", "own", Mine("reduce_sum"))
    listed = "got 'own', needed one of kernel, ref for softmax; register your"
    with pytest.raises(fk.UsageError, match=listed):
        ops.softmax(X, backend="own")
    with pytest.raises(fk.UsageError, match=listed), ops.use_backend("own", op="softmax"):
        pass
    with pytest.raises(fk.UsageError, match="got 'who', needed one of kernel, ref, own"):
        ops.set_default_backend("who")
    with pytest.raises(fk.UsageError, match="op: got 'sum'"), ops.use_backend("ref", op="sum"):
        pass
    with pytest.raises(fk.UsageError, match="op: got 'sum'"):
        ops.backend_names("sum")
    for call in CALLS.values():
        for name in ("who", "", 3):
            with pytest.raises(fk.UsageError, match="backend: got"):
                call(backend=name)


def test_only_kernels_have_variants() -> None:
    with pytest.raises(fk.UsageError, match="variant: got 'online' with the backend 'ref'"):
        ops.softmax(X, variant="online", backend="ref")
    with ops.use_backend("ref"):
        with pytest.raises(fk.UsageError, match="tile: got 32 with the backend 'ref'"):
            ops.copy_transpose(X, tile=32)
        torch.testing.assert_close(
            ops.reduce_sum(X, variant="naive", backend="kernel"), ref.reduce_sum(X)
        )
