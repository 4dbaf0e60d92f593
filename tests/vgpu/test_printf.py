"""Test printing from threads: C's formats, blocks in order."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.vgpu.machine import printf
from forgekit.vgpu.machine.printf import format_c
from forgekit.vgpu.memory import GlobalMemory, TensorInfo


class Holder:
    """The part of a machine that format_c needs: memory for strings."""

    def __init__(self, text: str = "") -> None:
        self.memory = GlobalMemory()
        data = np.frombuffer(text.encode() + b"\0", np.uint8).copy()
        info = TensorInfo("s", "bytes", 1, data.shape, (1,))
        self.address = self.memory.add_array(data, info).address


@pytest.mark.parametrize(
    "form, packed, want",
    [
        ("plain", b"", "plain"),
        ("100%%", b"", "100%"),
        ("%d", struct.pack("<i", -5), "-5"),
        ("%i|%5d|%-5d|%05d|%+d", struct.pack("<5i", 1, 2, 3, 4, 5), "1|    2|3    |00004|+5"),
        ("%u", struct.pack("<i", -1), "4294967295"),
        ("%x %X %o %#x", struct.pack("<4I", 255, 255, 8, 16), "ff FF 10 0x10"),
        ("%lld", struct.pack("<q", -(2**40)), str(-(2**40))),
        ("%llu", struct.pack("<q", -1), str(2**64 - 1)),
        ("%ld %d", struct.pack("<qi", 7, 8), "7 8"),
        ("%d %lld", struct.pack("<ixxxxq", 7, 8), "7 8"),  # 8-byte values are aligned
        ("%f", struct.pack("<d", 1.5), "1.500000"),
        ("%.2f %8.3f", struct.pack("<2d", 3.14159, 2.5), "3.14    2.500"),
        ("%e %g", struct.pack("<2d", 12345.678, 0.0001), "1.234568e+04 0.0001"),
        ("%f %f %f", struct.pack("<3d", float("inf"), float("-inf"), float("nan")), "inf -inf nan"),
        ("%d %f", struct.pack("<ixxxxd", 1, 2.0), "1 2.000000"),
        ("%c%c", struct.pack("<2i", 104, 105), "hi"),
        ("%*d|%.*f", struct.pack("<3ixxxxd", 5, 42, 1, 2.25), "   42|2.2"),
        ("%hhd %hd", struct.pack("<2i", 300, 70000), "44 4464"),
        ("%p", struct.pack("<Q", 4096), "0x1000"),
        ("%d", b"", "0"),
    ],
)  # fmt: skip
def test_formats(form, packed, want):
    assert format_c(Holder(), form, packed) == want  # type: ignore[arg-type]


def test_strings():
    holder = Holder("wörld")
    packed = struct.pack("<QQ", holder.address, holder.address)
    assert format_c(holder, "%s|%8s", packed) == "wörld|   wörld"  # type: ignore[arg-type]


TEXT = "b%d t%d\n"
CODES = ", ".join(str(c) for c in TEXT.encode())
HEAD = f""".global .align 1 .b8 form[{len(TEXT) + 1}] = {{{CODES}, 0}};
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);"""
PRINT = """{ .param .b64 param0; .param .b64 param1; .param .b32 retval0;
st.local.v2.b32 [%rd5], {%r1, %r0}; mov.u64 %rd7, form; cvta.global.u64 %rd7, %rd7;
st.param.b64 [param0], %rd7; st.param.b64 [param1], %rd6;
call.uni (retval0), vprintf, (param0, param1); ld.param.b32 %r9, [retval0]; }"""
BODY = (
    ".local .align 8 .b8 depot[8]; mov.b64 %rd5, depot; cvta.local.u64 %rd6, %rd5; "
    "mov.u32 %r1, %ctaid.x; "
)


def test_blocks_print_in_order(capsys):
    launch(BODY + PRINT + "ret;", grid=3, block=2, head=HEAD)
    assert capsys.readouterr().out == "".join(f"b{b} t{t}\n" for b in range(3) for t in range(2))


@pytest.mark.parametrize("batch_threads", [32, 64, 4096])
def test_only_threads_that_come_there_print(batch_threads, capsys):
    """The odd threads print first, in the branch, then thread 0; block 0 prints completely before
    block 1."""
    body = f"""{BODY} and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN; {PRINT}
    EVEN: setp.ne.u32 %p1, %r0, 0; @%p1 bra END; {PRINT} END: ret;"""
    launch(body, grid=2, block=6, head=HEAD, batch_threads=batch_threads)
    wanted = [f"b{b} t{t}" for b in range(2) for t in (1, 3, 5, 0)]
    assert capsys.readouterr().out.splitlines() == wanted


def test_a_launch_prints_a_bounded_number_of_lines(capsys, monkeypatch):
    monkeypatch.setattr(printf, "MAX_LINES", 10)
    printer = printf.Printer()
    for i in range(10):
        printer.add(1 - i % 2, f"{i}\n")
    assert printer.left == 0
    printer.dropped = 5
    printer.flush()
    printer.close()
    printed = capsys.readouterr().out.splitlines()
    assert printed[:10] == [*"13579", *"02468"]
    assert printed[10].startswith("[cute.printf: 10 lines shown, 5 more omitted")
