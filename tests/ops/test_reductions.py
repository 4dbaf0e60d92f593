"""Test the operators reduce_sum, softmax, softmax_backward: dims, shapes, strides, autograd,
errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit import ops, ref
from forgekit.ops import reduce_sum, softmax, softmax_backward
from forgekit.ops.reductions import VARIANTS

Make = Callable[[], torch.Tensor]
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
SHAPES = [(2, 3, 4), (5,), (), (2, 0)]
VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "permuted": lambda x: x.permute(2, 0, 1),
    "every second": lambda x: x[:, :, ::2],
    "part": lambda x: x[1:, 1:, 3:],
    "repeated": lambda x: x[:, :1].expand(-1, 6, -1),
    "no common stride": lambda x: x[:, :3],
    "one number": lambda x: x[1, 2, 3].expand(3, 2, 4),
}


def check(op: str, *operands: torch.Tensor, **options: Any) -> torch.Tensor:
    y, expected = (getattr(module, op)(*operands, **options) for module in (ops, ref))
    assert (y.dtype, y.shape) == (operands[0].dtype, expected.shape)
    assert y.is_contiguous() and y._base is None
    torch.testing.assert_close(y, expected)
    return y


def check_all(make: Make, dim: int) -> None:
    """Check all three operators along a dimension; `make` creates the tensors, two for the
    gradient."""
    x = make()
    for keepdim in (False, True):
        check("reduce_sum", x, dim=dim, keepdim=keepdim)
    check("softmax", x, dim=dim)
    check("softmax_backward", x, make(), dim=dim)


# -- dims, shapes, strides -------------------------------------------------------------------
@pytest.mark.parametrize("dim", range(-3, 3))
def test_dims(dim: int) -> None:
    check_all(lambda: torch.randn(3, 4, 5), dim)


@pytest.mark.parametrize("view", VIEWS)
def test_strides(view: str) -> None:
    x, y = VIEWS[view](torch.randn(4, 6, 10)), VIEWS[view](torch.rand(4, 6, 10))
    for dim in range(3):
        check_all(lambda: VIEWS[view](torch.randn(4, 6, 10)), dim)
        check("softmax_backward", x, y.contiguous(), dim=dim)


@pytest.mark.parametrize("size", [5, 33, 64])
@pytest.mark.parametrize("dim", [0, 1])
def test_one_is_copied_and_the_other_begins_anywhere(size: int, dim: int) -> None:
    part = torch.rand(1 + 2 * size)[1:].view(2, size)  # contiguous, but not aligned to 16 bytes
    moved = torch.ones(()).expand(2, size)
    check("softmax_backward", moved, part, dim=dim)
    check("softmax_backward", part, moved, dim=dim)


def test_more_dimensions() -> None:
    for dim in range(5):
        check_all(lambda: torch.randn(2, 3, 2, 3, 2), dim)
    check_all(lambda: torch.randn(7)[::2], 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_adds_in_float32(dtype: torch.dtype) -> None:
    x = torch.ones(2, 4096, dtype=dtype)  # sums of ones end at 2048 in fp16, 256 in bf16
    assert torch.equal(reduce_sum(x), torch.full((2,), 4096, dtype=dtype))
    assert torch.equal(reduce_sum(x.t(), 0), torch.full((2,), 4096, dtype=dtype))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 0)], ids=str)
def test_empty(shape: tuple[int, ...]) -> None:
    for dim in range(len(shape)):
        check_all(lambda: torch.empty(shape), dim)
    for variant in VARIANTS["reduce_sum"]:
        assert reduce_sum(torch.ones(2, 0), variant=variant).tolist() == [0.0, 0.0]


def test_without_dimensions() -> None:
    x = torch.tensor(2.5)
    for dim in (0, -1):
        check_all(lambda: torch.tensor(2.5), dim)
        assert reduce_sum(x, dim).data_ptr() != x.data_ptr()
        assert softmax(x, dim).item() == 1.0
    assert softmax(torch.tensor(torch.inf)).isnan()


def test_what_a_view_only_promises() -> None:
    z = torch.randn(4, 6, dtype=torch.complex64).conj()
    for lazy in (z.imag, z.view(2, 2, 6).imag):
        imag = lazy.resolve_neg()
        assert lazy.is_neg()
        torch.testing.assert_close(reduce_sum(lazy), imag.sum(-1))
        torch.testing.assert_close(softmax(lazy), imag.softmax(-1))
        expected = ref.softmax_backward(imag, imag)
        torch.testing.assert_close(softmax_backward(lazy, lazy), expected)


def test_a_dim_of_numpy() -> None:
    x = torch.randn(3, 4)
    assert torch.equal(reduce_sum(x, np.int64(0)), reduce_sum(x, 0))


# -- autograd --------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradient(shape: tuple[int, ...]) -> None:
    for dim, keepdim in itertools.product(range(max(len(shape), 1)), (False, True)):
        x = torch.randn(shape, requires_grad=True)
        for y, same in (
            (reduce_sum(x, dim, keepdim), torch.sum(x, dim, keepdim)),
            (softmax(x, dim), torch.softmax(x, dim)),
        ):
            weight = torch.randn_like(same)
            (got,) = torch.autograd.grad(y, x, weight)
            (expected,) = torch.autograd.grad(same, x, weight)
            torch.testing.assert_close(got, expected)


def test_second_derivative_of_sums() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    w = torch.randn(3, requires_grad=True)
    (grad,) = torch.autograd.grad((reduce_sum(x) * w).sum(), x, create_graph=True)
    (grad * 2).sum().backward()
    assert torch.equal(w.grad, torch.full_like(w, 8.0))


@pytest.mark.parametrize("through", ["function", "operator"])
@pytest.mark.parametrize("dim", [0, -1])
def test_second_and_third_derivative(dim: int, through: str) -> None:
    mine = softmax if through == "function" else torch.ops.forgekit.softmax
    weights = [torch.randn(3, 4) for _ in range(3)]
    results = []
    for compute in (mine, torch.softmax):
        x = torch.randn(3, 4, generator=torch.manual_seed(1), requires_grad=True)
        value, derivatives = compute(x, dim), []
        for weight in weights:
            (value,) = torch.autograd.grad(value, x, weight, create_graph=True)
            derivatives.append(value.detach())
        results.append(derivatives)
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)], ids=str)
def test_derivative_of_softmax_backward(wanted: tuple[bool, bool]) -> None:
    grad, y = torch.randn(3, 4), torch.randn(3, 4)  # y need not be a softmax
    v = torch.randn(3, 4)
    results = []
    for compute in (softmax_backward, ref.softmax_backward):
        inputs = [t.clone().requires_grad_(w) for t, w in zip((grad, y), wanted, strict=True)]
        differentiated = [t for t in inputs if t.requires_grad]
        results.append(torch.autograd.grad(compute(*inputs, 0), differentiated, v))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


def test_second_derivative_in_half_precision() -> None:
    values = torch.randn(3, 40).half()
    results = []
    for compute, dtype in ((softmax, torch.float16), (torch.softmax, torch.float32)):
        x = values.to(dtype).requires_grad_()
        (grad,) = torch.autograd.grad(compute(x, -1).pow(2).sum(), x, create_graph=True)
        results.append(torch.autograd.grad(grad.pow(2).sum(), x)[0])
    assert results[0].dtype == torch.float16
    torch.testing.assert_close(results[0].float(), results[1], rtol=2e-2, atol=1e-4)


# -- errors ----------------------------------------------------------------------------------
ERRORS: list[tuple[Any, dict[str, Any], tuple[str, ...]]] = [
    ([[1.0]], {}, ("got list", "torch.as_tensor")),
    (None, {}, ("got NoneType",)),
    (torch.zeros(3, dtype=torch.int32), {}, ("dtype: got int32", "float16, bfloat16", ".float()")),
    (torch.zeros(3, dtype=torch.bool), {}, ("got bool", ".float()")),
    (torch.zeros(3, dtype=torch.float64), {}, ("got float64", ".float()")),
    (torch.zeros(3, dtype=torch.complex64), {}, ("got complex64", ".real")),
    (torch.zeros(3, dtype=torch.float8_e4m3fn), {}, ("got float8_e4m3fn", ".float()")),
    (torch.zeros(2, 3).to_sparse(), {}, ("sparse", "to_dense")),
    (torch.zeros(2, 3).to_sparse_csr(), {}, ("sparse", "to_dense")),
    (torch.nested.nested_tensor([torch.zeros(2)]), {}, ("nested", "padded")),
    (torch.zeros(2, 3), {"dim": 2}, ("dim: got 2", "from -2 to 1", "2 dimensions")),
    (torch.zeros(2, 3), {"dim": -3}, ("dim: got -3", "from -2 to 1")),
    (torch.zeros(()), {"dim": 1}, ("dim: got 1", "from -1 to 0", "0 dimensions")),
    (torch.zeros(()), {"dim": -2}, ("dim: got -2", "from -1 to 0", "0 dimensions")),
    (torch.zeros(2, 3), {"dim": True}, ("dim: got bool True", "one int")),
    (torch.zeros(2, 3), {"dim": 1.0}, ("dim: got float 1.0", "one int")),
    (torch.zeros(2, 3), {"dim": None}, ("dim: got None", "one int")),
    (torch.zeros(2, 3), {"dim": (0, 1)}, ("dim: got tuple (0, 1)", "one dimension after")),
    (torch.zeros(2, 3), {"dim": [0]}, ("dim: got list [0]", "one int")),
    (torch.zeros(2, 3), {"variant": "fast"}, ("variant: got 'fast'", "{first}", "{last}")),
    (torch.zeros(2, 0), {"variant": "fast"}, ("variant: got 'fast'", "{first}", "{last}")),
    (torch.zeros(0, 3), {"variant": "fast"}, ("variant: got 'fast'", "{first}", "{last}")),
    (torch.zeros(2, 3), {"variant": ["{first}"]}, ("variant: got ['{first}']", "{last}")),
    (torch.zeros(2, 3), {"backend": "nobody"}, ("backend: got 'nobody'", "kernel, ref")),
]


@pytest.mark.parametrize("op", VARIANTS)
@pytest.mark.parametrize("case", range(len(ERRORS)), ids=lambda i: str(ERRORS[i][2][0]))
def test_errors(case: int, op: str) -> None:
    x, options, words = ERRORS[case]
    names = {"first": VARIANTS[op][0], "last": VARIANTS[op][-1]}
    options = {k: [v[0].format(**names)] if k == "variant" and isinstance(v, list) else v
               for k, v in options.items()}  # fmt: skip
    compute, operands = getattr(ops, op), (1 + op.endswith("backward"))
    compute(*[torch.zeros(2, 3)] * operands, 1)  # so that look-ups of 1.0 and True succeed
    with pytest.raises(fk.UsageError) as caught:
        compute(*[x] * operands, **options)
    for word in words:
        assert word.format(**names) in str(caught.value)
    if "dtype" in words[0]:
        assert str(caught.value).startswith("y.dtype" if operands == 2 else "x.dtype")


@pytest.mark.parametrize("keepdim", [3, None])
def test_errors_of_keepdim(keepdim: Any) -> None:
    reduce_sum(torch.zeros(2, 3), 1, True)
    with pytest.raises(fk.UsageError, match=f"keepdim: got {keepdim}, needed True or False"):
        reduce_sum(torch.zeros(2, 3), keepdim=keepdim)


@pytest.mark.parametrize(
    ("grad", "y", "words"),
    [
        (torch.zeros(3, 2), torch.zeros(2, 3), ("grad.shape: got (3, 2)", "(2, 3), like y")),
        (torch.zeros(3), torch.zeros(2, 3), ("grad.shape: got (3,)", "grad.expand")),
        (torch.zeros(3).half(), torch.zeros(3), ("grad.dtype: got torch.float16", "grad.to(y")),
        (torch.zeros(3, device="meta"), torch.zeros(3), ("grad.device: got meta", "cpu, like y")),
        (torch.zeros(3), torch.zeros(3, device="meta"), ("grad.device: got cpu", "meta, like y")),
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
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_strides_and_gradients_on_gpu(dtype: torch.dtype) -> None:
    x = torch.randn(4, 6, 10, device="cuda", dtype=dtype)
    for view, dim in itertools.product(VIEWS.values(), range(3)):
        part = view(x).requires_grad_()
        y = check("softmax", part, dim=dim)
        weight = torch.randn_like(y)
        (grad,) = torch.autograd.grad(y, part, weight)
        torch.testing.assert_close(grad, ref.softmax_backward(weight, y.detach(), dim))
        for keepdim in (False, True):
            y = check("reduce_sum", part, dim=dim, keepdim=keepdim)
            (grad,) = torch.autograd.grad(y, part, torch.ones_like(y))
            assert torch.equal(grad, torch.ones_like(part))


@gpu
def test_compile_on_gpu() -> None:
    x = torch.randn(64, 300, device="cuda", requires_grad=True)
    weight = torch.randn_like(x)
    mine = torch.compile(lambda a: softmax(a * 2, 0) * reduce_sum(a * 2, 0), fullgraph=True)(x)
    expected = torch.softmax(x * 2, 0) * (x * 2).sum(0)
    torch.testing.assert_close(mine, expected)
    (grad,) = torch.autograd.grad(mine, x, weight)
    torch.testing.assert_close(grad, torch.autograd.grad(expected, x, weight)[0])


@gpu
def test_devices_do_not_mix_on_gpu() -> None:
    here, there = torch.zeros(3, 3), torch.zeros(3, 3, device="cuda")
    with pytest.raises(fk.UsageError, match=r"grad.device: got cpu, needed cuda:0"):
        softmax_backward(here, there)
    for function in (reduce_sum, softmax):
        with pytest.raises(fk.UsageError, match="cuda"):
            function(here)
    with fk.use_target("virtual"):
        check_all(lambda: torch.randn(3, 3), -1)
