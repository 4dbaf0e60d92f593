"""Test the PTX parser: every construct that CuTe DSL's compiler emits, and the errors for other
text."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.vgpu import opcodes, program, ptx
from forgekit.vgpu.errors import PtxSyntaxError, UnsupportedPtxError
from forgekit.vgpu.ptx import (
    Address,
    Immediate,
    Instruction,
    Kernel,
    Register,
    SourceLocation,
    Symbol,
)
from forgekit.vgpu.ptx.parser import parse
from forgekit.vgpu.ptx.source_lines import attribute

HEAD = ".version 9.4\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>;"


def module(body: str, *, before: str = "", after: str = "") -> ptx.Module:
    """Return a module whose kernel `k` has this body."""
    text = f"{HEAD}{before}\n.visible .entry k(.param .b64 x)\n{{\n{REGISTERS}\n{body}\n}}\n{after}"
    return parse(text)


def kernel(body: str) -> Kernel:
    return module(body).kernels["k"]


def one(text: str) -> Instruction:
    (instruction,) = kernel(text).instructions
    return instruction


def reg(name: str) -> Register:
    return Register(name)


# -- instructions and operands --------------------------------------------------------------------
@pytest.mark.parametrize(
    "literal, bits, width",
    [
        ("0", 0, None), ("7", 7, None), ("-1", -1, None), ("010", 8, None), ("-017", -15, None),
        ("0x1F", 31, None), ("0XfF", 255, None), ("-0x10", -16, None), ("0b101", 5, None),
        ("4294967295U", 2**32 - 1, None), ("18446744073709551615", 2**64 - 1, None),
        ("0f3F800000", 0x3F800000, 32), ("0Fff800000", 0xFF800000, 32),
        ("0d3FF0000000000000", 0x3FF0000000000000, 64),
        ("0DBFF0000000000000", 0xBFF0000000000000, 64),
        ("1.5", int.from_bytes(struct.pack("<d", 1.5), "little"), 64),
        ("-2.5e3", int.from_bytes(struct.pack("<d", -2500.0), "little"), 64),
        ("WARP_SZ", 32, None),
    ],
)  # fmt: skip
def test_literals(literal: str, bits: int, width: int | None) -> None:
    assert one(f"mov.b64 %rd1, {literal};").operands[1] == Immediate(bits, width)


def test_several_statements_on_a_line_and_one_over_several() -> None:
    found = kernel("mov.b32 %r1, 1; mov.b32 %r2,\n    2;;\n{ mov.b32 %r3, 3; } ret;").instructions
    assert [i.text for i in found] == [
        "mov.b32 %r1, 1", "mov.b32 %r2, 2", "mov.b32 %r3, 3", "ret",
    ]  # fmt: skip


def test_comments_and_pragmas_are_skipped() -> None:
    body = """
    // begin inline asm
    mov.b32 %r1, 1; /* { not a scope ; nor
    a statement */ .pragma "nounroll";
    // end inline asm }
    ret;"""
    assert [i.name for i in kernel(body).instructions] == ["mov.b32", "ret"]


def test_comment_signs_within_a_path() -> None:
    found = module(".loc 1 5 0\nret;", before='.file 1 "//share//me.py"').kernels["k"]
    assert found.instructions[0].source == SourceLocation("//share//me.py", 5, 0)


def test_a_path_beyond_ascii() -> None:
    """The compiler writes each non-ASCII byte of UTF-8 in octal digits."""
    found = module(".loc 1 5 0\nret;", before='.file 1 "/t \\303\\251.py"').kernels["k"]
    assert found.instructions[0].source == SourceLocation("/t é.py", 5, 0)


# -- labels and scopes ----------------------------------------------------------------------------
WAIT = """{
    .reg .pred P1;
    LAB_WAIT:
    mbarrier.try_wait.parity.shared.b64 P1, [%r1], %r2, 10000000;
    @P1 bra.uni DONE; bra.uni LAB_WAIT;
    DONE:
}"""


def test_inline_assembly_has_names_of_its_own() -> None:
    """The same block occurs twice, with two registers P1 and two loops; names outside it do not
    change."""
    found = kernel(f"{WAIT}\n{WAIT}\nret;")
    inner = sorted(n for n in found.registers if n.startswith("P1"))
    assert len(inner) == 2 and {found.registers[n] for n in inner} == {"pred"}
    assert len(found.labels) == 4
    for at, first in ((0, 0), (3, 3)):
        wait, leave, again = found.instructions[at : at + 3]
        assert wait.operands[0] == leave.guard
        assert wait.operands[1] == Address(reg("%r1"), 0)
        assert found.labels[leave.operands[0].name] == first + 3
        assert found.labels[again.operands[0].name] == first


def test_nested_scopes() -> None:
    body = """
    {
        .reg .b32 t; .reg .b32 u<2>;
        mov.b32 t, 1;
        { .reg .b64 t; mov.b64 t, 2; mov.b32 u1, 3; }
        mov.b32 t, %r1;
    }"""
    found = kernel(body)
    first, second, third, fourth = (i.operands[0].name for i in found.instructions)
    assert first == fourth != second
    assert [found.registers[n] for n in (first, second, third)] == ["b32", "b64", "b32"]
    assert found.instructions[3].operands[1] == reg("%r1")


def test_scopes_with_the_same_register_range() -> None:
    found = kernel("{ .reg .b32 t<2>; mov.b32 t1, 1; } { .reg .b64 t<2>; mov.b64 t1, 1; }")
    types = [found.registers[i.operands[0].name] for i in found.instructions]
    assert types == ["b32", "b64"]


# -- source lines -----------------------------------------------------------------------
def test_source_lines() -> None:
    body = """.loc\t1 53 0
    mov.b32 %r1, 1;
    .loc\t1 56 17
    mov.b32 %r2, 2; mov.b32 %r3, 3;
    .loc 2 7 3, function_name $L__info_string0, inlined_at 1 60 5
    mov.b32 %r4, 4;
    .loc 1 0 0
    mov.b32 %r5, 5;
    .loc 9 1 1
    ret;"""
    files = '.file\t1 "/home/me/kernels.py"\n.file 2 "helper.py", 1234, 99\n'
    found = module(body, after=files).kernels["k"].instructions
    me = "/home/me/kernels.py"
    assert [i.source for i in found] == [
        SourceLocation(me, 53, 0), SourceLocation(me, 56, 17), SourceLocation(me, 56, 17),
        SourceLocation("helper.py", 7, 3),
        SourceLocation("helper.py", 7, 3),  # line 0 is not a line, so the previous line continues
        SourceLocation("?", 1, 1),  # a file without a declaration
    ]  # fmt: skip


def test_lines_of_instructions_without_one() -> None:
    """They continue the line before, or, after a branch in the same basic block, begin the next."""
    body = """.loc 1 4 2
    mov.b32 %r1, 1;
    .loc 1 9 0
    @%p1 bra END;
    cvt.rzi.s32.f32 %r2, %f1;
    .loc 1 5 3
    mov.b32 %r3, 3;
    .loc 1 9 0
    @%p1 bra END;
    mov.b32 %r4, 4;
    END:
    .loc 1 6 3
    ret;"""
    found = module(body, after='.file 1 "/me.py"').kernels["k"]
    lines = [i.source.line for i in attribute(found.instructions, {*found.labels.values()})]
    assert lines == [4, 4, 5, 5, 5, 5, 6]


def test_ptx_lines() -> None:
    text = HEAD + ".visible .entry k()\n{\n\n  // a comment\n  ret; ret;\n\n  ret;\n}\n"
    found = parse(text).kernels["k"].instructions
    assert [i.line for i in found] == [8, 8, 10]


# -- declarations ---------------------------------------------------------------------------------
def test_several_kernels() -> None:
    text = HEAD + ".entry a() { ret; }\n.visible .entry b(.param .b32 n) { .reg .b32 %r<2>; ret; }"
    found = parse(text).kernels
    assert list(found) == ["a", "b"]
    assert found["a"].registers == {} and list(found["b"].registers) == ["%r0", "%r1"]


def test_parameters() -> None:
    text = (
        HEAD
        + """.visible .entry k(
    .param .align 8 .b8 k_param_0[24],
    .param .b32 k_param_1,
    .param .align 64 .b8 map[128],
    .param .u64 .ptr .global .align 16 k_param_3,
    .param .u64 .ptr .align 1 k_param_4
) .reqntid 128, 2, 1 .minnctapersm 1 { ret; }"""
    )
    found = parse(text).kernels["k"]
    assert [(p.name, p.size_bytes, p.align) for p in found.params] == [
        ("k_param_0", 24, 8), ("k_param_1", 4, 4), ("map", 128, 64), ("k_param_3", 8, 8),
        ("k_param_4", 8, 8),
    ]  # fmt: skip
    assert found.required_block == (128, 2, 1)


def test_performance_directives() -> None:
    text = (
        HEAD + ".entry k()\n.maxntid 32, 4\n.reqnctapercluster 2, 1, 1 .explicitcluster\n{ ret; }"
    )
    found = parse(text).kernels["k"]
    assert (found.max_threads, found.required_block) == (128, None)
    short = parse(HEAD + ".entry k() .reqntid 96 { ret; }").kernels["k"]
    assert short.required_block == (96, 1, 1)


def test_registers() -> None:
    found = kernel(".reg .b32 a, b , c; .reg .pred P; .reg .b64 \t%SP;").registers
    assert {n: found[n] for n in ("a", "b", "c", "P", "%SP")} == {
        "a": "b32", "b": "b32", "c": "b32", "P": "pred", "%SP": "b64",
    }  # fmt: skip
    assert found["%r98"] == "b32" and "%r99" not in found


def test_registers_without_percent_sign() -> None:
    found = kernel(".reg .b32 a; mov.b32 a, 1; add.s32 %r1, a, b;").instructions
    assert found[0].operands[0] == reg("a")
    assert found[1].operands == (reg("%r1"), reg("a"), Symbol("b"))


def test_module_variables() -> None:
    before = """
