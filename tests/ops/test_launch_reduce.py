"""Launching sums: which kernel serves which tensor, and that its sums are right."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from forgekit.errors import UsageError
from forgekit.ops.reductions import VARIANTS
from tests.kernels.rowwise import WHERE, Output, assert_sums, normal, same_bits
from tests.ops.launched import Launched, launcher, small_pieces

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16


def sums(x: torch.Tensor, dim: int, arch: str | None, variant: str | None = None) -> torch.Tensor:
    shape = tuple(x.shape[:dim] + x.shape[dim + 1 :])
    y = Output(shape, x.dtype, arch)
    run = launcher("reduce_sum", x, dim=dim, arch=arch, variant=variant)
    assert run is not None
    assert run(x, y.tensor) is None
    return y.read()


def check(x: torch.Tensor, dim: int, arch: str | None, variant: str | None = None) -> None:
    assert_sums(sums(x, dim, arch, variant), x, dim)


# -- which kernel ---------------------------------------------------------------------------------
ROWS = [  # shape, dtype, what is launched for dim 1
    ((5, 1), F32, "RowSum elements exact"),
    ((7, 4), F32, "RowSum elements exact"),
    ((7, 15), F32, "RowSum elements"),
    ((3, 33), F32, "RowSum unaligned"),
    ((33, 64), BF16, "ShortRowSum exact"),
    ((300, 40), F32, "ShortRowSum"),
    ((5, 1000), F16, "ShortRowSum"),
    ((3, 1024), F32, "ShortRowSum exact"),
    ((3, 4096), F32, "RowSum exact"),
    ((3, 3001), BF16, "RowSum unaligned"),
    ((2, 8192), F32, "RowSum cluster 2"),
    ((2, 8196), F32, "RowSum cluster 2"),
    ((1, 20001), F32, "RowSum unaligned cluster 4"),
    ((2, 65536), BF16, "RowSum cluster 8"),
    ((2, 131072), F32, "RowSum split, RowSum elements"),
    ((1, 300001), F32, "RowSum unaligned split, RowSum elements"),
]


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(("shape", "dtype", "expected"), ROWS, ids=str)
def test_rows(
    shape: tuple[int, int], dtype: torch.dtype, expected: str, arch: str | None, launched: Launched
) -> None:
    check(normal(*shape, dtype=dtype, arch=arch), 1, arch)
    assert arch is None or launched.words == expected


COLUMNS = [  # shape, dtype, what is launched for dim 1
    ((1, 7, 40), F32, "ColumnSum"),
    ((2, 60, 33), F32, "ColumnSum elements"),
    ((3, 100, 40), F16, "ColumnSum"),
    ((400, 9, 4), F32, "ColumnSum"),
    ((1, 5000, 4), BF16, "ColumnSum cluster 2"),
    ((1, 1100, 24), F32, "ColumnSum cluster 4"),
    ((1, 16500, 8), F32, "ColumnSum, ColumnSum"),
]


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize(("shape", "dtype", "expected"), COLUMNS, ids=str)
def test_columns(
    shape: tuple[int, ...], dtype: torch.dtype, expected: str, arch: str | None, launched: Launched
) -> None:
    check(normal(*shape, dtype=dtype, arch=arch), 1, arch)
    assert arch is None or launched.words == expected


def test_without_clusters(launched: Launched) -> None:
    check(normal(2, 8192), 1, "sm_80")
    check(normal(2100, 24), 0, "sm_80")
    assert launched.words == "RowSum split, RowSum elements, ColumnSum, ColumnSum"


def test_another_architecture(launched: Launched) -> None:
    check(normal(2, 16384, dtype=F16), 1, "sm_100a")
    check(normal(1100, 24, dtype=F16), 0, "sm_100a")
    assert launched.words == "RowSum cluster 2, ColumnSum cluster 2"


def test_more_rows_than_a_grid_has_in_y(launched: Launched) -> None:
    check(normal(70000, 3), 1, "sm_90a")
    assert launched.words == "RowSum elements exact"
    check(normal(70000, 2, 3), 1, "sm_90a")
    assert launched.words == "ColumnSum elements"


# -- strides and addresses ------------------------------------------------------------------------
VIEWS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "whole": (lambda x: x, "ShortRowSum | ColumnSum"),
    "transposed": (lambda x: x.t(), "ColumnSum | ShortRowSum"),
    "odd part": (lambda x: x[:, :33], "RowSum unaligned | ColumnSum elements"),
    "aligned part": (lambda x: x[:, 8:48], "ShortRowSum | ColumnSum"),
    "from the second": (lambda x: x[:, 1:], "RowSum unaligned | ColumnSum elements"),
    "whole vectors elsewhere": (lambda x: x[:, 1:65], "RowSum unaligned | ColumnSum elements"),
    "every third column": (lambda x: x[:, ::3], "RowSum elements | RowSum elements"),
    "one row, repeated": (lambda x: x[1:2].expand(50, 72), "ShortRowSum | ColumnSum"),
    "one column, repeated": (
        lambda x: x[:, 1:2].expand(50, 72),
        "RowSum elements | RowSum elements",
    ),
    "one number, repeated": (lambda x: x[1, 1].expand(50, 72), "RowSum elements | RowSum elements"),
    "a row": (lambda x: x[3:4], "ShortRowSum | ColumnSum"),
    "a column": (lambda x: x[:, 3:4], "RowSum elements exact | RowSum elements"),
}


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str, arch: str | None, launched: Launched) -> None:
    make, expected = VIEWS[view]
    x = make(normal(50, 72, arch=arch))
    check(x, 1, arch)
    by_rows = launched.words
    check(x, 0, arch)
    assert arch is None or f"{by_rows} | {launched.words}" == expected


SERVING = {"naive": {"NaiveRowSum"}, "smem": {"SharedRowSum"}, "shuffle": {"ShuffleRowSum"}}


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("variant", VARIANTS["reduce_sum"])
def test_variants(variant: str, arch: str | None, launched: Launched) -> None:
    x = normal(2, 9, 40, arch=arch)
    for tensor in (x[0], x[0].t(), x[0, :, 1:], x[0, :, ::3], x[0, 1:2].expand(4, 40)):
        check(tensor, 1, arch, variant)
    for dim in range(3):
        check(x, dim, arch, variant)
    names = {type(kernel).__name__ for kernel in launched.kernels}
    assert names == SERVING.get(variant, {"RowSum", "ShortRowSum", "ColumnSum"})


@pytest.mark.parametrize("arch", WHERE)
def test_split_takes_two_steps_where_others_take_a_cluster(
    arch: str | None, launched: Launched
) -> None:
    check(normal(2, 8192, arch=arch), 1, arch, "split")
    check(normal(2100, 24, arch=arch), 0, arch, "split")
    assert launched.words == "RowSum split, RowSum elements, ColumnSum, ColumnSum"


def test_no_such_variant() -> None:
    with pytest.raises(UsageError, match="naive"):
        launcher("reduce_sum", normal(3, 4), dim=1, arch="sm_90a", variant="fastest")


@pytest.mark.parametrize("arch", WHERE)
def test_empty(arch: str | None) -> None:
    for shape in ((0, 3), (0, 0, 3), (4, 0, 2)):
        x = normal(*shape, arch=arch)
        for dim in range(x.dim()):
            kept = shape[:dim] + shape[dim + 1 :]
            run = launcher("reduce_sum", x, dim=dim, arch=arch)
            assert (run is None) == (0 in kept)
            if run is not None:
                y = Output(kept, F32, arch)
                run(x, y.tensor)
                assert torch.equal(y.read(), torch.zeros(kept))


# -- longer than a kernel counts ------------------------------------------------------------------
PIECES = [((3, 40), 1), ((40, 3), 0), ((40, 3), 1), ((3, 40), 0), ((40, 33), 1), ((40, 33), 0),
          ((2, 40, 3), 1), ((2, 40, 3), 0), ((2, 40, 3), 2),
          ((3, 8, 3), 0), ((8, 3, 3), 2)]  # fmt: skip


@pytest.mark.parametrize("arch", WHERE)
def test_pieces(arch: str | None, launched: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = small_pieces(monkeypatch, 16)
    for shape, dim in PIECES:
        check(normal(*shape, dtype=F16, arch=arch), dim, arch)
        assert divided, f"{shape}: in one piece"
        divided.clear()
    x = normal(40, 70, dtype=F16, arch=arch)
    for tensor in (x.t(), x[:, 1:], x[::2, ::3], x[1:2].expand(40, 70)):
        check(tensor, 0, arch)
        check(tensor, 1, arch)


@pytest.mark.parametrize("arch", WHERE)
def test_same_bits_twice(arch: str | None) -> None:
    for x, dim in ((normal(2, 9000, arch=arch), 1), (normal(3000, 24, arch=arch), 0)):
        assert same_bits(sums(x, dim, arch), sums(x, dim, arch))


# -- more than 2^31 elements ----------------------------------------------------------------------
LARGE = [  # shape, dim: rows and columns beyond 2^31 elements; modes beyond 2^30 and 2^31
    ((3, 2**30), 1), ((2**31 + 10,), 0), ((2**30 + 9, 2), 1), ((2, 2**30 + 9), 0),
    ((70001, 32768), 1), ((70001, 32768), 0), ((2, 3, 2**29), 1), ((2, 2**16, 2**15), 0),
]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "dim"), LARGE, ids=str)
def test_more_elements_than_32_bits_count(shape: tuple[int, ...], dim: int) -> None:
    size = torch.Size(shape).numel()
    if torch.cuda.mem_get_info()[0] < 12 * size + 2**30:
        pytest.skip(f"needs {12 * size >> 30} GB of GPU memory")
    x = torch.empty(shape, dtype=F16, device="cuda").random_(-3, 4)
    y = torch.full(shape[:dim] + shape[dim + 1 :], torch.nan, dtype=F16, device="cuda")
    run = launcher("reduce_sum", x, dim=dim, arch=None)
    assert run is not None
    run(x, y)
    expected = x.sum(dim, dtype=F32 if x.shape[dim] < 2**20 else torch.float64)  # exact
    assert torch.equal(y, expected.half())
