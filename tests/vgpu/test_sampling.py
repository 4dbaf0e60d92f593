"""Test samples of a launch's blocks: the chosen blocks, their weights, the estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ptx_launch import kernel, launch

from forgekit.vgpu import Recording, options
from forgekit.vgpu.counters.counting import extrapolated
from forgekit.vgpu.errors import UsageError
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.sampling import NEIGHBOURS, parts

COPY = """mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %r0; mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd0, %rd2; ld.global.b32 %r3, [%rd3]; add.s64 %rd4, %rd1, %rd2;
st.global.b32 [%rd4], %r3; ret;"""


def record(grid: tuple[int, int, int], cluster=(1, 1, 1), *, cooperative=False) -> LaunchRecord:
    return LaunchRecord("k", grid, (32, 1, 1), 0, b"", cluster, cooperative)


# -- the blocks that run
# ------------------------------------------------------------------------------
@pytest.mark.parametrize("most", [8, 9, 64, 255])
@pytest.mark.parametrize("grid", [(1000, 1, 1), (97, 83, 1), (1 << 22, 1, 1), (41, 43, 47)])
def test_a_sample_stands_for_each_block_once(grid, most):
    found = parts(record(grid), most)
    n = math.prod(grid)
    assert [p.name for p in found] == ["ends", "even", "odd", "neighbours"]
    assert sum(len(p.blocks) * p.weight for p in found) == pytest.approx(n)
    ends, even, odd, near = found
    assert tuple(ends.blocks) == (0, n - 1) and ends.weight == 1
    assert len(even.blocks) == len(odd.blocks) and most - 1 <= 2 + 2 * len(even.blocks) <= most
    assert near.weight == 0 and len(near.blocks) == NEIGHBOURS
    assert list(near.blocks) == list(range(near.blocks[0], near.blocks[0] + NEIGHBOURS))
    drawn = sorted([*even.blocks, *odd.blocks])
    assert all(a != b for a, b in zip(even.blocks, odd.blocks, strict=True))
    run = (n - 2) / len(drawn)  # one from each equal part, in order
    assert all(1 + k * run - 1 < b < 1 + (k + 1) * run + 1 for k, b in enumerate(drawn))
    assert drawn[::2] == list(even.blocks) and drawn[1::2] == list(odd.blocks)


@pytest.mark.parametrize("cluster", [(2, 1, 1), (2, 2, 1), (8, 1, 1)])
def test_clusters_run_whole(cluster):
    team = math.prod(cluster)
    found = parts(record((4096, 4, 1), cluster), 128)
    assert sum(len(p.blocks) * p.weight for p in found) == pytest.approx(4096 * 4)
    for part in found:
        blocks = list(part.blocks)
        assert blocks[::team] == [b // team * team for b in blocks[::team]]
        assert blocks == [first + k for first in blocks[::team] for k in range(team)]


def test_a_sample_is_the_same_each_time():
    assert parts(record((5000, 1, 1)), 64) == parts(record((5000, 1, 1)), 64)
    assert parts(record((5000, 1, 1)), 64) != parts(record((5001, 1, 1)), 64)


@pytest.mark.parametrize(
    ("launched", "most"),
    [(record((80, 1, 1)), 64), (record((24, 1, 1)), 8), (record((1, 1, 1)), 8),
     (record((1 << 20, 1, 1)), None), (record((4000, 1, 1), cooperative=True), 8),
     (record((80, 1, 1), (8, 1, 1)), 64)],
)  # fmt: skip
def test_small_and_cooperative_launches_run_whole(launched, most):
    (only,) = parts(launched, most)
    assert (only.name, only.weight) == ("all", 1.0)
    assert list(only.blocks) == list(range(math.prod(launched.grid)))


@pytest.mark.parametrize("blocks", [7, 0, -1, 8.0, "64"])
def test_fewer_blocks_than_8_are_refused(blocks):
    said = r"blocks: got .*, needed a whole number of at least 8"
    with pytest.raises(UsageError, match=said), options(blocks=blocks):
        pass


# -- the counts -----------------------------------------------------------------------
def counted(body: str, *arrays: np.ndarray, blocks: int | None, **how: object) -> Recording:
    with Recording(keep=False, shares=True, blocks=blocks) as recording:
        launch(kernel(body, len(arrays)), *arrays, **how)  # type: ignore[arg-type]
    return recording


def test_a_sample_runs_no_other_block_and_counts_for_all():
    x, y = np.ones(32 * 2000, np.int32), np.zeros(32 * 2000, np.int32)
    (found,) = counted(COPY, x, y, blocks=64, grid=2000).counts
    ran = {b for part in parts(record((2000, 1, 1)), 64) for b in part.blocks}
    assert set(np.flatnonzero(y.reshape(2000, 32).all(axis=1))) == ran and len(ran) < 81
    assert y.sum() == 32 * len(ran)
    (whole,) = counted(COPY, x, y, blocks=None, grid=2000).counts
    assert whole.sample is None and y.all()
    assert (found.sample.blocks, found.sample.n_blocks) == (64, 2000)
    assert found.sample.disagreement == 0
    for name in ("warp_instructions", "thread_instructions", "divergent"):
        assert getattr(found, name) == getattr(whole, name)
    for name in ("bytes", "sectors", "pairs"):
        for way in ("read", "written"):
            assert getattr(found, f"{way}_{name}") == getattr(whole, f"{way}_{name}")
    assert found.accesses.keys() == whole.accesses.keys()
    for key, access in whole.accesses.items():
        guessed = found.accesses[key]
        assert (guessed.requests, guessed.units) == (access.requests, access.units)
    assert [t.read_bytes for t in found.tensors] == [4 * len(x), 0]


def test_a_tensor_that_all_blocks_share_is_no_pool_with_one_that_they_divide():
    """Each block reads its own 32 elements of x, and the same 32 elements of y."""
    body = COPY.replace("st.global.b32 [%rd4], %r3", "ld.global.b32 %r4, [%rd1]")
    x, y = np.ones(32 * 2000, np.int32), np.zeros(32, np.int32)
    (found,) = counted(body, x, y, blocks=32, grid=2000).counts
    assert found.read_sectors == 2000 * 4 + 1 and found.written_sectors == 0


def test_halves_that_differ_are_measured():
    """The second half of the blocks does nothing."""
    body = "mov.u32 %r9, %ctaid.x; setp.ge.u32 %p1, %r9, 1000; @%p1 ret; " + COPY
    x, y = np.ones(32 * 2000, np.int32), np.zeros(32 * 2000, np.int32)
    (found,) = counted(body, x, y, blocks=64, grid=2000).counts
    assert 0.02 < found.sample.disagreement < 0.2
    (whole,) = counted(body, x, y, blocks=None, grid=2000).counts
    guessed, counts = (sum(c.warp_instructions) for c in (found, whole))
    assert guessed == pytest.approx(counts, rel=0.05)


def test_a_sample_that_was_stopped_is_counted_as_far_as_it_went():
    x, y = np.ones(32 * 2000, np.int32), np.zeros(32 * 1999, np.int32)
    stopped = pytest.raises(Exception, match="Out of bounds")
    with Recording(keep=False, blocks=64) as recording, stopped:
        launch(kernel(COPY, 2), x, y, grid=2000)
    (found,) = recording.counts
    assert found.sample is None
    assert found.read_sectors == 2 * 4  # loads of the first block and the last, whose store fails


# -- extrapolation ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("half", "union", "times", "expected"),
    [(100, 200, 50, 5000), (100, 100, 50, 100), (0, 0, 50, 0), (100, 150, 50, 200),
     (100, 190, 2, 190), (100, 190, 1, 100), (10, 10, 1, 10)],
)  # fmt: skip
def test_extrapolated(half, union, times, expected):
    assert extrapolated(half, union, times) == expected


def test_extrapolated_draws_from_a_pool():
    """For samples of 300 out of 1,000 items, the estimate matches their expected union."""
    half, union = 300, 1000 * (1 - 0.7**2)
    for times in (1, 2, 3, 10, 100):
        assert extrapolated(half, union, times) == pytest.approx(1000 * (1 - 0.7**times), abs=1)
