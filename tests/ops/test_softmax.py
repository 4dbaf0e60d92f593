"""The operators softmax and softmax_backward: dims, shapes and strides, autograd, errors."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import forgekit as fk
from forgekit import ref
from forgekit.ops import softmax, softmax_backward
from tests.ops.dispatched import VIEWS

Op = torch.ops.forgekit.softmax
BackwardOp = torch.ops.forgekit.softmax_backward


def check(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    y = softmax(x, dim)
    assert y.dtype == x.dtype and y.shape == x.shape and y.is_contiguous()
    torch.testing.assert_close(y, ref.softmax(x, dim))
    return y


def check_backward(grad: torch.Tensor, y: torch.Tensor, dim: int = -1) -> None:
    dx = softmax_backward(grad, y, dim)
    assert dx.dtype == y.dtype and dx.shape == y.shape and dx.is_contiguous()
    torch.testing.assert_close(dx, ref.softmax_backward(grad, y, dim))


# -- dims, shapes, strides -------------------------------------------------------------------
@pytest.mark.parametrize("dim", range(-3, 3))
def test_dims(dim: int) -> None:
    x = torch.randn(3, 4, 5)
    check_backward(torch.randn(3, 4, 5), check(x, dim), dim)


@pytest.mark.parametrize("view", VIEWS)
def test_strides(view: str) -> None:
    x = VIEWS[view](torch.randn(4, 6, 10))
    y = VIEWS[view](torch.rand(4, 6, 10))
    for dim in range(3):
        check(x, dim)
        check_backward(x, y, dim)
        check_backward(x, y.contiguous(), dim)


@pytest.mark.parametrize("size", [5, 33, 64])
@pytest.mark.parametrize("dim", [0, 1])
def test_one_is_copied_and_the_other_begins_anywhere(size: int, dim: int) -> None:
    part = torch.rand(1 + 2 * size)[1:].view(2, size)  # contiguous, not at a multiple of 16 bytes
    moved = torch.ones(()).expand(2, size)
    check_backward(moved, part, dim)
    check_backward(part, moved, dim)


def test_the_gradient_of_a_sum() -> None:
    y = softmax(torch.randn(3, 8))
    check_backward(torch.tensor(2.0).expand(3, 8), y)


def test_more_dimensions() -> None:
    x = torch.randn(2, 3, 2, 3, 2)
    for dim in range(5):
        check_backward(torch.randn_like(x), check(x, dim), dim)
    check_backward(torch.randn(7)[::2], check(torch.randn(7)[::2], 0), 0)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)], ids=str)
def test_empty(shape: tuple[int, ...]) -> None:
    x = torch.empty(shape)
    for dim in range(len(shape)):
        assert softmax(x, dim).shape == shape
        assert softmax_backward(x, x, dim).shape == shape


def test_without_dimensions() -> None:
    for dim in (0, -1):
        y = softmax(torch.tensor(2.5), dim)
        assert y.shape == () and y.item() == 1.0
        dx = softmax_backward(torch.tensor(3.0), y, dim)
        assert dx.shape == () and dx.item() == 0.0
    assert softmax(torch.tensor(torch.inf)).isnan()


def test_what_a_view_only_promises() -> None:
    z = torch.randn(4, 6, dtype=torch.complex64).conj()
    imag = z.imag.resolve_neg()
    assert z.imag.is_neg()
    torch.testing.assert_close(softmax(z.imag), imag.softmax(-1))
    torch.testing.assert_close(softmax_backward(z.imag, z.imag), ref.softmax_backward(imag, imag))


# -- autograd --------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(2, 3, 4), (5,), (), (2, 0)], ids=str)
def test_gradient(shape: tuple[int, ...]) -> None:
    for dim in range(max(len(shape), 1)):
        x = torch.randn(shape, requires_grad=True)
        weight = torch.randn(shape)
        (got,) = torch.autograd.grad(softmax(x, dim), x, weight)
        (expected,) = torch.autograd.grad(torch.softmax(x, dim), x, weight)
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("through", ["function", "operator"])
@pytest.mark.parametrize("dim", [0, -1])
def test_second_and_third_derivative(dim: int, through: str) -> None:
    mine = softmax if through == "function" else Op
    weights = [torch.randn(3, 4) for _ in range(3)]
    results = []
    for compute in (mine, torch.softmax):
        x = torch.randn(3, 4, generator=torch.manual_seed(1), requires_grad=True)
        value, derivatives = compute(x, dim), []
        for weight in weights:
            (value,) = torch.autograd.grad(value, x, weight, create_graph=True)
            derivatives.append(value.detach())
        results.append(derivatives)
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)], ids=str)
def test_derivative_of_softmax_backward(wanted: tuple[bool, bool]) -> None:
    grad, y = torch.randn(3, 4), torch.randn(3, 4)  # any y, not only a softmax
    v = torch.randn(3, 4)
    results = []
    for compute in (softmax_backward, ref.softmax_backward):
        inputs = [t.clone().requires_grad_(w) for t, w in zip((grad, y), wanted, strict=True)]
        differentiated = [t for t in inputs if t.requires_grad]
        results.append(torch.autograd.grad(compute(*inputs, 0), differentiated, v))
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_second_derivative_in_half_precision() -> None:
    x = torch.randn(3, 40).half().requires_grad_()
    (grad,) = torch.autograd.grad(softmax(x).pow(2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.pow(2).sum(), x)
    x32 = x.detach().float().requires_grad_()
    (grad,) = torch.autograd.grad(torch.softmax(x32, -1).pow(2).sum(), x32, create_graph=True)
    (expected,) = torch.autograd.grad(grad.pow(2).sum(), x32)
    assert second.dtype == torch.float16
    torch.testing.assert_close(second.float(), expected, rtol=2e-2, atol=1e-4)


# -- PyTorch ---------------------------------------------------------------------------------
# -- errors ----------------------------------------------------------------------------------
ERRORS: list[tuple[Any, dict[str, Any], tuple[str, ...]]] = [
    ([[1.0]], {}, ("got list", "torch.as_tensor")),
    (torch.zeros(3, dtype=torch.int32), {}, ("dtype: got int32", "float16, bfloat16", ".float()")),
    (torch.zeros(3, dtype=torch.bool), {}, ("got bool", ".float()")),
    (torch.zeros(3, dtype=torch.float64), {}, ("got float64", ".float()")),
    (torch.zeros(3, dtype=torch.complex64), {}, ("got complex64", ".real")),
    (torch.zeros(3, dtype=torch.float8_e4m3fn), {}, ("got float8_e4m3fn", ".float()")),
    (torch.zeros(2, 3).to_sparse_csr(), {}, ("sparse", "to_dense")),
    (torch.zeros(2, 3), {"dim": 2}, ("dim: got 2", "from -2 to 1", "2 dimensions")),
    (torch.zeros(()), {"dim": -2}, ("dim: got -2", "from -1 to 0", "0 dimensions")),
    (torch.zeros(2, 3), {"dim": True}, ("dim: got bool True", "one int")),
    (torch.zeros(2, 3), {"dim": None}, ("dim: got None", "one int")),
    (torch.zeros(2, 3), {"dim": 1.0}, ("dim: got float 1.0", "one int")),
    (torch.zeros(2, 3), {"dim": (0, 1)}, ("dim: got tuple (0, 1)", "one after the other")),
    (torch.zeros(2, 3), {"variant": "fast"}, ("variant: got 'fast'", "three_pass", "cluster")),
    (torch.zeros(0, 3), {"variant": "fast"}, ("variant: got 'fast'", "three_pass", "cluster")),
    (torch.zeros(2, 3), {"variant": ["online"]}, ("variant: got ['online']", "three_pass")),
    (torch.zeros(2, 3), {"backend": "nobody"}, ("backend: got 'nobody'", "kernel, ref")),
]


@pytest.mark.parametrize("case", range(len(ERRORS)), ids=lambda i: str(ERRORS[i][2][0]))
def test_errors(case: int) -> None:
    x, options, words = ERRORS[case]
    softmax(torch.zeros(2, 3), 1)  # so that 1.0 and True would be found in the plans
    for name, compute in (("x", softmax), ("y", lambda y, **more: softmax_backward(y, y, **more))):
        with pytest.raises(fk.UsageError) as caught:
            compute(x, **options)
        for word in words:
            assert word in str(caught.value)
        if "dtype" in words[0]:
            assert str(caught.value).startswith(f"{name}.dtype")


@pytest.mark.parametrize(
    ("grad", "y", "words"),
    [
        (torch.zeros(3, 2), torch.zeros(2, 3), ("grad.shape: got (3, 2)", "(2, 3), as y")),
        (torch.zeros(3), torch.zeros(2, 3), ("grad.shape: got (3,)", "grad.expand")),
        (torch.zeros(3).half(), torch.zeros(3), ("grad.dtype: got torch.float16", "grad.to(y")),
        (torch.zeros(3, device="meta"), torch.zeros(3), ("grad.device: got meta", "cpu, as y")),
        (torch.zeros(3), torch.zeros(3, device="meta"), ("grad.device: got cpu", "meta, as y")),
        (1.0, torch.zeros(3), ("grad: got float", "torch.as_tensor(grad)")),
        (torch.zeros(3), None, ("y: got NoneType", "torch.as_tensor(y)")),
        (torch.zeros(3).to_sparse(), torch.zeros(3), ("grad: got", "grad.to_dense()")),
    ],
    ids=["shape", "dimensions", "dtype", "meta grad", "meta y", "number", "None", "sparse"],
)
def test_errors_between_grad_and_y(grad: Any, y: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(fk.UsageError) as caught:
        softmax_backward(grad, y)
    for word in words:
        assert word in str(caught.value)


# -- on a GPU --------------------------------------------------------------------------------
gpu = pytest.mark.gpu


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_strides_and_gradients_on_gpu(dtype: torch.dtype) -> None:
    x = torch.randn(4, 6, 10, device="cuda", dtype=dtype)
    for view in VIEWS.values():
        for dim in range(3):
            part = view(x).requires_grad_()
            y = check(part, dim)
            weight = torch.randn_like(y)
            (grad,) = torch.autograd.grad(y, part, weight)
            torch.testing.assert_close(grad, ref.softmax_backward(weight, y.detach(), dim))


@gpu
def test_compile_on_gpu() -> None:
    x = torch.randn(64, 300, device="cuda", requires_grad=True)
    weight = torch.randn_like(x)
    y = torch.compile(lambda a: softmax(a * 2, 0) * 3, fullgraph=True)(x)
    expected = torch.softmax(x * 2, 0) * 3
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(
        torch.autograd.grad(y, x, weight)[0], torch.autograd.grad(expected, x, weight)[0]
    )


@gpu
def test_devices_do_not_mix_on_gpu() -> None:
    here, there = torch.zeros(3, 3), torch.zeros(3, 3, device="cuda")
    with pytest.raises(fk.UsageError, match=r"grad.device: got cpu, needed cuda:0"):
        softmax_backward(here, there)
    with pytest.raises(fk.UsageError, match="cuda"):
        softmax(here)
    with fk.use_target("virtual"):
        check(torch.randn(3, 3))
