"""Test the operator copy_transpose: values for any tensor, autograd, fake tensors, errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import forgekit as fk
from forgekit import ref
from forgekit.ops import copy_transpose, transposes
from forgekit.ops.operators import plan
from tests.kernels.test_copy_transpose import any_bits

Op = torch.ops.forgekit.copy_transpose


def check(x: torch.Tensor, tile: int | None = None) -> torch.Tensor:
    y, expected = copy_transpose(x, tile=tile), ref.copy_transpose(x)
    assert y.dtype == x.dtype and y.stride() == expected.stride()
    assert torch.equal(y.view(torch.uint8), expected.view(torch.uint8))
    return y


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 37), (41, 1), (31, 33), (64, 64), (65, 127), (100, 200), (9, 40), (40, 9)]
)
def test_shapes(shape: tuple[int, int]) -> None:
    check(any_bits(*shape, torch.float16))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty(shape: tuple[int, int]) -> None:
    y, expected = copy_transpose(torch.empty(shape)), torch.empty(shape[1], shape[0])
    assert y.shape == expected.shape and y.stride() == expected.stride()


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "every second column": lambda x: x[:, ::2],
    "every second row": lambda x: x[::2],
    "transposed": lambda x: x.t(),
    "part": lambda x: x[3:, 5:],
    "aligned part": lambda x: x[8:, 16:80],
    "part, transposed": lambda x: x.t()[:, 1:],
    "one row repeated": lambda x: x[1:2].expand(30, -1),
    "one column repeated": lambda x: x[:, 1:2].expand(-1, 30),
    "a row of every third": lambda x: x[2:3, ::3],
    "a column": lambda x: x[:, 7:8],
}


@pytest.mark.parametrize("view", VIEWS)
def test_strides(view: str) -> None:
    check(VIEWS[view](any_bits(72, 96, torch.float16)))


def test_tiles() -> None:
    x = any_bits(73, 80, torch.float32)
    for part, tile in ((x, 16), (x[:72], 32), (x[:72], 64), (x[:, ::2], 32)):
        check(part, tile)


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.bool, torch.int8, torch.uint16, torch.uint32, torch.int64, torch.float64),
        *(torch.float8_e4m3fn, torch.complex64, torch.bfloat16, torch.float32),
    ],
    ids=str,
)
def test_other_dtypes(dtype: torch.dtype) -> None:
    x = any_bits(16, 33, torch.uint8) > 99 if dtype == torch.bool else any_bits(16, 33, dtype)
    check(x)


def test_what_a_view_only_promises() -> None:
    z = torch.randn(4, 6, dtype=torch.complex64)
    assert torch.equal(copy_transpose(z.conj()), z.conj().t())
    assert z.conj().imag.is_neg() and torch.equal(copy_transpose(z.conj().imag), -z.imag.t())


def test_sizes_beyond_32_bits_go_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transposes, "PIECE", 32)
    plan.cache_clear()
    try:
        for shape in ((70, 3), (3, 70), (40, 40), (1, 70), (70, 1)):
            check(any_bits(*shape, torch.float16))
        check(any_bits(7, 9, torch.float16).t())
    finally:
        plan.cache_clear()


def test_architecture_is_that_of_the_choice() -> None:
    with fk.use_target("virtual", arch="sm_80"):
        check(any_bits(8, 8, torch.float32))
    assert any(k.target.arch == "sm_80" for k in fk.cache_info())


# -- PyTorch ---------------------------------------------------------------------------------
def test_gradient() -> None:
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(copy_transpose, x, fast_mode=True)
    w = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad((copy_transpose(x) * w).sum(), x, create_graph=True)
    assert torch.equal(grad, w.t())
    (grad * 2).sum().backward()
    assert torch.equal(w.grad, torch.full_like(w, 2.0))
    with torch.no_grad():
        assert not copy_transpose(x).requires_grad


# -- errors ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("x", "tile", "words"),
    [
        ([[1.0]], None, ("x: got list", "torch.as_tensor")),
        (torch.zeros(3), None, ("x: got shape (3,)", "2 dimensions")),
        (torch.zeros(2, 3, 4), None, ("x: got shape (2, 3, 4)", "reshape")),
        (torch.zeros(2, 3, dtype=torch.complex128), None, ("x.dtype: got complex128", "complex64")),
        (torch.zeros(2, 3).to_sparse(), None, ("sparse", "to_dense")),
        (torch.zeros(2, 3), 48, ("tile: got 48", "16, 32, 64")),
        (torch.zeros(2, 3), 32.0, ("tile: got 32.0", "leave it out")),
    ],
    ids=["list", "1-D", "3-D", "complex128", "sparse", "tile", "tile of float"],
)
def test_errors(x: torch.Tensor, tile: int | None, words: tuple[str, ...]) -> None:
    with pytest.raises(fk.UsageError) as caught:
        copy_transpose(x, tile=tile)
    for word in words:
        assert word in str(caught.value)


# -- on a GPU --------------------------------------------------------------------------------
gpu = pytest.mark.gpu


@gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.uint8], ids=str)
@pytest.mark.parametrize("shape", [(8192, 8192), (8191, 8193), (5, 100_003), (100_003, 5)])
def test_large_on_gpu(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = torch.randint(0, 200, shape, device="cuda").to(dtype)
    assert torch.equal(copy_transpose(x), x.t())
    assert torch.equal(copy_transpose(x.t()), x)


@gpu
@pytest.mark.parametrize("shape", [(46344, 46352), (46343, 46351), (1, 2**31 + 7), (2, 2**31 + 9),
                                   (2**31 + 9, 2)])  # fmt: skip
def test_more_than_2_31_elements_on_gpu(shape: tuple[int, int]) -> None:
    x = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
    y = copy_transpose(x)
    for at in range(0, shape[1], 2**26):
        assert torch.equal(y[at : at + 2**26], x[:, at : at + 2**26].t())


@gpu
def test_current_stream_and_graphs_on_gpu() -> None:
    x, stream = torch.randn(513, 700, device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = torch.zeros_like(x)
        torch.cuda._sleep(20_000_000)
        y = copy_transpose(late.add_(x))
    stream.synchronize()
    assert torch.equal(y, x.t())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = copy_transpose(x)
    x.mul_(2)
    graph.replay()
    assert torch.equal(y, x.t())


@gpu
def test_tensor_on_cpu_beside_a_gpu() -> None:
    with pytest.raises(fk.UsageError, match="cuda"):
        copy_transpose(torch.zeros(3, 3))
    with fk.use_target("virtual"):
        check(any_bits(9, 8, torch.float32))
