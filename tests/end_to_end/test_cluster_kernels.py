"""Compare the results of CuTe DSL kernels with clusters, mbarriers and bulk copies with torch's.

The sanitizer's tests plant bugs in the same kernels and also run them in adversarial orders. The
tests marked gpu run the same kernels on a GPU.
"""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import forgekit as fk
from tests.sanitizer.planted import bulk_copies, clusters

ROW_SUMS = {"barrier": clusters.cluster_sum.host, "buffer": clusters.reduction_buffer_sum.host}
SHAPES = [(1, 1), (5, 129), (2, 4100)]


def poisoned(*shape: int, device: str) -> torch.Tensor:
    return fk.full(shape, float("nan"), device=device)


def check_row_sum(name: str, cluster: int, device: str, arch: str | None = None) -> None:
    options = {} if arch is None else {"arch": arch}
    for shape in SHAPES:
        x = fk.randn(*shape, device=device)
        y = poisoned(*(shape[:1] if name == "barrier" else (shape[0], cluster)), device=device)
        run = fk.compile(ROW_SUMS[name], x, y, None, cluster, device=device, **options)
        run(x, y)
        want = x.double().sum(1)
        got = y.double() if name == "barrier" else y.double().T
        torch.testing.assert_close(got, want.expand_as(got), atol=1e-4, rtol=1e-5)


def check_bulk(name: str, device: str, arch: str | None = None) -> None:
    options = {} if arch is None else {"arch": arch}
    host, add, scale = {"pipeline": (bulk_copies.bulk_pipeline.host, 0, 2),
                        "store": (bulk_copies.bulk_store.host, 1, 1)}[name]  # fmt: skip
    for tiles in (2, 4, 10):
        x = fk.randn(tiles * bulk_copies.TILE, device=device)
        y = poisoned(*x.shape, device=device)
        fk.compile(host, x, y, None, device=device, **options)(x, y)
        assert torch.equal(y, scale * x + add)


@pytest.mark.parametrize(
    "name, cluster", [("barrier", 2), ("barrier", 8), ("buffer", 4), ("buffer", 8)]
)
def test_row_sum(name, cluster):
    check_row_sum(name, cluster, "virtual")


@pytest.mark.parametrize("name", ["pipeline", "store"])
def test_bulk_copies(name):
    check_bulk(name, "virtual")


def test_on_sm_100a():
    check_row_sum("buffer", 2, "virtual", "sm_100a")
    check_bulk("pipeline", "virtual", "sm_100a")


def test_hand_over_in_a_ring():
    x, y = fk.randn(2 * clusters.THREADS), poisoned(2 * clusters.THREADS, device="virtual")
    fk.compile(clusters.ring.host, x, y, None, device="virtual")(x, y)
    assert torch.equal(y, clusters.passed_on(x))


def test_messages_name_the_line_of_a_wait():
    """The compiler advances its line count with every line of inline assembly, such as the wait."""
    x, y = fk.randn(2, 100), fk.empty(2, 2)
    run = fk.compile(ROW_SUMS["buffer"], x, y, "without_arrival", 2, device="virtual")
    with pytest.raises(fk.KernelError, match=r"clusters.py, line \d+: cute.arch.mbarrier_wait"):
        run(x, y)


# -- on a GPU -------------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("cluster", [2, 4, 8])
@pytest.mark.parametrize("name", ROW_SUMS)
def test_row_sum_on_a_gpu(name, cluster):
    check_row_sum(name, cluster, "gpu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["pipeline", "store"])
def test_bulk_copies_on_a_gpu(name):
    check_bulk(name, "gpu")
