"""Test timelines: steps, loops, barriers, divergence, drawn and omitted parts, messages."""

import re
from dataclasses import replace

import numpy as np
import pytest

import forgekit as fk
from forgekit.errors import MemoryAccessError, UsageError

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from forgekit.tracing.recordings import recorded
from forgekit.tracing.timeline_steps import BlockTimeline
from forgekit.viz.runs.timeline_figure import MOST, columns_of
from forgekit.viz.scene import Label
from tests.viz import warp_kernels as kernels
from tests.viz.pictures import assert_legible, boxes, items, line_of, texts, virtual


def tiled(**options):
    x, y = fk.randn(64, 64), fk.full((64, 64), -1.0)
    shown = fk.timeline(virtual(kernels.tiled, x, y, 1), x, y, 1, **options)
    assert (y == -1).all()
    return shown


def halves(**options):
    x, y = fk.randn(70), fk.empty(64)
    return fk.timeline(virtual(kernels.halves, x, y), x, y, **options)


def late(extra, **options):
    x, y = fk.randn(400), fk.empty(96)
    return fk.timeline(virtual(kernels.late, x, y, extra), x, y, extra, **options)


def line(text):
    return line_of(kernels, text)


def memory(shown):
    return [(s.source.line, s.kind, s.does) for s in shown.steps if s.does]


# -- data -------------------------------------------------------------------------------------
def test_a_tiled_transpose():
    shown = tiled()
    into, out = line("sT[ty + ROWS * k, tx] ="), line("= sT[tx, ty + ROWS * k]")
    assert memory(shown) == [
        *[(into, "global", "load"), (into, "shared", "store")] * 4,
        *[(out, "shared", "load"), (out, "global", "store")] * 4,
    ]
    assert shown.warps == 8 and all(s.lanes.all() for s in shown.steps)
    (meeting,) = shown.meetings
    barrier = shown.steps[meeting.step]
    assert barrier.kind == "barrier" and meeting.source == barrier.source
    assert meeting.warps.tolist() == [*range(8)] and not meeting.early.size
    assert not shown.splits and shown.complete and shown.error is None
    assert shown.instructions == 8 * sum(s.instructions for s in shown.steps)
    assert shown.headline == (
        f"tiled, block 0: 8 warps, {shown.instructions} warp instructions, 1 barrier, no divergence"
    )
    text = repr(shown)
    assert f"line {into}: 32 global loads, 32 shared stores, " in text
    assert f"line {barrier.source.line}: 8 barrier arrivals" in text
    assert "warps 0–7 meet, none arrives before the others" in text and "order, not time" in text
    assert texts(shown, "title") == [shown.headline]
    for kind in ("global", "shared"):
        steps = sum(s.kind == kind for s in shown.steps)
        assert len(boxes(shown, kind)) == 8 * steps == 64
    assert len(boxes(shown, "barrier")) == 8 and not boxes(shown, "waiting")
    assert len(boxes(shown, "meeting")) == 1
    assert any(t.startswith("order, not time") for t in texts(shown, "note"))
    assert texts(shown, "sign").count("↓") == texts(shown, "sign").count("↑") == 8
    numbers = texts(shown, "line number")
    assert numbers == [str(n) for n in sorted(map(int, numbers))]
    assert any("sT[ty + ROWS * k, tx] = mX[" in t for t in texts(shown, "source"))
    assert_legible(shown)


def test_divergence_and_a_loop():
    shown = halves()
    other = line("sX[tidx] = mX[tidx] * 3")
    loads = [s for s in shown.steps if (s.kind, s.does) == ("global", "load")]
    assert [s.loops[0][1] if s.loops else 0 for s in loads] == [1, 2, 3, 0]
    for step in loads[:3]:
        assert (step.lanes == (np.arange(32) < 16)).all()
    assert loads[3].source.line == other and (loads[3].lanes == (np.arange(32) >= 16)).all()
    branch = line("if tidx % 32 < 16")
    assert [(s.source.line, s.warp) for s in shown.splits] == [(branch, 0), (branch, 1)]
    assert {s.taken for s in shown.splits} | {s.rest for s in shown.splits} == {
        tuple(range(16)), tuple(range(16, 32))
    }  # fmt: skip
    assert shown.headline.endswith("1 barrier, 2 divergent branches")
    assert f"divergence, line {branch}: warps 0–1 split into lanes 0–15 and lanes 16–31" in repr(
        shown
    )
    assert f"loop from line {loads[0].source.line}: 3 iterations" in repr(shown)
    heights = {round(b.height, 4) for b in boxes(shown, "global")}
    full, half = max(heights), min(heights)
    assert half == pytest.approx(full / 2, rel=0.01)
    assert sorted(set(texts(shown, "lanes"))) == ["lanes 0–15", "lanes 16–31"]
    assert texts(shown, "iteration number") == [f"iteration {i}" for i in (1, 2, 3)]
    assert "idle lanes" in texts(shown, "legend")
    assert_legible(shown)


