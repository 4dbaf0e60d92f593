"""Barriers in divergent code are found in every order of threads, and only they."""

from __future__ import annotations

import contextlib

import pytest

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
