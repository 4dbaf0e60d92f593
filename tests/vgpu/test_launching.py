"""Test launches: limits, parameters, batches, progress, options."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ptx_launch import launch

from forgekit import vgpu
from forgekit.vgpu.errors import LaunchError, UsageError
from forgekit.vgpu.host import launching
from forgekit.vgpu.listeners import Listener

COUNT = "red.global.add.s32 [%rd0], 1; ret;"
OF_THE_BLOCK = "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd0, %rd2; "


def counted(**how: object) -> int:
    x = np.zeros(1, np.int32)
    launch(COUNT, x, **how)  # type: ignore[arg-type]
    return int(x[0])


# -- limits ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "how, message",
    [
        ({"grid": 0}, r"got a grid of \(0, 1, 1\) blocks of \(32, 1, 1\) threads, needed"),
        ({"grid": (1, -1, 1)}, "needed at least 1 in every dimension"),
        ({"block": 0}, "needed at least 1 in every dimension"),
        ({"block": 2048}, r"got a block of \(2048, 1, 1\) = 2,048 threads, needed at most 1024"),
        ({"block": (64, 32, 1)}, "2,048 threads, needed at most 1024"),
        ({"block": (1, 1, 65)}, r"at most 1024 threads, and at most \(1024, 1024, 64\) per"),
        ({"grid": (1, 65536, 1)}, r"got a grid of \(1, 65536, 1\) blocks, needed at most"),
        ({"shared": 228 * 1024}, "got 233,472 bytes of shared .* at most 232,448 bytes on sm_90a"),
        ({"shared": 164 * 1024, "target": "sm_80"}, "needed at most 166,912 bytes on sm_80"),
        ({"grid": 10_000, "cooperative": True}, "got 10,000 blocks .* at most 4,224"),
        ({"grid": 265, "block": 1024, "cooperative": True}, "got 265 blocks .* at most 264"),
    ],
)  # fmt: skip
def test_launches_no_gpu_accepts(how, message):
    with pytest.raises(LaunchError, match=message):
        counted(**how)


def test_the_largest_launches_are_accepted():
    assert counted(block=1024) == 1024
    assert counted(block=(4, 4, 64)) == 1024
    assert counted(shared=227 * 1024) == 32
    assert counted(grid=(1, 65535, 1), block=1) == 65535
    assert counted(grid=264, block=1024, cooperative=True) == 264 * 1024


def test_a_block_other_than_compiled():
    head = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p0) "
    for directive in (".reqntid 64, 1, 1", ".maxntid 31, 1, 1"):
        with pytest.raises(LaunchError, match="the compiled-in size; use the block"):
            launch(f"{head}{directive} {{ ret; }}", np.zeros(1, np.int32), block=32)
    for directive in (".reqntid 32, 1, 1", ".maxntid 32, 1, 1"):
        launch(f"{head}{directive} {{ ret; }}", np.zeros(1, np.int32), block=32)


@pytest.mark.parametrize(
    ("target", "grid", "cluster", "match"),
    [
        ("sm_80", 2, 2, "no clusters on sm_80; compile for sm_90a"),
        ("sm_90a", 17, 17, "1 to 16 blocks per cluster"),
        ("sm_90a", 3, 2, r"a grid of whole clusters, not \(3, 1, 1\)"),
        ("sm_90a", (4, 3, 1), (2, 2, 1), r"whole clusters, not \(4, 3, 1\)"),
    ],
)
def test_clusters_that_cannot_be(target, grid, cluster, match):
    with pytest.raises(LaunchError, match=match):
        launch("ret;", grid=grid, cluster=cluster, target=target)


# -- batches ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("batch_threads", [1, 64, 100, 1024, 32768])
def test_every_block_runs_once_whatever_the_batch(batch_threads):
    x = np.zeros(37, np.int32)
    launch(
        OF_THE_BLOCK + "red.global.add.s32 [%rd3], 1; ret;",
        x,
        grid=37,
        block=40,
        batch_threads=batch_threads,
    )
    assert x.tolist() == [40] * 37


def test_special_registers_of_every_batch():
    x = np.zeros((4, 3, 2, 8), np.int32)
    body = """mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
    mov.u32 %r4, %nctaid.x;
    mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z; mad.lo.s32 %r7, %r3, 3, %r2;
    mad.lo.s32 %r7, %r7, 2, %r1;
    mov.u32 %r8, %laneid; mov.u32 %r9, %warpid; mul.wide.u32 %rd2, %r7, 32;
    add.s64 %rd3, %rd0, %rd2;
    st.global.v4.b32 [%rd3], {%r1, %r2, %r3, %r4};
    st.global.v4.b32 [%rd3+16], {%r5, %r6, %r8, %r9}; ret;"""
    launch(body, x, grid=(2, 3, 4), block=1, batch_threads=32)
    for z, y, i in np.ndindex(4, 3, 2):
        assert x[z, y, i].tolist() == [i, y, z, 2, 3, 4, 0, 0]


# -- progress --------------------------------------------------------------------------------------
class Bar:
    made: list[Bar] = []  # noqa: RUF012

    def __init__(self, total: int, initial: int, **_: object) -> None:
        self.total, self.at, self.closed = total, initial, False
        Bar.made.append(self)

    def update(self, n: int) -> None:
        self.at += n

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def bars(monkeypatch):
    Bar.made = []
    monkeypatch.setattr("tqdm.tqdm", Bar)
    return Bar.made


def test_long_launches_show_their_progress(bars, monkeypatch):
    monkeypatch.setattr(launching, "_PROGRESS_AFTER_S", 0)
    assert counted(grid=10, batch_threads=32) == 320
    (bar,) = bars
    assert (bar.total, bar.at, bar.closed) == (10, 10, True)


def test_short_launches_show_nothing_nor_does_one_without_progress(bars, monkeypatch):
    counted(grid=10, batch_threads=32)
    monkeypatch.setattr(launching, "_PROGRESS_AFTER_S", 0)
    counted(grid=10, batch_threads=32, progress=False)
    assert not bars


def test_the_bar_is_closed_after_an_error(bars, monkeypatch):
    monkeypatch.setattr(launching, "_PROGRESS_AFTER_S", 0)
    body = OF_THE_BLOCK + "st.global.b32 [%rd3], %r1; ret;"
    with pytest.raises(Exception, match="Out of bounds"):
        launch(body, np.zeros(5, np.int32), grid=10, batch_threads=32)
    assert bars[0].closed and bars[0].at == 5


@pytest.mark.parametrize(
    ("seconds", "options", "said"),
    [(0.01, {}, "about 40 s on"), (1, {}, "about 67 min on"), (0.0001, {}, ""),
     (0.01, {"blocks": 8}, "")],
)  # fmt: skip
def test_a_long_launch_names_the_sample_once(seconds, options, said, bars, monkeypatch, capsys):
    now = itertools.count(0, 10 * seconds)
    monkeypatch.setattr(launching.time, "perf_counter", lambda: next(now))
    monkeypatch.setattr(launching, "_PROGRESS_AFTER_S", 5 * seconds)
    monkeypatch.setattr(launching, "_advised", False)
    for _ in range(2):
        counted(grid=4000, batch_threads=320, **options)
    printed = capsys.readouterr().err
    assert printed.count("forgekit: ") == bool(said) and said in printed
    assert ("`forgekit profile --blocks 64 SCRIPT`" in printed) == bool(said)
    assert len(bars) == 2


def test_a_stderr_that_is_no_terminal_gets_no_bar(monkeypatch, capfd):
    monkeypatch.setattr(launching, "_PROGRESS_AFTER_S", 0)
    counted(grid=10, batch_threads=32)
    assert capfd.readouterr().err == ""


# -- options and listeners -------------------------------------------------------------------------
def test_options_are_put_back():
    with vgpu.options(budget=7) as inside:
        assert inside.budget == 7
        with vgpu.options(progress=False) as both:
            assert (both.budget, both.progress) == (7, False)
    with vgpu.options() as after:
        assert after.budget != 7
    with pytest.raises(UsageError, match="option: got 'bugdet'"), vgpu.options(bugdet=7):
        pass


def test_listeners_hear_of_everything():
    class Ear(Listener):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def on_batch(self, m):
            self.heard.append(f"batch {m.blocks}")

        def on_access(self, m, access):
            self.heard.append(f"{access.kind} {access.space} {access.width}")

        def on_divergence(self, m, taken, rest):
            self.heard.append(f"split {int(m.expand(taken).sum())}:{int(m.expand(rest).sum())}")

        def on_barrier(self, m, mask, number, count):
            self.heard.append(f"barrier {number} {count}")

        def on_barrier_done(self, m, mask, number):
            self.heard.append(f"open {number}")

        def on_shuffle(self, m, source, members):
            self.heard.append(f"shuffle {source[0, 0, :2].tolist()} {members[0, 0]:#x}")

        def on_warp_sync(self, m, members):
            self.heard.append("warp")

        def on_batch_end(self, m):
            self.heard.append("end")

    ear = Ear()
    body = """ld.global.v2.b32 {%r1, %r2}, [%rd0]; bar.sync 0; bar.warp.sync -1;
    shfl.sync.idx.b32 %r3, %r0, 1, 31, -1;
    setp.lt.u32 %p1, %r0, 3; @%p1 bra L; st.global.b16 [%rd0], %rs1;
    L: red.global.add.s32 [%rd0], 1; ret;"""
    launch(body, np.zeros(2, np.int32), grid=2, batch_threads=32, listeners=(ear,))
    once = ["load global 8", "barrier 0 None", "open 0", "warp", "warp",
            "shuffle [1, 1] 0xffffffff", "split 3:29", "store global 2", "atomic global 4",
            "end"]  # fmt: skip
    assert ear.heard == ["batch range(0, 1)", *once, "batch range(1, 2)", *once]
