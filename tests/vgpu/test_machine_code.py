"""Test that registers read from machine code equal those that the assembler reports."""

from __future__ import annotations

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import forgekit as fk
from forgekit.vgpu import Recording
from forgekit.vgpu.host.machine_code import registers
from tests.kernels import simple


@pytest.fixture(scope="module")
def kernel():
    x = fk.randn(64, 32, device="virtual")
    return fk.compile(simple.transpose, x, fk.empty(32, 64, device="virtual"), device="virtual")


def test_registers_are_those_of_the_assembler(kernel):
    assert registers(kernel.cubin) == {k: r.registers for k, r in kernel.resources.items()}
    assert registers(b"before" + kernel.cubin * 2 + b"after") == registers(kernel.cubin) != {}


def test_a_launch_knows_its_registers(kernel):
    x = fk.randn(64, 32, device="virtual")
    with Recording(keep=False) as recording:
        kernel(x, fk.empty(32, 64, device="virtual"))
    assert [launch.registers for launch in recording.launches] == [kernel.registers]


def test_of_other_bytes_nothing_is_known(kernel):
    assert registers(b"") == registers(b"\x7fELF") == registers(b"\x7fELF" * 99) == {}
    for size in range(0, len(kernel.cubin), 97):
        assert registers(kernel.cubin[:size]) in ({}, registers(kernel.cubin))
    other = bytearray(kernel.cubin)
    other[18] = 62  # an ELF file for x86-64
    assert registers(bytes(other)) == {}
