"""Read kernels' register counts from the machine code that compiled host code contains.

The compiler stores each GPU module as an ELF file (a cubin) in a constant of the host module. The
file's section `.nv.info` consists of entries (format, attribute, size, value); the entries with one
attribute contain kernels' register counts.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

_MAGIC, _MACHINE = b"\x7fELF", 190  # the ELF signature; CUDA's value of e_machine
_SYMBOLS = 2  # the type of a symbol table section
_SIZED, _REGISTERS = 4, 0x2F  # the format of sized entries; the attribute of register counts
_SYMBOL_BYTES = 24


def registers(module: bytes) -> dict[str, int]:
    """Return the registers per thread of each kernel in the cubins that these bytes contain, keyed
    by kernel name."""
    found: dict[str, int] = {}
    at = module.find(_MAGIC)
    while at >= 0:
        # If this is not a cubin, or its layout differs, the register counts remain unknown.
        with contextlib.suppress(struct.error, ValueError, IndexError):
            found |= dict(_of_cubin(module[at:]))
        at = module.find(_MAGIC, at + 1)
    return found


def _of_cubin(cubin: bytes) -> Iterator[tuple[str, int]]:
    (machine,) = struct.unpack_from("<H", cubin, 18)
    if machine != _MACHINE:
        return
    (table,) = struct.unpack_from("<Q", cubin, 40)
    entry, count, names = struct.unpack_from("<HHH", cubin, 58)
    # name, type, flags, address, offset, size, link
    sections = [struct.unpack_from("<IIQQQQI", cubin, table + k * entry) for k in range(count)]

    def body(k: int) -> bytes:
        return cubin[sections[k][4] : sections[k][4] + sections[k][5]]

    symbols = [section[1] for section in sections].index(_SYMBOLS)
    texts = body(sections[symbols][6])
    for k in range(count):
        if _text(body(names), sections[k][0]) == ".nv.info":
            for symbol, number in _counts(body(k)):
                (name,) = struct.unpack_from("<I", body(symbols), symbol * _SYMBOL_BYTES)
                yield _text(texts, name), number


def _counts(info: bytes) -> Iterator[tuple[int, int]]:
    """Yield the pair (symbol, registers per thread) for each kernel."""
    at = 0
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _SIZED:
            if attribute == _REGISTERS:
                yield struct.unpack_from("<II", info, at)
            at += size


def _text(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode()
