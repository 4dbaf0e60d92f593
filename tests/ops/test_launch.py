"""Test the launches of sums, softmax and its gradient: the kernel for each tensor, and its results.

`tests/kernels` tests the kernels themselves; here, a few launches of each kind run on the virtual
GPU, and all launches run on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from forgekit.errors import UsageError
from forgekit.ops.reductions import VARIANTS
from tests.kernels.rowwise import (
    WHERE,
    Output,
    assert_gradient,
    assert_softmax,
    assert_sums,
    need_clusters,
    normal,
)
from tests.ops.launched import Launched, launcher, small_pieces

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
RIGHT: dict[str, Callable[..., None]] = {
    "reduce_sum": assert_sums,
    "softmax": assert_softmax,
    "softmax_backward": assert_gradient,
}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Record the kernels that are compiled from now on."""
    return Launched(monkeypatch)


def check(
    op: str, x: torch.Tensor, dim: int, arch: str | None, variant: str | None = None,
    y: torch.Tensor | None = None,
) -> None:  # fmt: skip
    """Check that launches for x, or for a gradient x and y, fill a poisoned result correctly."""
    operands: tuple[torch.Tensor, ...] = (x,)
    if op == "softmax_backward":
        operands = (x, x.softmax(dim) if y is None else y)
    kept = x.shape[:dim] + x.shape[dim + 1 :] if op == "reduce_sum" else x.shape
    result = Output(tuple(kept), x.dtype, arch)
    run = launcher(op, *operands, dim=dim, arch=arch, variant=variant)
    assert run is not None
    assert run(*operands, result.tensor) is None
    RIGHT[op](result.read(), *operands, dim)


def words(
    launched: Launched, op: str, x: torch.Tensor, dim: int, arch: str = "sm_90a",
    variant: str | None = None,
) -> str:  # fmt: skip
    """Return the launches for these operands, as text."""
    launched.compiles = False
    launcher(op, *([x] * (1 + op.endswith("backward"))), dim=dim, arch=arch, variant=variant)
    return launched.words


# -- which kernel ---------------------------------------------------------------------------------
Case = tuple[tuple[int, ...], torch.dtype, str]
SUMS: list[Case] = [  # shape, dtype, launches for dim 1
    ((5, 1), F32, "ShortRowSum elements exact"),
    ((7, 4), F32, "ShortRowSum"),
    ((7, 15), F32, "ShortRowSum elements"),
    ((3, 33), F32, "ShortRowSum elements"),
    ((2000, 52), BF16, "ShortRowSum"),  # vectors of 4
    ((9000, 34), F16, "ShortRowSum"),  # vectors of 2, in turn
    ((3, 257), F32, "ShortRowSum elements"),
    ((3, 193), BF16, "RowSum unaligned"),
    ((3, 3002), BF16, "ShortRowSum"),  # vectors of 2
    ((1000, 3003), BF16, "RowSum unaligned"),
    ((33, 64), BF16, "ShortRowSum exact"),
    ((300, 40), F32, "ShortRowSum"),
    ((5, 1000), F16, "ShortRowSum"),
    ((3, 1024), F32, "ShortRowSum exact"),
    ((3, 4096), F32, "ShortRowSum exact"),
    ((2, 8196), F32, "ShortRowSum"),
    ((3, 3001), BF16, "RowSum unaligned"),
    ((200, 24576), F32, "RowSum once exact"),
    ((132, 32768), F32, "RowSum once exact cluster 2"),
    ((132, 24580), F32, "RowSum once cluster 2"),
    ((1, 20001), F32, "RowSum unaligned cluster 8"),
    ((2, 65536), BF16, "RowSum cluster 8"),
    ((2, 81920), BF16, "RowSum exact cluster 8"),
    ((2, 131072), F32, "SplitRowSum exact split"),
    ((1, 300001), F32, "SplitRowSum unaligned split"),
    ((1, 7, 40), F32, "ColumnSum"),
    ((2, 60, 33), F32, "ColumnSum elements"),
    ((3, 100, 40), F16, "ColumnSum"),
    ((400, 9, 4), F32, "ColumnSum"),
    ((1, 5000, 4), BF16, "ColumnSum cluster 2"),
    ((1, 1100, 24), F32, "ColumnSum cluster 4"),
    ((1, 16500, 8), F32, "ColumnSum, ColumnSum"),
]
SOFTMAX: list[Case] = [  # a gradient's kernels have the same names with Backward
    ((5, 1), F32, "Softmax elements exact"),
    ((7, 15), F32, "Softmax elements"),
    ((3, 33), F32, "Softmax elements | SoftmaxBackward unaligned"),
    ((3, 81), F32, "Softmax unaligned"),
    ((3, 34), F16, "Softmax"),  # vectors of 2
    ((3, 52), BF16, "Softmax"),  # vectors of 4
    ((3, 101), F16, "Softmax unaligned"),
    ((5, 1000), F32, "Softmax"),
    ((3, 1003), BF16, "Softmax unaligned"),
    ((2, 4097), F32, "Softmax unaligned"),
    ((600, 5000), BF16, "StagedSoftmax | SoftmaxBackward"),
    ((2, 5000), BF16, "Softmax cluster 4 | SoftmaxBackward cluster 2"),
    ((1, 20000), F32, "Softmax cluster 16 | SoftmaxBackward cluster 16"),
    ((1, 20001), BF16, "Softmax unaligned cluster 4 | SoftmaxBackward unaligned cluster 8"),
    ((1, 32768), F32, "Softmax exact cluster 16 | SoftmaxBackward exact cluster 16"),
    ((1, 60000), BF16, "Softmax cluster 16 | SoftmaxBackward cluster 16"),
    ((1, 70001), F32, "Softmax unaligned cluster 16"),
    ((1, 140000), F32, "SplitSoftmax split | SplitSoftmaxBackward split"),
    ((3, 140000), F32, "StagedSoftmax cluster 16 | SoftmaxBackward cluster 16"),
    ((40, 1100000), F32, "SplitSoftmax split | SplitSoftmaxBackward split"),
    ((1, 7, 40), F32, "ColumnSoftmax once"),
    ((3, 100, 40), F16, "ColumnSoftmax once"),
    ((2, 1100, 24), F32, "ColumnSoftmax"),
    ((1, 3000, 1, 5), BF16, "ColumnSoftmax elements"),
]