.global .align 1 .b8 $str[6] = {104, 0x69, -1, 010, 0};
.global .align 4 .f32 table[2] = {0f3F800000, 0fBF800000};
.visible .global .align 8 .u64 counter;
.const .align 4 .b32 pair[2][2] = {{1, 2}, {3, 4}};
.extern .shared .align 1024 .b8 __dynamic_shmem__0[];
.shared .align 4 .b8 __static_shmem__0[128];
.shared .b64 one;"""
    found = module("ret;", before=before).variables
    assert found["$str"].data == b"hi\xff\x08\x00\x00"
    assert found["table"].data == struct.pack("<2f", 1.0, -1.0)
    assert (found["counter"].size_bytes, found["counter"].data) == (8, None)
    assert found["pair"].data == struct.pack("<4I", 1, 2, 3, 4)
    dynamic, static = found["__dynamic_shmem__0"], found["__static_shmem__0"]
    assert (dynamic.external, dynamic.size_bytes, dynamic.align) == (True, 0, 1024)
    assert (static.external, static.size_bytes, static.align) == (False, 128, 4)
    assert found["one"].align == 8


def test_debug_sections_are_skipped() -> None:
    after = ".section\t.debug_str\n{\n$L__info_string0:\n.b8 107\n.b8 0\n}\n.section .debug_x { }"
    assert list(module("ret;", after=after).kernels) == ["k"]


# -- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "body, message",
    [
        ("mov.b32 %r1, 1", "';'"),  # the body ends within a statement
        ("add.s32 %r1, %r2, %r3\nmul.lo.s32 %r1, %r2, %r3;", "cannot read the operand"),
        ("@@ what is this;", "cannot read this instruction"),
        ("add.s32 %r1, #5, 2;", "cannot read the operand '#5'"),
        ("add.s32 %r1, , 2;", "missing between commas"),
        ("ld.global.b32 %r1, [%rd12;", "']'"),
        ("ld.global.b32 %r1, %rd1];", "unexpected ']'"),
        ("ld.global.v2.b32 {%r1, %r2, [%rd1];", "'}'"),
        ("ld.global.b32 %r1, [%rd1 4];", r"address \[%rd1 4\]"),
        ("ld.global.b32 %r1, [%rd1+%rd2];", "cannot read the address"),
        ("mov.b32 %r1, 09;", "invalid literal"),
        ("setp.lt.s32 %p1|, %r1, 2;", "register"),
        ("bra NOWHERE;", "unknown label"),
        ("bra %r1;", "unknown label"),
        ("L: ret; L: ret;", "defined twice"),
        ("{ L: ret; } bra L;", "unknown label"),
        (".reg .b33 %x;", "unknown type"),
        (".reg .b32 %x<2> %y;", "cannot read this declaration"),
        (".shared .b8 5x[4];", "cannot read this declaration"),
        (".shared .w8 x[4];", "unknown type"),
    ],
)
def test_errors_name_the_line(body: str, message: str) -> None:
    with pytest.raises(PtxSyntaxError, match=message) as caught:
        kernel(body)
    first, line = str(caught.value).split("\n")
    text = f"{HEAD}\n.visible .entry k(.param .b64 x)\n{{\n{REGISTERS}\n{body}\n}}\n".split("\n")
    number = int(first.split(":")[0].removeprefix("PTX line "))
    assert text[number - 1].strip() == line.strip()
    assert 8 <= number <= 9


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "is this PTX"),
        ("def kernel(x):\n    return x\n", "module directive"),
        ("<html></html>", "module directive"),
        ("\x7fELF\x02\x01\x01\0\0", "module directive"),
        (HEAD + ".visible .entry k(", "body"),
        (HEAD + ".visible .entry k()", "body"),
        (HEAD + ".visible .entry k()\n{ ret;", "body without its '}'"),
        (HEAD + ".visible .entry k()\n{ ret; {", "body without its '}'"),
        (HEAD + ".visible .entry k()\n{ ret; } }", "module directive"),
        (HEAD + ".global .b32 x", "';'"),
        (HEAD + ".global .u64 x = k;", "initial value: 'k'"),
        (HEAD + ".global .u64 x = 0f3F800000;", "initial value"),
        (HEAD + ".section .debug_str {", "'}'"),
        (HEAD + ".func f() { ret; }", "device function f"),
        (".version 9.4\n.entry k() { ret; }", "is this PTX"),
    ],
)
def test_broken_modules(text: str, message: str) -> None:
    with pytest.raises(PtxSyntaxError, match=message):
        parse(text)


def test_every_truncation_is_an_error() -> None:
    """PTX cut off anywhere within its kernel raises forgekit's error, never another exception."""
    text = f"{HEAD}.visible .entry k(.param .b64 x)\n{{\n{REGISTERS}\n{WAIT}\nret;\n}}"
    for length in range(len(HEAD) + 1, len(text)):
        with pytest.raises(PtxSyntaxError):
            parse(text[:length])


