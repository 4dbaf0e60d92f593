"""Undefined values: rules bit by bit against all that the bits may be, and launches that repeat."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import cutlass
from cutlass import Float32, Int32, cute

import forgekit as fk
import forgekit.vgpu
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.program import Program
from forgekit.vgpu.ptx.dataflow import reads_and_writes
from forgekit.vgpu.ptx.parser import parse
from forgekit.vgpu.sanitizer import undefined_bits
from forgekit.vgpu.sanitizer.listener import Sanitizer
from tests.sanitizer import bank
from tests.sanitizer.judge import describe
from tests.sanitizer.planted import leftovers

pytestmark = pytest.mark.usefixtures("on_the_virtual_gpu")

# -- rules ----------------------------------------------------------------------------------------
HEADER = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
    .reg .pred %p<4>;
    .reg .b16 %h<4>;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    INSTRUCTION
}
"""
WIDTH = {"p": 1, "h": 16, "r": 32, "d": 64}

# Instruction -> whether its rule is exact, or may call more undefined than is.
RULES = {
    "mov.b32 %r0, %r1;": True,
    "mov.b32 %r0, {%h1, %h2};": True,
    "mov.b32 {%h0, %h1}, %r1;": True,
    "mov.b64 %d0, {%r1, %r2};": True,
    "and.b32 %r0, %r1, %r2;": True,
    "and.b32 %r0, %r1, 255;": True,
    "or.b32 %r0, %r1, %r2;": True,
    "or.b32 %r0, %r1, -16;": True,
    "and.pred %p0, %p1, %p2;": True,
    "or.pred %p0, %p1, %p2;": True,
    "xor.b32 %r0, %r1, %r2;": True,
    "not.b32 %r0, %r1;": True,
    "shl.b32 %r0, %r1, 5;": True,
    "shr.u32 %r0, %r1, 5;": True,
    "shr.s32 %r0, %r1, 5;": True,
    "shl.b32 %r0, %r1, %r2;": False,
    "shf.l.wrap.b32 %r0, %r1, %r2, 7;": True,
    "prmt.b32 %r0, %r1, %r2, 0x5410;": True,
    "prmt.b32 %r0, %r1, %r2, 0x9832;": True,
    "bfe.u32 %r0, %r1, 4, 9;": True,
    "bfe.s32 %r0, %r1, 4, 9;": True,
    "bfi.b32 %r0, %r1, %r2, 4, 9;": True,
    "brev.b32 %r0, %r1;": True,
    "lop3.b32 %r0, %r1, %r2, %r3, 0x80;": False,
    "cvt.u32.u16 %r0, %h1;": True,
    "cvt.s32.s16 %r0, %h1;": True,
    "cvt.u16.u32 %h0, %r1;": True,
    "cvt.s64.s32 %d0, %r1;": True,
    "add.s32 %r0, %r1, %r2;": False,
    "sub.s32 %r0, %r1, %r2;": False,
    "mul.lo.s32 %r0, %r1, %r2;": False,
    "mul.wide.u16 %r0, %h1, %h2;": False,
    "mad.lo.s32 %r0, %r1, %r2, %r3;": False,
    "neg.s32 %r0, %r1;": False,
    "min.s32 %r0, %r1, %r2;": False,
    "popc.b32 %r0, %r1;": False,
    "selp.b32 %r0, %r1, %r2, %p1;": False,
    "setp.eq.s32 %p0, %r1, %r2;": True,
    "setp.ne.s32 %p0, %r1, %r2;": True,
    "setp.lt.s32 %p0, %r1, %r2;": False,
    "setp.eq.and.s32 %p0, %r1, %r2, %p1;": False,
    "setp.ne.or.s32 %p0, %r1, %r2, %p1;": False,
    "add.f16x2 %r0, %r1, %r2;": False,
    "fma.rn.f16x2 %r0, %r1, %r2, %r3;": False,
    "cvt.rn.f16x2.f32 %r0, %r1, %r2;": False,
    "add.f32 %r0, %r1, %r2;": False,
    "cvt.f32.f16 %r0, %h1;": False,
    "min.f16 %h0, %h1, %h2;": False,
}