def test_loops_within_a_loop():
    x, y = fk.ones(32 * 30), fk.empty(64)
    run = virtual(kernels.nested, x, y, 3)
    shown = fk.timeline(run, x, y, 3)
    iterations = [tuple(i for _, i in s.loops) for s in shown.steps if s.does]
    assert iterations == [(1, 1), (1, 2), (1, 3), (1,), (2, 1), (2, 2), (2, 3), (2,)]
    bracketed = texts(shown, "iteration number")
    assert [t.split()[-1] for t in bracketed] == ["1", "2", *["1", "2", "3"] * 2]
    assert_legible(shown)
    long = fk.timeline(run, x, y, 30)
    columns, notes = columns_of(long)
    assert [c.gap for c in columns if c.gap] == ["3–29"] * 2 and len(notes) == 1
    assert "loop from line" in repr(long) and "30 iterations" in repr(long)
    upright = {t.upright for t in items(long, Label) if t.sort == "line number"}
    assert upright == {
        False,
        True,
    }  # narrow columns have upright text, because the numbers are wide
    assert_legible(long)


class Predicated(BlockTimeline):
    """Acts as if three lanes executed `@%p ld.global`, and none executed `@%p st.global`."""

    def on_run(self, m, start, stop, mask):
        if self._touched:
            load, store = sorted(self._touched)[-2:]
            self._touched[load] = np.arange(32) < 3
            del self._touched[store]
        super().on_run(m, start, stop, mask)


def test_a_predicate_on_the_instruction_itself():
    x, y = fk.ones(64), fk.empty(64)
    run = virtual(kernels.overrun, x, y)
    trace = recorded(run, (x, y)).read(lambda: Predicated(0, 0))
    steps = [s for s in trace.steps if s.does]
    assert [(s.does, s.lanes.sum()) for s in steps] == [("load", 3)]


def test_warps_that_come_early_wait():
    shown = late(1)
    (meeting,) = shown.meetings
    assert meeting.early.tolist() == [0, 1]
    since = meeting.since[:, 0]
    assert since[0] < since[1] < since[2] == meeting.step
    assert shown.splits == ()  # warps take different paths, but the lanes of each warp do not
    iterations = [s.loops[0][1] for s in shown.steps if s.does == "load"]
    assert iterations == [1, 2, 3]
    loads = [s.warps.tolist() for s in shown.steps if s.does == "load"]
    assert loads == [[0, 1, 2], [1, 2], [2]]
    assert "warps 0–2 meet, warps 0–1 arrive first" in repr(shown)
    waits = boxes(shown, "waiting")
    assert len(waits) == 2 and waits[0].width > waits[1].width
    assert "waits at a barrier" in texts(shown, "legend")
    assert_legible(shown)


def test_shuffles_and_a_predicate():
    x, y = fk.randn(2, 64), fk.zeros(2)
    shown = fk.timeline(virtual(kernels.reduce, x, y), x, y, block=1)
    shuffle = line("shuffle_sync_bfly")
    assert sum(s.kind == "warp-wide" for s in shown.steps if s.source.line == shuffle) == 5
    atomic = [s for s in shown.steps if s.does == "atomic"]
    assert len(atomic) == 1 and atomic[0].lanes.sum(axis=1).tolist() == [1, 1]
    assert shown.block == 1 and "2 global atomics" in repr(shown)


def test_asynchronous_copies():
    x, y = fk.randn(128), fk.empty(128)
    run = virtual(kernels.asynchronous, fk.spec(x, static=True, align=16), y)
    shown = fk.timeline(run, x, y)
    assert [s.does for s in shown.steps if s.kind == "async copy"] == ["load", "", ""]
    assert "1 asynchronous copy" in repr(shown) and "copy-group instruction" in repr(shown)


def test_block_and_launch():
    x, y = fk.ones(64), fk.empty(64)
    run = virtual(kernels.overrun, x, y)
    shown = fk.timeline(run, x, y, block=1, launch=1)
    assert (shown.block, shown.launch, shown.launches) == (1, 1, 2)
    assert shown.headline.startswith("overrun, block 1, launch 1: 1 warp, ")
    assert memory(shown) == memory(fk.timeline(run, x, y))
    assert fk.timeline(run, x, y, block=(1, 0, 0)).block == 1


