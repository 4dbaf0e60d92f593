"""Launching softmax and its gradient: which kernel serves which tensor, and that it is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from forgekit.errors import UsageError
from forgekit.ops.launching import clusters_of
from forgekit.ops.reductions import VARIANTS
from tests.kernels.rowwise import (
    WHERE,
    Output,
    assert_gradient,
    assert_like_torch,
    assert_softmax,
    extremes,
    normal,
)
from tests.ops.launched import Launched, launcher, small_pieces

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16


def softmax(
    x: torch.Tensor, dim: int, arch: str | None, variant: str | None = None
) -> torch.Tensor:
    y = Output(tuple(x.shape), x.dtype, arch)
    run = launcher("softmax", x, dim=dim, arch=arch, variant=variant)
    assert run is not None
    run(x, y.tensor)
    return y.read()


def gradient(
    dy: torch.Tensor, y: torch.Tensor, dim: int, arch: str | None, variant: str | None = None
) -> torch.Tensor:
    dx = Output(tuple(y.shape), y.dtype, arch)
    run = launcher("softmax_backward", dy, y, dim=dim, arch=arch, variant=variant)
    assert run is not None
    run(dy, y, dx.tensor)
    return dx.read()


def check(x: torch.Tensor, dim: int, arch: str | None, variant: str | None = None) -> None:
    assert_softmax(softmax(x, dim, arch, variant), x, dim)


def check_gradient(
    dy: torch.Tensor, y: torch.Tensor, dim: int, arch: str | None, variant: str | None = None
) -> None:
    assert_gradient(gradient(dy, y, dim, arch, variant), dy, y, dim)


def check_both(
    x: torch.Tensor, dim: int, arch: str | None, launched: Launched, variant: str | None = None
) -> str:
    """Returns what was launched."""
    check(x, dim, arch, variant)
    words = launched.words
    check_gradient(x, x.softmax(dim), dim, arch, variant)
    return f"{words} | {launched.words}"


# -- which kernel ---------------------------------------------------------------------------------
ROWS = [  # shape, dtype, what is launched for dim 1: softmax | gradient
    ((5, 1), F32, "Softmax elements exact | SoftmaxBackward elements exact"),
    ((7, 15), F32, "Softmax elements | SoftmaxBackward elements"),
    ((3, 33), F32, "Softmax unaligned | SoftmaxBackward unaligned"),
    ((3, 101), F16, "Softmax unaligned | SoftmaxBackward unaligned"),
    ((5, 1000), F32, "Softmax | SoftmaxBackward"),
    ((3, 1003), BF16, "Softmax unaligned | SoftmaxBackward unaligned"),
    ((2, 4097), F32, "Softmax unaligned | SoftmaxBackward unaligned"),
    ((2, 5000), BF16, "StagedSoftmax | SoftmaxBackward"),
    ((1, 20000), F32, "StagedSoftmax | SoftmaxBackward cluster 4"),
    ((1, 20001), BF16, "Softmax unaligned cluster 4 | SoftmaxBackward unaligned cluster 4"),
    ((1, 32768), F32, "StagedSoftmax exact | SoftmaxBackward cluster 4"),
    ((1, 60000), BF16, "StagedSoftmax cluster 8 | SoftmaxBackward cluster 8"),
    ((1, 70001), F32, "Softmax unaligned cluster 16 | SoftmaxBackward unaligned cluster 16"),
    ((1, 140000), F32, "StagedSoftmax cluster 16 | SoftmaxBackward cluster 16"),
    ((1, 1100000), F32, "StreamingSoftmax cluster 8 | StreamingSoftmaxBackward cluster 8"),
]
RUN = (
    (5, 1),
    (7, 15),
    (3, 33),
    (5, 1000),
    (3, 1003),
    (2, 5000),
    (1, 20001),
    (1, 60000),
    (1, 1100000),
)


@pytest.mark.parametrize(("shape", "dtype", "expected"), ROWS, ids=str)
def test_what_serves_rows(
    shape: tuple[int, int], dtype: torch.dtype, expected: str, launched: Launched
) -> None:
    launched.compiles = False
    x = torch.empty(shape, dtype=dtype, device="meta")
    launcher("softmax", x, dim=1, arch="sm_90a")
    words = launched.words
    launcher("softmax_backward", x, x, dim=1, arch="sm_90a")
    assert f"{words} | {launched.words}" == expected


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(("shape", "dtype", "expected"), [r for r in ROWS if r[0] in RUN], ids=str)
def test_rows(
    shape: tuple[int, int], dtype: torch.dtype, expected: str, arch: str | None, launched: Launched
) -> None:
    words = check_both(normal(*shape, dtype=dtype, arch=arch, scale=3), 1, arch, launched)
    assert arch is None or words == expected


COLUMNS = [  # shape, dtype, what is launched for dim 1
    ((1, 7, 40), F32, "ColumnSoftmax once | ColumnSoftmaxBackward once"),
    ((3, 100, 40), F16, "ColumnSoftmax once | ColumnSoftmaxBackward once"),
    ((2, 1100, 24), F32, "ColumnSoftmax | ColumnSoftmaxBackward"),
    ((1, 3000, 1, 5), BF16, "ColumnSoftmax elements | ColumnSoftmaxBackward elements"),
]


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(("shape", "dtype", "expected"), COLUMNS, ids=str)
def test_columns(
    shape: tuple[int, ...], dtype: torch.dtype, expected: str, arch: str | None, launched: Launched
) -> None:
    words = check_both(normal(*shape, dtype=dtype, arch=arch, scale=3), 1, arch, launched)
    assert arch is None or words == expected


def test_without_clusters(launched: Launched) -> None:
    words = check_both(normal(2, 20000, dtype=BF16), 1, "sm_80", launched)
    assert words == "StagedSoftmax | SoftmaxBackward"
    words = check_both(normal(2, 40000), 1, "sm_80", launched)
    assert words == "StreamingSoftmax | StreamingSoftmaxBackward"


def test_another_architecture(launched: Launched) -> None:
    """Clusters of Blackwell, in a row that is not long."""
    check(normal(2, 40000), 1, "sm_100a")
    assert launched.words == "StagedSoftmax cluster 8"


def test_more_rows_than_a_grid_has_in_y(launched: Launched) -> None:
    words = check_both(normal(70000, 3), 1, "sm_90a", launched)
    assert words == "Softmax elements exact | SoftmaxBackward elements exact"
    check(normal(70000, 2, 3), 1, "sm_90a")
    assert launched.words == "ColumnSoftmax elements once"


# -- strides and addresses ------------------------------------------------------------------------
VIEWS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "whole": (
        lambda x: x,
        "Softmax, ColumnSoftmax once | SoftmaxBackward, ColumnSoftmaxBackward once",
    ),
    "transposed": (
        lambda x: x.t(),
        "Softmax unaligned, ColumnSoftmax once | SoftmaxBackward unaligned, ColumnSoftmaxBackward",
    ),
    "odd part": (
        lambda x: x[:, :33],
        "Softmax elements, ColumnSoftmax elements once | "
        "SoftmaxBackward elements, ColumnSoftmaxBackward elements once",
    ),
    "odd rows in step": (
        lambda x: x[:, :69].contiguous(),
        "Softmax unaligned, ColumnSoftmax elements once | "
        "SoftmaxBackward unaligned, ColumnSoftmaxBackward elements once",
    ),
    "whole vectors elsewhere": (
        lambda x: x[:, 1:65],
        "Softmax elements exact, ColumnSoftmax elements once | "
        "SoftmaxBackward elements exact, ColumnSoftmaxBackward elements once",
    ),
    "every third column": (
        lambda x: x[:, ::3],
        "Softmax, ColumnSoftmax once | SoftmaxBackward, ColumnSoftmaxBackward once",
    ),
    "one row, repeated": (
        lambda x: x[1:2].expand(50, 72),
        "Softmax, ColumnSoftmax once | SoftmaxBackward, ColumnSoftmaxBackward once",
    ),
    "a row": (
        lambda x: x[3:4],
        "Softmax, ColumnSoftmax once | SoftmaxBackward, ColumnSoftmaxBackward once",
    ),
    "a column": (
        lambda x: x[:, 3:4],
        "Softmax elements exact, Softmax unaligned | "
        "SoftmaxBackward elements exact, SoftmaxBackward unaligned",
    ),
}


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str, arch: str | None, launched: Launched) -> None:
    make, expected = VIEWS[view]
    x, y = make(normal(50, 72, arch=arch, scale=3)), make(normal(50, 72, arch=arch).softmax(1))
    check(x, 1, arch)
    check(x, 0, arch)
    words = launched.words
    for dim in (1, 0):
        check_gradient(x, y, dim, arch)
    words += f" | {launched.words}"
    check_gradient(x.contiguous(), y, 1, arch)
    assert arch is None or words == expected


SERVING = {"three_pass": {"ThreePassSoftmax"}, "two_pass": {"TwoPassSoftmax"},
           "online": {"OnlineSoftmax"}, "cluster": {"Softmax"}}  # fmt: skip


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("variant", VARIANTS["softmax"])
def test_variants(variant: str, arch: str | None, launched: Launched) -> None:
    if variant == "cluster" and clusters_of(arch) == 1:
        pytest.skip("no clusters here")
    x = normal(2, 9, 40, arch=arch, scale=3)
    for tensor in (x[0], x[0].t(), x[0, :, 1:], x[0, :, ::3], x[0, 1:2].expand(4, 40)):
        check(tensor, 1, arch, variant)
    for dim in range(3):
        check(x, dim, arch, variant)
    names = {type(kernel).__name__ for kernel in launched.kernels}
    assert names == SERVING.get(variant, {"Softmax", "ColumnSoftmax"})
    if variant not in ("vectorized", "cluster"):
        return  # the gradient has no such variants
    launched.kernels.clear()
    for dim in (1, 2):
        check_gradient(x, x.softmax(dim), dim, arch, variant)
    clusters = {kernel.tile.cluster for kernel in launched.kernels
                if type(kernel).__name__ == "SoftmaxBackward"}  # fmt: skip
    assert clusters == ({2} if variant == "cluster" else {1})


@pytest.mark.parametrize("arch", WHERE)
def test_variants_of_long_rows(arch: str | None, launched: Launched) -> None:
    x = normal(1, 33000, arch=arch)
    check(x, 1, arch, "vectorized")
    assert launched.words == "StreamingSoftmax"
    check(x[:, :9000], 1, arch, "online")
    with pytest.raises(UsageError, match="32768 at most"):
        softmax(x, 1, arch, "online")


@pytest.mark.parametrize("arch", WHERE)
def test_extremes(arch: str | None) -> None:
    """Short rows, which threads share with others, columns, and rows that begin anywhere."""
    x = extremes(18, arch=arch, vector=4)
    assert_like_torch(softmax(x, 1, arch), x, 1)
    assert_like_torch(softmax(x.t().contiguous(), 0, arch), x.t(), 0)


# -- refusals, nothing to do ----------------------------------------------------------------------
def refused(x: torch.Tensor, dim: int, words: str, arch: str, variant: str | None = None) -> None:
    for op, operands in (("softmax", (x,)), ("softmax_backward", (x, x))):
        with pytest.raises(UsageError, match=words):
            launcher(op, *operands, dim=dim, arch=arch, variant=variant)


def test_refusals() -> None:
    x = torch.empty(3, 64, device="meta")
    refused(x, 1, "three_pass", "sm_90a", "fastest")
    refused(x, 1, "sm_90", "sm_80", "cluster")
    assert launcher("softmax", x, dim=1, arch="sm_80", variant="vectorized") is not None


def test_empty() -> None:
    for shape in ((0,), (0, 3), (3, 0), (4, 0, 2)):
        x = torch.empty(shape, device="meta")
        for dim in range(len(shape)):
            assert launcher("softmax", x, dim=dim, arch="sm_90a") is None
            assert launcher("softmax_backward", x, x, dim=dim, arch="sm_90a") is None


# -- longer than a kernel counts ------------------------------------------------------------------
@pytest.mark.parametrize("arch", WHERE)
def test_pieces(arch: str | None, launched: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = small_pieces(monkeypatch, 16)
    shapes = [((40, 3), 1), ((3, 40), 0), ((2, 3, 40), 1), ((20, 3, 2), 1),
              ((3, 2, 40), 0), ((3, 8, 3), 0), ((8, 3, 3), 2)]  # fmt: skip
    for shape, dim in shapes:
        x = normal(*shape, dtype=BF16, arch=arch)
        check(x, dim, arch)
        check_gradient(x, x.softmax(dim), dim, arch)
        assert len(divided) >= 2, f"{shape}: in one piece"
        divided.clear()
    x = normal(40, 30, dtype=BF16, arch=arch)
    for tensor in (x[:, 1:4], x[::2, ::10], x[1:2, :3].expand(40, 3)):
        check(tensor, 1, arch)
        check_gradient(tensor, tensor.flip(0), 1, arch)


@pytest.mark.parametrize("arch", WHERE)
def test_pieces_that_do_not_begin_at_a_vector(
    arch: str | None, launched: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of unaligned rows: those of y begin where they begin, which may be elsewhere."""
    small_pieces(monkeypatch, 64)
    x, dy = (normal(3504, arch=arch)[2:3502].view(10, 10, 35) for _ in range(2))
    check(x, 2, arch)
    check_gradient(dy, x.softmax(2), 2, arch)