def of_gradient(expected: str) -> str:
    return expected.partition(" | ")[2] or expected.replace("Softmax", "SoftmaxBackward")


SERVED = [("reduce_sum", *case) for case in SUMS]
for shape, dtype, name in SOFTMAX:
    SERVED += [("softmax", shape, dtype, name.partition(" | ")[0]),
               ("softmax_backward", shape, dtype, of_gradient(name))]  # fmt: skip


@pytest.mark.parametrize(("op", "shape", "dtype", "expected"), SERVED, ids=str)
def test_what_serves(
    op: str, shape: tuple[int, ...], dtype: torch.dtype, expected: str, launched: Launched
) -> None:
    assert words(launched, op, torch.empty(shape, dtype=dtype, device="meta"), 1) == expected


RUN = {
    "reduce_sum": ((300, 40), (3, 3001), (2, 131072), (2, 60, 33), (1, 1100, 24), (1, 16500, 8)),
    "softmax": ((5, 1), (7, 15), (5, 1000), (1, 20001), (1, 3000, 1, 5)),
    "softmax_backward": ((5, 1), (7, 15), (3, 1003), (5, 1000)),
}


@pytest.mark.parametrize(
    ("op", "shape", "dtype", "arch"),
    [(op, shape, dtype, "sm_90a") for op, shape, dtype, _ in SERVED if shape in RUN[op]]
    + [pytest.param(*case[:3], None, marks=pytest.mark.gpu) for case in SERVED],
    ids=str,
)
def test_values(op: str, shape: tuple[int, ...], dtype: torch.dtype, arch: str | None) -> None:
    check(op, normal(*shape, dtype=dtype, arch=arch, scale=3), 1, arch)