def test_one_line():
    out = line("= sT[tx, ty + ROWS * k]")
    shown = tiled(line=out)
    assert {s.source.line for s in shown.steps} == {out} and shown.meetings == ()
    assert f"tiled, block 0, line {out} only: 8 warps" in shown.headline
    only = tiled(line="sync_threads")
    assert [s.kind for s in only.steps] == ["barrier"] and len(only.meetings) == 1
    assert_legible(only)


def test_wrong_use():
    x, y = fk.ones(64), fk.empty(64)
    run = virtual(kernels.overrun, x, y)
    for options, message in (
        ({"block": 2}, "block: got 2, needed 0 to 1"),
        ({"launch": 2}, "launch: got 2, needed 0 to 1; choose one of these"),
        ({"launch": -1}, "launch: got -1, needed a whole number of 0 or more"),
        ({"line": 1}, "line: got 1, needed a line that block 0 executes: "),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            fk.timeline(run, x, y, **options)
    with pytest.raises(UsageError, match=r"fk\.timeline\(run, x, y\)"):
        fk.timeline(kernels.overrun, x, y)


def test_a_kernel_that_fails(capsys):
    x, y = fk.ones(40), fk.empty(40)
    run = virtual(kernels.overrun, x, y)
    shown = fk.timeline(run, x, y)
    assert isinstance(shown.error, MemoryAccessError)
    assert [s.does for s in shown.steps if s.does] == ["load", "store"]
    assert shown.notes[0].startswith("stopped: Out of bounds: warp_kernels.py, line ")
    assert "hello" not in capsys.readouterr().out
    assert_legible(shown)
    never = fk.timeline(run, x, y, block=1)
    assert never.steps == () and never.headline == "overrun, block 1: no instruction was executed"
    assert_legible(never)


def test_a_run_too_long_to_be_recorded(monkeypatch):
    monkeypatch.setattr("forgekit.tracing.timeline_steps._LIMIT", 60)
    shown = late(30)
    assert not shown.complete and shown.steps
    assert shown.notes == ["Only the beginning of this long run was recorded."]
    assert shown.notes[0] in texts(shown)


# -- the picture ------------------------------------------------------------------------------
def test_lanes_apart_are_drawn_apart():
    shown = halves()
    step = next(s for s in shown.steps if s.does)
    apart = replace(step, lanes=np.tile(np.arange(32) % 2 == 0, (2, 1)))
    bars = boxes(replace(shown, steps=(apart,), meetings=(), splits=()), "global")
    assert len(bars) == 2 * 16
    tops, ends = ([f(b) for b in bars[:16]] for f in (lambda b: b.y, lambda b: b.y
                                                      + b.height))  # fmt: skip
    assert all(end < top for end, top in zip(ends, tops[1:], strict=False))


def test_long_loops_are_folded():
    shown = late(30)
    columns, notes = columns_of(shown)
    assert len(columns) <= MOST
    gaps = [c for c in columns if c.gap]
    assert [g.gap for g in gaps] == ["3–31"]
    drawn = {c.loops[0][1] for c in columns if c.loops and not c.gap}
    assert drawn == {1, 2, 32}
    assert notes == ["⋯: iterations between the 2nd and the last one are not drawn"]
    assert texts(shown, "gap iterations") == ["3–31"] and notes[0] in texts(shown)
    assert texts(shown, "gap") == ["⋯"] * 3
    assert_legible(shown)


def test_what_is_still_too_much_is_merged_and_cut(monkeypatch):
    monkeypatch.setattr("forgekit.viz.runs.timeline_figure.MOST", 25)
    columns, notes = columns_of(tiled())
    assert len(columns) <= 25 and notes == ["arithmetic and branches are drawn together"]
    assert sum(bool(c.does) for c in columns) == 16
    monkeypatch.setattr("forgekit.viz.runs.timeline_figure.MOST", 12)
    columns, notes = columns_of(tiled())
    assert len(columns) <= 12 and notes[-1].startswith("each line is drawn as one step")
    assert {c.kind for c in columns if c.does} == {"global"}
    monkeypatch.setattr("forgekit.viz.runs.timeline_figure.MOST", 4)
    shown = tiled()
    columns, notes = columns_of(shown)
    assert len(columns) == 4
    steps = columns[-1].last + 1
    assert notes[-1] == (
        f"only the first {steps} of {len(shown.steps)} steps are drawn; line= selects others"
    )
    assert_legible(shown)


def test_a_block_of_32_warps():
    x, y = fk.randn(1024), fk.empty(1024)
    shown = fk.timeline(virtual(kernels.triangle, x, y), x, y)
    assert shown.warps == 32 and "… and 19 more divergent branches" in repr(shown)
    assert_legible(shown)