class _Fake:
    """As much of a machine as a pure instruction needs."""

    def __init__(self, program, values):
        self.regs = [values.get(n, np.zeros((1, 1), d)) for n, d in
                     zip(program.registers, program.register_dtypes, strict=True)]  # fmt: skip
        self.protected, self.mask = 0, None

    def merge(self, register, value, mask):
        self.regs[register] = value

    def write_where(self, register, value, guard):
        self.regs[register] = value

    def active(self, guard):
        return None


def _array(name, value):
    if name[1] == "p":
        return np.array([[bool(value)]])
    return np.array([[value]], f"u{WIDTH[name[1]] // 8}")


def _program(text):
    """The instruction, its program, and the names of its results and sources."""
    parsed = parse(HEADER.replace("INSTRUCTION", text)).kernels["k"]
    program = Program(parsed, parse(HEADER.replace("INSTRUCTION", text)))
    instruction = parsed.instructions[0]
    reads, writes = reads_and_writes(instruction)
    return program, instruction, list(dict.fromkeys(reads)), writes


def _run(program, values):
    """The registers after the instruction."""
    machine = _Fake(program, values)
    Decoder(program).step(program.instructions[0])(machine)
    return machine.regs


@np.errstate(all="ignore")
@pytest.mark.parametrize(("text", "exact"), RULES.items(), ids=list(RULES))
def test_undefined_bits_are_those_that_may_differ(text, exact):
    program, instruction, sources, results = _program(text)
    draw = np.random.default_rng(1)
    for _ in range(25):
        values = {n: int(draw.integers(1 << min(WIDTH[n[1]], 62))) for n in sources}
        if draw.integers(2) and len({WIDTH[n[1]] for n in sources}) == 1:  # nearly equal sources
            values = dict.fromkeys(sources, values[sources[0]])
        unknown = dict.fromkeys(sources, 0)
        for _ in range(4):
            name = sources[draw.integers(len(sources))]
            unknown[name] |= 1 << int(draw.integers(WIDTH[name[1]]))
        tainted = {program.registers[n]: _array(n, bits) for n, bits in unknown.items() if bits}
        operands = undefined_bits.Operands(program, tainted.get)
        rule = undefined_bits.rule(instruction, operands, len(results))
        found = rule(_Fake(program, {n: _array(n, v) for n, v in values.items()}))

        each = [(n, 1 << b) for n in sources for b in range(WIDTH[n[1]]) if unknown[n] >> b & 1]
        seen = []
        for chosen in itertools.product((0, 1), repeat=len(each)):
            one = dict(values)
            for (name, bit), on in zip(each, chosen, strict=True):
                one[name] = one[name] | bit if on else one[name] & ~bit
            regs = _run(program, {n: _array(n, v) for n, v in one.items()})
            seen.append([regs[program.registers[r]] for r in results])
        for k, (name, bits) in enumerate(zip(results, found, strict=True)):
            differ = 0
            for regs in seen:
                a, b = (_bits(x[k]) for x in (regs, seen[0]))
                differ |= a ^ b
            whole = (1 << WIDTH[name[1]]) - 1
            said = (whole if bits.any() else 0) if bits.dtype == bool else int(bits.flat[0])
            assert differ & ~said == 0, f"{differ:#x} may differ, {said:#x} is undefined"
            if exact:
                assert said == differ, f"{differ:#x} may differ, {said:#x} is undefined"


def _bits(value):
    return int(value.flat[0]) if value.dtype == bool else int(
        np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").flat[0]
    )  # fmt: skip


# -- launches that are repeated -------------------------------------------------------------------
THREADS = 64


@cute.kernel
def in_place_kernel(mX: cute.Tensor, mCount: cute.Tensor, bug: cutlass.Constexpr):
    """x *= 2, and a counter; the tail of the buffer is read as well."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(THREADS), 16)
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


@cute.jit
def in_place(mX: cute.Tensor, mCount: cute.Tensor, bug: cutlass.Constexpr = None):
    in_place_kernel(mX, mCount, bug).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


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
    assert "stored in mY[1] of mY: float32 (66,)" in finding.message
    assert "by thread (1, 0, 0) of block" in finding.message, describe(finding)
