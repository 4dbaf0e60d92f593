"""Implement `vprintf`. Its format strings are in device memory, its arguments in local memory."""

from __future__ import annotations

import re
import struct
import sys

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import LOCAL_WINDOW

_SPEC = re.compile(
    r"%(%|[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(hh|h|ll|l|z|j|t|L)?([diouxXcsfFeEgGaAp]))"
)


_LONGEST = 1 << 20  # maximum number of bytes per string
_WIDEST = 9999  # maximum width of a padded field

# The maximum number of lines that a launch prints. CUDA's buffer is also limited (1 MiB by
# default), and longer output would not help in a notebook.
MAX_LINES = 4096


class Printer:
    """The output of a launch, which is collected for each batch and printed in block order."""

    def __init__(self, shown: bool = True) -> None:
        self.shown = shown
        self.left = MAX_LINES
        self.dropped = 0
        self.lines: list[tuple[int, str]] = []  # (block, text)

    def add(self, block: int, text: str) -> None:
        self.lines.append((block, text))
        self.left -= 1

    def flush(self) -> None:
        """Print the collected text."""
        for _, text in sorted(self.lines, key=lambda line: line[0]) if self.shown else ():
            sys.stdout.write(text)
        self.lines.clear()

    def close(self) -> None:
        """Print the number of omitted lines, if any."""
        if self.dropped and self.shown:
            sys.stdout.write(
                f"[cute.printf: {MAX_LINES:,} lines shown, {self.dropped:,} more omitted; print "
                "from one thread, or for a few index values]\n"
            )


def emit(m: Batch, printer: Printer, mask: Array | None, form: Array, values: Array) -> None:
    """Pass the output of each thread in `mask` to the launch's printer.

    form: addresses of NUL-terminated format strings; values: generic addresses of the arguments.
    """
    if printer.left <= 0:
        printer.dropped += int(m.expand(mask).sum())
        return
    forms = np.broadcast_to(form, m.shape)
    pointers = np.broadcast_to(values, m.shape)
    threads = np.argwhere(m.expand(mask))
    shown = threads[: printer.left]
    printer.dropped += len(threads) - len(shown)
    for block, thread in shown:
        text = _text_at(m, int(forms[block, thread]))
        data = b""
        pointer = int(pointers[block, thread])
        if pointer:
            offset = pointer - LOCAL_WINDOW if pointer >= LOCAL_WINDOW else pointer
            start = int(m.local.owner[block, thread]) * m.local.stride + offset
            end = (int(m.local.owner[block, thread]) + 1) * m.local.stride
            data = m.local.data[start:end].tobytes()
        printer.add(m.blocks[int(block)], format_c(m, text, data))


def _text_at(m: Batch, address: int) -> str:
    holder = m.memory.holder(address)
    if holder is None:
        return f"<no format string at {address:#x}>"
    allocation, at = holder
    raw = allocation.data[at : at + _LONGEST].tobytes()
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def format_c(m: Batch, text: str, data: bytes) -> str:
    """Format text as C's printf does. data: the arguments, packed with natural alignment as the
    device ABI specifies."""
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        position = -(-position // size) * size
        chunk = data[position : position + size].ljust(size, b"\0")
        position += size
        return chunk

    def replace(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        spec, length, kind = match[0], match[2] or "", match[3]
        while "*" in spec:
            spec = spec.replace("*", str(struct.unpack("<i", take(4))[0]), 1)
        spec = re.sub(r"\d{5,}", str(_WIDEST), spec)
        plain = spec.replace(length, "", 1) if length else spec
        if kind in "fFeEgG":
            return plain % struct.unpack("<d", take(8))[0]
        if kind in "aA":
            return float.hex(struct.unpack("<d", take(8))[0])
        if kind == "s":
            return plain % _text_at(m, struct.unpack("<Q", take(8))[0])
        if kind == "p":
            return f"{struct.unpack('<Q', take(8))[0]:#x}"
        size = 8 if length in ("ll", "l", "z", "j", "t") else 4
        value = int.from_bytes(take(size), "little")
        if kind == "c":
            return plain % chr(value & 0xFF)
        bits = {"hh": 8, "h": 16}.get(length, 8 * size)
        value &= (1 << bits) - 1
        if kind in "di" and value >> (bits - 1):
            value -= 1 << bits
        return (plain[:-1] + (kind if kind in "oxX" else "d")) % value

    return _SPEC.sub(replace, text)