@pytest.mark.parametrize(
    ("op", "shape", "arch", "expected"),
    [
        ("reduce_sum", (2, 8192), "sm_80", "ShortRowSum"),
        ("reduce_sum", (2, 24576), "sm_80", "SplitRowSum exact split"),
        ("reduce_sum", (1, 2100, 24), "sm_80", "ColumnSum, ColumnSum"),
        ("reduce_sum", (132, 32768), "sm_100a", "RowSum once exact cluster 2"),
        ("reduce_sum", (2, 65536), "sm_100a", "RowSum exact cluster 8"),
        ("reduce_sum", (1, 1100, 24), "sm_100a", "ColumnSum cluster 4"),
        ("softmax", (2, 20000), "sm_80", "StagedSoftmax"),
        ("softmax", (2, 40000), "sm_80", "StreamingSoftmax"),
        ("softmax_backward", (2, 20000), "sm_80", "SoftmaxBackward"),
        ("softmax_backward", (2, 40000), "sm_80", "StreamingSoftmaxBackward"),
        ("softmax", (2, 40000), "sm_100a", "StagedSoftmax cluster 16"),
    ],
    ids=str,
)
def test_other_architectures(
    op: str, shape: tuple[int, ...], arch: str, expected: str, launched: Launched
) -> None:
    assert words(launched, op, torch.empty(shape, device="meta"), 1, arch) == expected


def test_more_rows_than_a_grid_has_in_y() -> None:
    check("reduce_sum", normal(70000, 3), 1, "sm_90a")
    check("softmax", normal(70000, 2, 3), 1, "sm_90a")