def test_too_long_to_count(launched: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch, 16)
    for shape, dim in (((3, 17), 1), ((17, 3), 0), ((2, 17, 3), 1)):
        refused(torch.empty(shape, device="meta"), dim, "size of dim", "sm_90a")


# -- more than 2^31 elements ----------------------------------------------------------------------
LARGE = [((3, 2**30), 1), ((2**30 + 9, 2), 1), ((2, 2**30 + 9), 0), ((70001, 32768), 1),
         ((70001, 32768), 0), ((2, 3, 2**29), 1), ((2, 2**16, 2**15), 0)]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "dim"), LARGE, ids=str)
def test_more_elements_than_32_bits_count(shape: tuple[int, ...], dim: int) -> None:
    """Values of which a part is compared: around the ends and around 2^31 elements."""
    size = torch.Size(shape).numel()
    if torch.cuda.mem_get_info()[0] < 13 * size + 2**30:
        pytest.skip(f"needs {13 * size >> 30} GB of GPU memory")
    x = torch.full(shape, -40.0, dtype=F16, device="cuda")
    every = max(1, shape[dim] >> 10)  # of long rows few elements count: a share is none too small
    x.movedim(dim, -1)[..., ::every].random_(-3, 4)
    y = torch.full(shape, torch.nan, dtype=F16, device="cuda")
    run = launcher("softmax", x, dim=dim, arch=None)
    assert run is not None
    run(x, y)
    assert_shares(x, y, dim)
    dx = torch.full(shape, torch.nan, dtype=F16, device="cuda")
    back = launcher("softmax_backward", x, y, dim=dim, arch=None)
    assert back is not None
    back(x, y, dx)
    for part in parts_of(x, dim):
        dy, share = x[part].float(), y[part].float()
        expected = (dy - (dy * share).sum(dim, keepdim=True)) * share
        torch.testing.assert_close(dx[part].float(), expected, rtol=2**-10, atol=2**-12)


def parts_of(x: torch.Tensor, dim: int) -> Iterator[tuple[slice, ...]]:
    """Of the longest other dimension: its beginning, its middle and its end."""
    mode = max((k for k in range(x.dim()) if k != dim), key=lambda k: x.shape[k])
    long = x.shape[mode]
    for at in sorted({0, long // 2 - 2, long - 3} if long > 8 else range(long)):
        part = [slice(None)] * x.dim()
        part[mode] = slice(at, at + 3 if long > 8 else at + 1)
        yield tuple(part)


def assert_shares(x: torch.Tensor, y: torch.Tensor, dim: int) -> None:
    """Part by part: y is a softmax of x."""
    for part in parts_of(x, dim):
        weights = x[part].float().exp_()
        expected = weights.div_(weights.sum(dim, keepdim=True, dtype=torch.float64))
        torch.testing.assert_close(y[part].float(), expected, rtol=2**-10, atol=2**-24)
