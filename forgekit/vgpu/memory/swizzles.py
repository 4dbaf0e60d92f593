"""How tensor maps and matrix descriptors swizzle shared memory: pieces of 16 bytes change places.

A span of 32, 64 or 128 bytes exchanges its 2, 4 or 8 pieces with each other, by the number of the
128-byte line it lies in (PTX ISA, "Swizzling modes"); as CuTe's Swizzle<1|2|3, 4, 3> of addresses.
"""

from __future__ import annotations

from forgekit.vgpu.floats import Array

PIECE = 16  # bytes that stay together
SPANS = (0, 32, 64, 128)  # bytes; 0: no swizzle


def swizzled(address: Array, span: int) -> Array:
    """Where the byte of each shared-memory address lies, in a swizzle of `span` bytes.

    Its own inverse. address: within the block, of any integer type.
    """
    if not span:
        return address
    kind = address.dtype.type
    line = (address >> kind(7)) & kind(span // PIECE - 1)
    swapped: Array = address ^ (line << kind(4))
    return swapped