# -- strides and addresses ------------------------------------------------------------------------
View = Callable[[torch.Tensor], torch.Tensor]
# Views of a 50 x 72 tensor, with the launches for dim 1 | dim 0 of sums and of softmax.
VIEWS: dict[str, tuple[View, str, str]] = {
    "whole": (lambda x: x, "ShortRowSum | ColumnSum", "Softmax | ColumnSoftmax once"),
    "transposed": (
        lambda x: x.t(), "ColumnSum | ShortRowSum", "Softmax | ColumnSoftmax once",
    ),
    "odd and transposed": (
        lambda x: x.repeat(2, 1)[:93].t(), "ColumnSum | ShortRowSum",
        "Softmax unaligned | ColumnSoftmax elements once",
    ),
    "odd part": (
        lambda x: x[:, :33], "ShortRowSum elements | ColumnSum elements",
        "Softmax elements | ColumnSoftmax elements once",
    ),
    "odd rows in step": (
        lambda x: x.repeat(1, 2)[:, :101].contiguous(), "ShortRowSum elements | ColumnSum elements",
        "Softmax unaligned | ColumnSoftmax elements once",
    ),
    "aligned part": (
        lambda x: x[:, 8:48], "ShortRowSum | ColumnSum", "Softmax | ColumnSoftmax once",
    ),
    "whole vectors elsewhere": (
        lambda x: x[:, 1:65], "ShortRowSum elements exact | ColumnSum elements",
        "Softmax elements exact | ColumnSoftmax elements once",
    ),
    "every third column": (
        lambda x: x[:, ::3], "ShortRowSum elements exact | ShortRowSum elements",
        "Softmax | ColumnSoftmax once",
    ),
    "one row, repeated": (
        lambda x: x[1:2].expand(50, 72), "ShortRowSum | ColumnSum", "Softmax | ColumnSoftmax once",
    ),
    "one column, repeated": (
        lambda x: x[:, 1:2].expand(50, 72), "ShortRowSum elements exact | ShortRowSum elements",
        "Softmax | ColumnSoftmax once",
    ),
    "a row": (lambda x: x[3:4], "ShortRowSum | ColumnSum", "Softmax | ColumnSoftmax once"),
    "a column": (
        lambda x: x[:, 3:4], "ShortRowSum elements exact | ShortRowSum elements",
        "Softmax elements exact | Softmax",
    ),
    "an odd column": (
        lambda x: x.repeat(2, 1)[:93, 3:4], "ShortRowSum elements exact | ShortRowSum elements",
        "Softmax elements exact | Softmax unaligned",
    ),
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_what_serves_views(view: str, launched: Launched) -> None:
    make, sums, softmax = VIEWS[view]
    x = make(normal(50, 72))
    gradient = softmax.replace("Softmax", "SoftmaxBackward")
    if "transposed" in view:  # the gradient's threads cannot keep the rows of a column
        gradient = gradient.removesuffix(" once")
    for op, expected in zip(RIGHT, (sums, softmax, gradient), strict=True):
        assert " | ".join(words(launched, op, x, dim) for dim in (1, 0)) == expected


@pytest.mark.parametrize(
    ("view", "arch"),
    [(v, "sm_90a") for v in ("odd and transposed", "one row, repeated", "an odd column")]
    + [pytest.param(v, None, marks=pytest.mark.gpu) for v in VIEWS],
)  # fmt: skip
def test_views(view: str, arch: str | None) -> None:
    make = VIEWS[view][0]
    x, y = make(normal(50, 72, arch=arch, scale=3)), make(normal(50, 72, arch=arch).softmax(1))
    for dim in (1, 0):
        for op in RIGHT:
            check(op, x, dim, arch, y=y)
    check("softmax_backward", x.contiguous(), 1, arch, y=y)


# -- variants -------------------------------------------------------------------------------------
SERVING = {
    "naive": {"NaiveRowSum"}, "smem": {"SharedRowSum"}, "shuffle": {"ShuffleRowSum"},
    "split": {"RowSum", "ColumnSum"}, "three_pass": {"ThreePassSoftmax"},
    "two_pass": {"TwoPassSoftmax"}, "online": {"OnlineSoftmax"}, "cluster": {"Softmax"},
}  # fmt: skip


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(
    ("op", "variant"), [(op, v) for op in ("reduce_sum", "softmax") for v in VARIANTS[op]]
)
def test_variants(op: str, variant: str, arch: str | None, launched: Launched) -> None:
    need_clusters(2 if variant == "cluster" else 1, arch)
    x = normal(2, 9, 40, arch=arch, scale=3)
    long = normal(3, 301, dtype=BF16, arch=arch, scale=3)
    for tensor in (x[0, :, ::3], x[0, 1:2].expand(4, 40), x[0].t(), long):
        check(op, tensor, 1, arch, variant)
    for dim in range(3):
        check(op, x, dim, arch, variant)
    names = {type(kernel).__name__ for kernel in launched.kernels}
    fastest = {"RowSum", "ColumnSum"} if op == "reduce_sum" else {"Softmax", "ColumnSoftmax"}
    assert names - {"ShortRowSum"} == SERVING.get(variant, fastest)


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(("variant", "cluster"), [("vectorized", 1), ("cluster", 2)])
def test_variants_of_the_gradient(
    variant: str, cluster: int, arch: str | None, launched: Launched
) -> None:
    need_clusters(cluster, arch)
    x = normal(2, 9, 40, arch=arch, scale=3)
    for dim in (1, 2):
        check("softmax_backward", x, dim, arch, variant)
    rows = [k for k in launched.kernels if type(k).__name__ == "SoftmaxBackward"]
    assert {kernel.tile.cluster for kernel in rows} == {cluster}


def test_variants_of_long_rows(launched: Launched) -> None:
    x = torch.empty(1, 33000, device="meta")
    assert words(launched, "softmax", x, 1, variant="vectorized") == "StreamingSoftmax"
    assert words(launched, "softmax", x[:, :9000], 1, variant="online") == "OnlineSoftmax elements"
    with pytest.raises(UsageError, match="at most 32768 for variant"):
        words(launched, "softmax", x, 1, variant="online")
    two_steps = "SplitRowSum exact split"
    assert words(launched, "reduce_sum", x[:, :24576], 1, variant="split") == two_steps
    columns = torch.empty(2100, 24, device="meta")
    assert words(launched, "reduce_sum", columns, 0, variant="split") == "ColumnSum, ColumnSum"


# -- refusals -------------------------------------------------------------------------------------
def refused(op: str, x: torch.Tensor, dim: int, match: str, **call: Any) -> None:
    operands = [x] * (1 + op.endswith("backward"))
    with pytest.raises(UsageError, match=match):
        launcher(op, *operands, dim=dim, **{"arch": "sm_90a", **call})


def test_refusals() -> None:
    x = torch.empty(3, 64, device="meta")
    refused("reduce_sum", x, 1, "naive", variant="fastest")
    for op in ("softmax", "softmax_backward"):
        refused(op, x, 1, "three_pass", variant="fastest")
        refused(op, x, 1, "sm_90", variant="cluster", arch="sm_80")
    assert launcher("softmax", x, dim=1, arch="sm_80", variant="vectorized") is not None


# -- dimensions longer than a kernel can count ----------------------------------------------------
PIECES = [((40, 3), 1), ((3, 40), 0), ((20, 3, 2), 1), ((3, 8, 3), 0), ((8, 3, 3), 2)]
PIECES_OF_SUMS = [((3, 40), 1), ((40, 33), 1), ((40, 33), 0), ((2, 40, 3), 1)]


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("op", RIGHT)
def test_pieces(op: str, arch: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = small_pieces(monkeypatch, 16)
    for shape, dim in PIECES + PIECES_OF_SUMS * (op == "reduce_sum"):
        check(op, normal(*shape, dtype=BF16, arch=arch), dim, arch)
        assert divided, f"{shape}: in one piece"
        divided.clear()
    x = normal(40, 30, dtype=BF16, arch=arch)
    for tensor in (x[:, 1:4], x[::2, ::10]):
        check(op, tensor, 1, arch, y=tensor.flip(0))


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("op", ["softmax", "softmax_backward"])
def test_pieces_that_do_not_begin_at_a_vector(
    op: str, arch: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of unaligned rows of y and of x may begin at different offsets."""
    small_pieces(monkeypatch, 128)
    check(op, normal(8504, arch=arch)[2:8502].view(10, 10, 85), 2, arch)


def test_too_long_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch, 16)
    for shape, dim in (((3, 17), 1), ((17, 3), 0), ((2, 17, 3), 1)):
        for op in ("softmax", "softmax_backward"):
            refused(op, torch.empty(shape, device="meta"), dim, "size of dim")


# -- more than 2^31 elements ----------------------------------------------------------------------
# Rows and columns beyond 2^31 elements; modes beyond 2^30 and, for sums, 2^31.
LARGE = [((3, 2**30), 1), ((2**30 + 9, 2), 1), ((2, 2**30 + 9), 0), ((70001, 32768), 1),
         ((70001, 32768), 0), ((2, 3, 2**29), 1), ((2, 2**16, 2**15), 0)]  # fmt: skip


def need_memory(shape: tuple[int, ...], bytes_an_element: int) -> None:
    size = bytes_an_element * torch.Size(shape).numel()
    if torch.cuda.mem_get_info()[0] < size + 2**30:
        pytest.skip(f"needs {size >> 30} GB of GPU memory")


def launch_on_gpu(op: str, *operands: torch.Tensor, dim: int) -> torch.Tensor:
    shape = operands[0].shape
    kept = shape[:dim] + shape[dim + 1 :] if op == "reduce_sum" else shape
    result = torch.full(kept, torch.nan, dtype=F16, device="cuda")
    run = launcher(op, *operands, dim=dim, arch=None)
    assert run is not None
    run(*operands, result)
    return result


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "dim"), [*LARGE, ((2**31 + 10,), 0)], ids=str)
def test_sums_of_more_elements_than_32_bits_count(shape: tuple[int, ...], dim: int) -> None:
    need_memory(shape, 12)
    x = torch.empty(shape, dtype=F16, device="cuda").random_(-3, 4)
    y = launch_on_gpu("reduce_sum", x, dim=dim)
    expected = x.sum(dim, dtype=F32 if x.shape[dim] < 2**20 else torch.float64)  # exact
    assert torch.equal(y, expected.half())


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "dim"), LARGE, ids=str)
def test_softmax_of_more_elements_than_32_bits_count(shape: tuple[int, ...], dim: int) -> None:
    """The test compares only the values near the ends and near 2^31 elements."""
    need_memory(shape, 13)
    x = torch.full(shape, -40.0, dtype=F16, device="cuda")
    every = max(1, shape[dim] >> 10)  # for long rows, a few elements suffice
    x.movedim(dim, -1)[..., ::every].random_(-3, 4)
    y = launch_on_gpu("softmax", x, dim=dim)
    dx = launch_on_gpu("softmax_backward", x, y, dim=dim)
    for part in parts_of(x, dim):
        dy, share = x[part].float(), y[part].float()
        weights = dy.exp()
        expected = weights.div_(weights.sum(dim, keepdim=True, dtype=torch.float64))
        torch.testing.assert_close(share, expected, rtol=2**-10, atol=2**-24)
        expected = (dy - (dy * share).sum(dim, keepdim=True)) * share
        torch.testing.assert_close(dx[part].float(), expected, rtol=2**-10, atol=2**-12)


def parts_of(x: torch.Tensor, dim: int) -> Iterator[tuple[slice, ...]]:
    """Return parts of the longest other dimension: its beginning, its middle and its end."""
    mode = max((k for k in range(x.dim()) if k != dim), key=lambda k: x.shape[k])
    long = x.shape[mode]
    for at in sorted({0, long // 2 - 2, long - 3} if long > 8 else range(long)):
        part = [slice(None)] * x.dim()
        part[mode] = slice(at, at + 3 if long > 8 else at + 1)
        yield tuple(part)
