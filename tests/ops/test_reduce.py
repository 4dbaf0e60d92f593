"""The operator reduce_sum: dims, shapes and strides, autograd, fake tensors, errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit import ref
from forgekit.ops import reduce_sum
from tests.ops.dispatched import VIEWS

Op = torch.ops.forgekit.reduce_sum


def check(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> torch.Tensor:
    y, expected = reduce_sum(x, dim, keepdim), ref.reduce_sum(x, dim, keepdim)
    assert y.dtype == x.dtype and y.is_contiguous() and y._base is None
    torch.testing.assert_close(y, expected)
    return y


# -- dims, shapes, strides -------------------------------------------------------------------
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", range(-3, 3))
def test_dims(dim: int, keepdim: bool) -> None:
    check(torch.randn(3, 4, 5), dim, keepdim)


@pytest.mark.parametrize("view", VIEWS)
def test_strides(view: str) -> None:
    x = VIEWS[view](torch.randn(4, 6, 10))
    for dim in range(3):
        check(x, dim)


def test_more_dimensions() -> None:
    x = torch.randn(2, 3, 2, 3, 2)
    for dim in range(5):
        check(x, dim, keepdim=True)
    check(torch.randn(7), 0)
    check(torch.randn(7)[::2], -1, True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_adds_in_float32(dtype: torch.dtype) -> None:
    x = torch.ones(2, 4096, dtype=dtype)  # adding ones in fp16 ends at 2048, in bf16 at 256
    assert torch.equal(reduce_sum(x), torch.full((2,), 4096, dtype=dtype))
    assert torch.equal(reduce_sum(x.t(), 0), torch.full((2,), 4096, dtype=dtype))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 0)], ids=str)
def test_empty(shape: tuple[int, ...]) -> None:
    x = torch.empty(shape)
    for dim, keepdim in itertools.product(range(len(shape)), (False, True)):
        y, expected = reduce_sum(x, dim, keepdim), torch.sum(x, dim, keepdim)
        assert y.shape == expected.shape and torch.equal(y, expected)
    for variant in ("naive", "smem", "shuffle", "vectorized", "split"):
        assert reduce_sum(torch.ones(2, 0), variant=variant).tolist() == [0.0, 0.0]


def test_without_dimensions() -> None:
    x = torch.tensor(2.5)
    for dim, keepdim in itertools.product((0, -1), (False, True)):
        y = reduce_sum(x, dim, keepdim)
        assert y.shape == () and y.item() == 2.5 and y.data_ptr() != x.data_ptr()


def test_what_a_view_only_promises() -> None:
    z = torch.randn(4, 6, dtype=torch.complex64).conj()
    assert z.imag.is_neg()
    torch.testing.assert_close(reduce_sum(z.imag), z.imag.resolve_neg().sum(-1))
    z = z.view(2, 2, 6)
    torch.testing.assert_close(reduce_sum(z.imag), z.imag.resolve_neg().sum(-1))


def test_a_dim_of_numpy() -> None:
    x = torch.randn(3, 4)
    assert torch.equal(reduce_sum(x, np.int64(0)), reduce_sum(x, 0))


# -- PyTorch ---------------------------------------------------------------------------------
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 4), (5,), (), (2, 0)], ids=str)
def test_gradient(shape: tuple[int, ...], keepdim: bool) -> None:
    for dim in range(max(len(shape), 1)):
        x = torch.randn(shape, requires_grad=True)
        y, same = reduce_sum(x, dim, keepdim), torch.sum(x, dim, keepdim)
        weight = torch.randn_like(same)
        (got,) = torch.autograd.grad(y, x, weight)
        assert torch.equal(got, torch.autograd.grad(same, x, weight)[0])


def test_second_derivative() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    w = torch.randn(3, requires_grad=True)
    (grad,) = torch.autograd.grad((reduce_sum(x) * w).sum(), x, create_graph=True)
    (grad * 2).sum().backward()
    assert torch.equal(w.grad, torch.full_like(w, 8.0))


# -- errors ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("x", "options", "words"),
    [
        ([[1.0]], {}, ("x: got list", "torch.as_tensor")),
        (None, {}, ("x: got NoneType",)),
        (torch.zeros(3, dtype=torch.int64), {}, ("x.dtype: got int64", "float16, bf", "x.float()")),
        (torch.zeros(3, dtype=torch.bool), {}, ("got bool", "x.float()")),
        (torch.zeros(3, dtype=torch.float64), {}, ("got float64", "x.float()")),
        (torch.zeros(3, dtype=torch.complex64), {}, ("got complex64", "x.real")),
        (torch.zeros(3, dtype=torch.float8_e5m2), {}, ("got float8_e5m2", "x.float()")),
        (torch.zeros(2, 3).to_sparse(), {}, ("sparse", "to_dense")),
        (torch.nested.nested_tensor([torch.zeros(2)]), {}, ("nested", "padded")),
        (torch.zeros(2, 3), {"dim": 2}, ("dim: got 2", "from -2 to 1", "2 dimensions")),
        (torch.zeros(2, 3), {"dim": -3}, ("dim: got -3", "from -2 to 1")),
        (torch.zeros(()), {"dim": 1}, ("dim: got 1", "from -1 to 0", "0 dimensions")),
        (torch.zeros(2, 3), {"dim": True}, ("dim: got bool True", "one int")),
        (torch.zeros(2, 3), {"dim": 1.0}, ("dim: got float 1.0", "one int")),
        (torch.zeros(2, 3), {"dim": None}, ("dim: got None", "one int")),
        (torch.zeros(2, 3), {"dim": (0, 1)}, ("dim: got tuple (0, 1)", "one after the other")),
        (torch.zeros(2, 3), {"dim": [0]}, ("dim: got list [0]", "one int")),
        (torch.zeros(2, 3), {"keepdim": 3}, ("keepdim: got 3", "True or False")),
        (torch.zeros(2, 3), {"keepdim": None}, ("keepdim: got None", "True or False")),
        (torch.zeros(2, 3), {"variant": "fast"}, ("fast", "naive", "split")),
        (torch.zeros(2, 0), {"variant": "fast"}, ("fast", "naive", "split")),
        (torch.zeros(2, 3), {"variant": ["naive"]}, ("variant", "naive", "split")),
        (torch.zeros(2, 3), {"backend": "nobody"}, ("backend: got 'nobody'", "kernel, ref")),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else str(value)[:30],
)
def test_errors(x: Any, options: dict[str, Any], words: tuple[str, ...]) -> None:
    reduce_sum(torch.zeros(2, 3), 1, True)  # so that 1.0 and True would be found in the plans
    with pytest.raises(fk.UsageError) as caught:
        reduce_sum(x, **options)
    for word in words:
        assert word in str(caught.value)


def test_errors_where_a_gradient_is_wanted() -> None:
    x = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(fk.UsageError, match="float64"):
        reduce_sum(x)
    with pytest.raises(fk.UsageError, match="dim: got 5"):
        reduce_sum(torch.zeros(2, 3, requires_grad=True), 5)


# -- on a GPU --------------------------------------------------------------------------------
gpu = pytest.mark.gpu


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_strides_and_gradients_on_gpu(dtype: torch.dtype) -> None:
    x = torch.randn(4, 6, 10, device="cuda", dtype=dtype)
    for view in VIEWS.values():
        for dim, keepdim in itertools.product(range(3), (False, True)):
            part = view(x).requires_grad_()
            y = check(part, dim, keepdim)
            (grad,) = torch.autograd.grad(y, part, torch.ones_like(y))
            assert torch.equal(grad, torch.ones_like(part))


@gpu
def test_compile_on_gpu() -> None:
    x = torch.randn(64, 300, device="cuda", requires_grad=True)
    y = torch.compile(lambda a: reduce_sum(a * 2, 0) * 3, fullgraph=True)(x)
    torch.testing.assert_close(y, (x * 2).sum(0) * 3)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 6.0))


@gpu
def test_tensor_on_cpu_beside_a_gpu() -> None:
    with pytest.raises(fk.UsageError, match="cuda"):
        reduce_sum(torch.zeros(3, 3))
    with fk.use_target("virtual"):
        check(torch.randn(3, 3))