def test_long_garbage_is_refused_quickly() -> None:
    with pytest.raises(PtxSyntaxError):
        kernel(".reg .b32 " + "a" * 5000 + "!;")
    with pytest.raises(PtxSyntaxError):
        parse(HEAD + ".entry k()" + " .x" + " 1" * 5000 + " !")


def load(body: str) -> None:
    text = f'{HEAD}.visible .entry k()\n{{\n{REGISTERS}\n{body}\n}}\n.file 1 "/home/me/kernels.py"'
    program.load(text)


def test_unknown_opcode() -> None:
    with pytest.raises(UnsupportedPtxError) as caught:
        load(".loc 1 12 3\nfrobnicate.f32 %r1, %r2;")
    message = str(caught.value)
    for part in ("frobnicate.f32", "PTX line 8", "kernels.py, line 12", "Rewrite this line"):
        assert part in message
    assert "/home" not in message


def test_undeclared_register() -> None:
    with pytest.raises(PtxSyntaxError, match=r"PTX line 7: undeclared register %x1"):
        load("mov.b32 %x1, 0;")
    with pytest.raises(PtxSyntaxError, match="undeclared register %q1"):
        load("@%q1 mov.b32 %r1, 0;")


def test_an_opcode_that_liveness_takes_for_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The opcode has no result but is not named in dataflow.py, or is named there but has a
    result."""

    def reads(instruction, decoder):
        fetch = decoder.fetch(instruction.operands[0], "b32")
        return lambda m: fetch(m)

    def writes(instruction, decoder):
        write = decoder.writer(instruction.operands[0], "b32")
        return lambda m: write(m, None)

    for name, meaning in (("frobnicate", reads), ("prefetch", writes)):
        monkeypatch.setitem(opcodes.REGISTRY, name, meaning)
        with pytest.raises(UnsupportedPtxError, match=r"_NO_RESULT in ptx/dataflow\.py"):
            load(f"{name}.b32 %r1;")


def test_registers_may_be_vectors():
    """Inline assembly declares registers as vectors, here twice, each in its own scope."""
    x = np.arange(64, dtype=np.int32).reshape(2, 32)
    y = np.zeros((32, 4), np.int32)
    half = """{{ .reg .v2 .s32 ab; ld.global.v2.b32 {{%r1, %r2}}, [%rd3]; mov.s32 ab.x, %r2;
    mov.s32 ab.y, %r1; st.global.v2.s32 [%rd4+{at}], ab; }}"""
    launch(
        "mul.wide.u32 %rd2, %r0, 8; add.s64 %rd3, %rd0, %rd2; shl.b64 %rd2, %rd2, 1; "
        "add.s64 %rd4, %rd1, %rd2;" + half.format(at=0) + half.format(at=8) + "ret;",
        x, y,
    )  # fmt: skip
    want = x.reshape(32, 2)[:, ::-1]
    assert (y == np.concatenate([want, want], axis=1)).all()
