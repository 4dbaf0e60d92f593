"""Test that equal calls share a recording, and that any difference leads to a new run."""

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit.compiling.compiled import CompiledKernel
from forgekit.errors import MemoryAccessError
from forgekit.tracing import recordings
from forgekit.tracing.recordings import recorded
from forgekit.vgpu import recording as vgpu_recording
from tests.kernels import simple
from tests.viz import warp_kernels


@pytest.fixture
def runs(monkeypatch):
    """Return the names of the kernels that run; there are no recordings at first."""
    found, call = [], CompiledKernel.__call__

    def counted(self, *args, **kwargs):
        found.append(self.name)
        return call(self, *args, **kwargs)

    monkeypatch.setattr(CompiledKernel, "__call__", counted)
    monkeypatch.setattr(recordings, "_kept", [])
    return found


@pytest.fixture(scope="module")
def add():
    x = fk.zeros(8, device="virtual")
    return fk.compile(simple.add, x, x, 0.0, device="virtual")


def test_every_view_of_a_call_reads_one_run(runs):
    x, y = fk.randn(32, 32), fk.empty(32, 32)
    run = fk.compile(warp_kernels.tiled, x, y, 0, device="virtual")
    seen = fk.profile(run, x, y), fk.footprint(run, x, y), fk.banks(run, x, y)
    fk.coalescing(run, x, y, kind="store"), fk.timeline(run, x, y), seen[0].show()
    assert len(runs) == 1
    assert fk.sanitize(run, x, y) and len(runs) == 2  # the sanitizer was off in the first run
    fk.sanitize(run, x, y), fk.profile(run, x, y)
    assert len(runs) == 2
    x[3, 5] += 1
    fk.profile(run, x, y)
    assert len(runs) == 3


@pytest.mark.parametrize(
    "changed",
    [
        lambda x, y, s: (x, y, 3.0),
        lambda x, y, s: (x, y, -s),
        lambda x, y, s: (torch.cat([x, x])[::2], y, s),  # a different stride
        lambda x, y, s: (y, y, s),
        lambda x, y, s: (x.clone().index_fill_(0, torch.tensor([7]), float("nan")), y, s),
        lambda x, y, s: (x, torch.full_like(y, float("nan")), s),  # a different initial output
        lambda x, y, s: (x.clone().neg_().neg_().mul_(-1.0), y, s),
    ],
)  # fmt: skip
def test_whatever_differs_is_another_call(add, runs, changed):
    x, y, s = fk.zeros(8, device="virtual"), fk.empty(8, device="virtual"), 0.0
    first = recorded(add, (x, y, s))
    assert recorded(add, (x.clone(), y, s)) is first and len(runs) == 1
    other = changed(x, y, s)
    if other[0].stride() == (2,):
        add = fk.compile(simple.add, other[0], y, s, device="virtual")
    assert recorded(add, other) is not first and len(runs) == 2


def test_memory_that_a_kernel_wrote_is_compared_too(add, runs):
    """torch's version counter does not change if a kernel writes a tensor's memory."""
    x, y = fk.zeros(8, device="virtual"), fk.zeros(8, device="virtual")
    first = recorded(add, (x, y, 1.0)).after[1]
    add(y, x, 5.0)
    again = recorded(add, (x, y, 1.0)).after[1]
    assert first.unique().tolist() == [1.0] and again.unique().tolist() == [6.0]


def test_what_stopped_a_kernel_is_kept(runs):
    x, y = fk.ones(20), fk.empty(64)
    run = fk.compile(warp_kernels.overrun, x, y, device="virtual")
    for _ in range(2):
        with pytest.raises(MemoryAccessError, match="mX"):
            fk.profile(run, x, y)
    assert len(runs) == 1


def test_a_run_too_long_to_be_kept_is_heard_while_it_runs(runs, monkeypatch):
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    run = fk.compile(warp_kernels.tiled, x, y, 0, device="virtual")
    want = fk.profile(run, x, y).to_dict(), repr(fk.banks(run, x, y)), fk.footprint(run, x, y)
    monkeypatch.setattr(recordings, "_kept", [])
    monkeypatch.setattr(vgpu_recording, "MOST_BYTES", 2000)
    got = fk.profile(run, x, y).to_dict(), repr(fk.banks(run, x, y)), fk.footprint(run, x, y)
    assert got[:2] == want[:2] and not recordings._kept and len(runs) == 4
    for name, columns in want[2].touched.items():
        assert all(np.array_equal(got[2].touched[name][k], v) for k, v in columns.items())


def test_the_oldest_recordings_make_room(add, runs, monkeypatch):
    y = fk.zeros(8, device="virtual")
    first = recorded(add, (y, y, 1.0))
    monkeypatch.setattr(recordings, "MOST_BYTES", 2 * first.size_bytes)
    for number in (2.0, 3.0):
        recorded(add, (y, y, number))
    assert len(recordings._kept) == 2 and first not in recordings._kept
