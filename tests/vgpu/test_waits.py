"""Test the waits of a lone warp: hand-written PTX, and the cycles of its steps."""

from __future__ import annotations

import pytest
from ptx_launch import kernel

from forgekit.vgpu.counters.waits import CYCLES, steps
from forgekit.vgpu.program import load

LOAD = "ld.global.f32 %f{0}, [%rd{0}];"
ADD = "add.f32 %f9, %f9, %f{0};"


def waits(body: str, what: str, arrays: int = 4) -> list[float]:
    """Return the cycles of each wait for `what`, in PTX order."""
    (code,) = load(kernel(body + " ret;", arrays)).values()
    return [step.cycles for step in steps(code) if step.wait == what]


def of_each(form: str, *numbers: int) -> str:
    return " ".join(form.format(n) for n in numbers)


def branched(n: int, more: str = "") -> str:
    """Return PTX with a load that a branch skips."""
    return f"@%p0 bra $L{n}; {LOAD.format(n)} {more} $L{n}: "


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (of_each(LOAD + ADD, 0, 1, 2, 3), 1),  # loads are hoisted
        (of_each(LOAD + ADD, 0, 1) + "bar.sync 0; " + of_each(LOAD + ADD, 2, 3), 2),
        (of_each(LOAD + ADD, 0) + "ld.param.u64 %rd8, [p1]; ld.global.f32 %f8, [%rd8];"
         + ADD.format(8), 1),
        ("".join(branched(n) for n in range(3)) + of_each(ADD, 0, 1, 2), 1),
        ("".join(branched(n, ADD.format(n) * 9) for n in range(3)), 3),  # too long for a predicate
        (LOAD.format(0) + ADD.format(0) + "st.global.f32 [%rd1], %f9;" + LOAD.format(2)
         + ADD.format(2), 2),  # a store may write the data of the next load
    ],
    ids=["interleaved", "barrier", "parameter", "predicates", "branches", "store"],
)  # fmt: skip
def test_loads_that_wait_together(body, count):
    found = [cycles for cycles in waits(body, "global") if cycles > CYCLES["global"] / 2]
    assert len(found) == count


@pytest.mark.parametrize(
    ("wait", "count"),
    [("cp.async.wait_all;", 1), ("cp.async.commit_group; cp.async.wait_group 0;", 1),
     ("cp.async.commit_group; cp.async.wait_group 1;", 0), ("", 0)],
)  # fmt: skip
def test_asynchronous_copies(wait, count):
    body = f"cp.async.ca.shared.global [%r1], [%rd0], 4; {wait}"
    found = waits(body, "global")
    assert len(found) == count
    assert all(cycles == pytest.approx(CYCLES["global"], abs=5) for cycles in found)


def test_a_wait_follows_the_last_copy():
    """Waits count from the copy, not from the instruction that commits its group."""
    copy = "cp.async.ca.shared.global [%r1], [%rd0], 4; "
    chain = "add.f32 %f9, %f9, %f9; " * 20
    (late,) = waits(copy + chain + "cp.async.commit_group; cp.async.wait_group 0;", "global")
    assert late < CYCLES["global"] - 50
