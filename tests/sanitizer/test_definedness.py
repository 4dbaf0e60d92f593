"""Test that repeated launches reveal the effects of undefined values."""

from __future__ import annotations

from functools import partial

import pytest
import torch

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import cutlass
from cutlass import Int32, cute

import forgekit as fk
import forgekit.vgpu
from forgekit.vgpu.sanitizer.listener import Sanitizer
from tests.sanitizer import bank
from tests.sanitizer.judge import describe
from tests.sanitizer.kernel_parts import smem
from tests.sanitizer.planted import leftovers

pytestmark = pytest.mark.usefixtures("on_the_virtual_gpu")

# -- repeated launches -------------------------------------------------------------------
THREADS = 64


@partial(bank.launched, block=THREADS)
@cute.kernel
def in_place(mX, mCount, bug):
    """Double x in place and count its elements; also read the buffer's tail."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX = smem(THREADS)
    if tidx < n:
        sX[tidx] = mX[tidx]
        cute.arch.atomic_add(mCount.iterator, Int32(1))
    cute.arch.sync_threads()
    x = 2.0 * sX[tidx]
    cute.arch.sync_threads()
    if tidx < n:
        mX[tidx] = x
    if cutlass.const_expr(bug == "printed"):
        if tidx == 0:
            cute.printf("%f", x)
    if cutlass.const_expr(bug == "for_ever"):
        while x != 0.0:
            x += sX[THREADS - 1]
        mX[0] = x
    if cutlass.const_expr(bug == "beyond"):
        if x != 0.0:
            mX[n + tidx] = x


@pytest.mark.parametrize("schedule", ["default", "adversarial"])
def test_a_repeated_launch_changes_its_tensors_once(schedule, monkeypatch):
    repeated = []
    look_again = Sanitizer.look_again
    monkeypatch.setattr(
        Sanitizer, "look_again", lambda self: (repeated.append(1), look_again(self))[1]
    )
    x, count = fk.randn(50), fk.zeros(1, dtype=torch.int32)
    want = 2 * x
    run = fk.compile(in_place, x, count)
    with forgekit.vgpu.options(schedule=schedule):
        run(x, count)
    assert torch.equal(x, want)
    assert count.item() == 50
    assert repeated == [1]


def test_what_is_printed_is_printed_once(capsys):
    x, count = fk.ones(50), fk.zeros(1, dtype=torch.int32)
    fk.compile(in_place, x, count, "printed")(x, count)
    assert capsys.readouterr().out == "2.000000\n"


@pytest.mark.parametrize(("bug", "kind"), [("beyond", "out-of-bounds"), ("for_ever", "endless")])
def test_a_launch_that_is_stopped_tells_what_led_to_it(bug, kind):
    x, count = fk.ones(50), fk.zeros(1, dtype=torch.int32)
    run = fk.compile(in_place, x, count, bug)
    kinds = {f.kind for f in fk.sanitize(run, x, count).findings}
    assert kinds == {kind, "uninitialised-shared"}


def test_a_launch_without_such_a_read_is_not_repeated(monkeypatch):
    monkeypatch.setattr(Sanitizer, "look_again", None)
    x, count = fk.randn(THREADS), fk.zeros(1, dtype=torch.int32)
    fk.compile(in_place, x, count)(x, count)


def test_a_finding_tells_both_places():
    tail = next(f for f in bank.families_of(leftovers) if f.name == "tail")
    bug = next(b for b in tail.bugs if b.name == "maximum")
    planted = bank.Planted(tail, bug)
    args = planted.args()
    (finding,) = fk.sanitize(planted.compile(args), *args).findings
    read, store = finding.lines
    assert read.line < store.line
    assert finding.place == "shared memory, byte 200"
    assert "reaches mY[1] of mY: float32 (66,), which" in finding.message
    assert "which thread (1, 0, 0) of block" in finding.message, describe(finding)


# -- leftovers that have an effect -----------------------------------------------------------
SPECIAL = {
    "zero": lambda x, y: x == 0,
    "constant": lambda x, y: x == 4711,
    "other": lambda x, y: x != y,
    "large": lambda x, y: x > 1000,
    "small": lambda x, y: x < -1000,
    "near one": lambda x, y: Int32(x > 0.5) & Int32(x < 2.0),
    "nan": lambda x, y: x != x,
}
PICKY = [(torch.int32, bug) for bug in ("zero", "constant", "other", "large", "small")]
PICKY += [(torch.float32, bug) for bug in SPECIAL if bug != "constant"]


@partial(bank.launched, block=32)
@cute.kernel
def picky(mX, mY, bug):
    """Store 0 in y[0], unless leftovers in shared memory have the special values for `bug`."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(8, mX.element_type)
    if tidx == 0:
        mY[0] = Int32(SPECIAL[bug](sX[2], sX[3]))


@pytest.mark.parametrize("schedule", ["default", "adversarial"])
@pytest.mark.parametrize(("dtype", "bug"), PICKY)
def test_leftovers_that_have_to_be_special_are_found(dtype, bug, schedule):
    x, y = fk.zeros(1, dtype=dtype), fk.zeros(1, dtype=torch.int32)
    run = fk.compile(picky, x, y, bug)
    findings = []
    with forgekit.vgpu.options(schedule=schedule, findings=findings):
        run(x, y)
    assert {f.kind for f in findings} == {"uninitialised-shared"}
    assert "reaches mY[0]" in findings[0].message


def test_runs_for_comparison_leave_the_results_of_the_first():
    x, y = fk.zeros(1, dtype=torch.int32), fk.zeros(1, dtype=torch.int32)
    fk.sanitize(fk.compile(picky, x, y, "zero"), x, y)
    assert y.item() == 0  # the first run reads all ones; a repeated run reads 0 and stores 1


@partial(bank.launched, block=32)
@cute.kernel
def two_leftovers(mX, mY, bug):
    """Add two unwritten numbers, each of which makes the sum NaN."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(8, mX.element_type)
    if tidx == 0:
        first = sX[0]
        second = sX[5]
        mY[0] = first + second


def test_leftovers_that_have_an_effect_only_together_are_found():
    x, y = fk.zeros(1), fk.zeros(1)
    (finding,) = fk.sanitize(fk.compile(two_leftovers, x, y, ""), x, y).findings
    assert finding.kind == "uninitialised-shared" and "reaches mY[0]" in finding.message
