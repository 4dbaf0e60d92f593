"""Test the measured cost of a call: the counts of all launches, and the time on a GPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import forgekit as fk
from forgekit import ops
from forgekit.benching import measuring
from forgekit.benching.measuring import Counters, Measured, measure
from forgekit.benching.timing import Timing
from forgekit.devices import Target
from tests.sanitizer.planted import bulk_copies
from tests.vgpu.bench import kernels as vgpu_kernels
from tests.viz import warp_kernels

pytestmark = pytest.mark.usefixtures("virtual_gpu")


@pytest.fixture
def virtual_gpu() -> object:
    with fk.use_target("virtual", "sm_90a"):
        yield


def transpose_call(n: int) -> Callable[[], None]:
    x, y = fk.randn(n, n), fk.empty(n, n)
    run = fk.compile(vgpu_kernels.transpose, x, y)
    return lambda: run(x, y)


def test_a_tiled_transpose_is_counted() -> None:
    m = measure(transpose_call(64), moved_bytes=2 * 64 * 64 * 4)
    c = m.counters
    assert c is not None and m.timing is None and m.gbps() is None and m.percent(1.0) is None
    requests = 64 * 64 // 32
    assert (c.kernels, c.load_requests, c.store_requests) == (1, requests, requests)
    assert (c.load_sectors, c.store_sectors) == (4 * requests, 4 * requests)
    assert (c.sectors_per_load, c.sectors_per_store) == (4.0, 4.0)
    assert c.global_bytes == c.touched_bytes == m.moved_bytes
    assert (c.shared_wavefronts, c.bank_conflicts) == (2 * requests, 0)
    assert 0 < c.warp_instructions < c.thread_instructions <= 32 * c.warp_instructions


def test_it_agrees_with_the_profile() -> None:
    x, y = fk.randn(16, 320), fk.full((320, 16), -1.0)
    run = fk.compile(warp_kernels.naive, x, y)
    p, c = fk.profile(run, x, y), measure(lambda: run(x, y), moved_bytes=1).counters
    assert c is not None and c.sectors_per_store == 32 == p.global_store_sectors_per_request
    assert c.warp_instructions == p.warp_instructions
    assert c.thread_instructions == p.thread_instructions
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    run = fk.compile(warp_kernels.tiled, x, y, 0)
    p, c = fk.profile(run, x, y, 0), measure(lambda: run(x, y, 0), moved_bytes=1).counters
    assert c is not None
    assert c.bank_conflicts == p.shared_load_bank_conflicts + p.shared_store_bank_conflicts > 0


def test_every_launch_of_an_operator_counts() -> None:
    x = torch.randn(70, 33)
    once = measure(lambda: ops.copy_transpose(x), moved_bytes=1).counters
    twice = measure(lambda: [ops.copy_transpose(x) for _ in range(2)], moved_bytes=1).counters
    assert once is not None and twice is not None
    assert (once.kernels, twice.kernels) == (1, 2)
    assert once.touched_bytes == 2 * 70 * 33 * 4
    assert twice == Counters(**{name: 2 * count for name, count in vars(once).items()})


def test_bulk_copies_move_bytes_without_requests() -> None:
    x = fk.randn(4 * bulk_copies.TILE)
    y = fk.empty(*x.shape)
    size = x.numel() * 4
    into = fk.compile(bulk_copies.bulk_pipeline.host, x, y, None)
    c = measure(lambda: into(x, y), moved_bytes=2 * size).counters
    assert c is not None and (c.bulk_bytes, c.load_requests, 32 * c.store_sectors) == (
        size,
        0,
        size,
    )
    assert c.global_bytes == 2 * size
    out = fk.compile(bulk_copies.bulk_store.host, x, y, None)
    c = measure(lambda: out(x, y), moved_bytes=2 * size).counters
    assert c is not None and (c.bulk_bytes, c.store_requests, 32 * c.load_sectors) == (
        size,
        0,
        size,
    )


def test_what_launches_nothing_is_not_counted() -> None:
    x = torch.randn(8, 8)
    m = measure(lambda: x.sum(), moved_bytes=256)
    assert m == Measured(256)
    assert measure(lambda: ops.copy_transpose(x[:0]), moved_bytes=0).counters is None


def test_on_a_gpu_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_gpu(call: Callable[[], None], *, repeats: int) -> Timing:
        call()
        return Timing(repeats, 0.5, 3.0)

    calls: list[int] = []
    monkeypatch.setattr(measuring, "current_target", lambda: Target("gpu", "sm_90a", "GPU"))
    monkeypatch.setattr(measuring, "time_gpu", time_gpu)
    m = measure(lambda: calls.append(1), moved_bytes=8 * 10**6, repeats=4)
    assert m == Measured(8 * 10**6, timing=Timing(4, 0.5, 3.0)) and calls == [1]
    assert m.gbps() == 2.0 and m.percent(4.0) == 50.0
