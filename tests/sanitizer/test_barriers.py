"""Barriers in divergent code are found in every order of threads, and only they."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from forgekit.vgpu.sanitizer.clocks import SyncClocks, WarpClocks
from forgekit.vgpu.sanitizer.lifetimes import Bad, Lifetimes, Visits

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import forgekit as fk
import forgekit.vgpu
from tests.sanitizer import bank
from tests.sanitizer.judge import virtual_gpu

DIVERGENT = [p for p in bank.planted() if p.bug.kinds[0] == "divergent-barrier"]


@pytest.mark.parametrize("planted", DIVERGENT, ids=lambda planted: planted.name)
def test_found_in_adversarial_schedules_alone(planted):
    args = planted.args()
    with virtual_gpu():
        run = planted.compile(args)
        for seed in range(4):
            found = []
            order = forgekit.vgpu.options(findings=found, schedule="adversarial", seed=seed)
            with order, contextlib.suppress(fk.KernelError):  # some lead to a deadlock
                run(*planted.args())
            lines = {(at.file, at.line) for f in found if f.kind in planted.bug.kinds
                     for at in f.lines}  # fmt: skip
            assert lines and lines <= planted.lines(), seed


def test_a_barrier_of_ones_own_block_does_not_start_another():
    clocks, lifetimes = WarpClocks(2, 1, team=2), Lifetimes(2, 1)
    zero = np.zeros(1, int)
    visits = Visits(pc=0, who=zero, place=zero, epoch=zero, block=np.ones(1, int))
    first_block = np.array([[True], [False]])
    clocks.arrive(0, first_block)
    clocks.open(0, first_block)
    assert lifetimes.too_early(visits, clocks.now) == Bad(pc=0, who=0, block=1, often=1)
    cluster = SyncClocks(clocks, 1)
    cluster.arrive(np.arange(2), np.zeros(2, int))
    cluster.end(zero)
    cluster.wait(np.arange(2), np.zeros(2, int))
    assert lifetimes.too_early(visits, clocks.now) is None
