"""Compute how many blocks can be resident on a multiprocessor, and which resource limits them."""

from __future__ import annotations

from dataclasses import dataclass

_QUARTERS = 4  # each quarter has its own warps and registers
_REGISTERS = 65536
_REGISTERS_UNIT = 256  # a warp's registers are allocated in multiples of this number
_SHARED_UNIT, _SHARED_RESERVED = 128, 1024  # in bytes; CUDA reserves 1024 per block


@dataclass(frozen=True)
class Multiprocessor:
    """The capacity of a multiprocessor in warps, blocks and bytes of shared memory.

    Source: CUDA C++ Programming Guide, "Compute Capabilities".
    """

    warps: int
    blocks: int
    shared_bytes: int

    def limits(self, threads: int, registers: int, shared_bytes: int) -> dict[str, int]:
        """Map each resource to the number of blocks that it allows; the smallest number is the
        limit.

        threads, shared_bytes: per block; registers: per thread. As in NVIDIA's `cuda_occupancy.h`,
        a warp's registers are allocated from one quarter of the multiprocessor, in units of 256,
        and a block's shared memory in units of 128 bytes, plus 1 kB.
        """
        warps = -(-threads // 32)
        of_warp = -(-registers * 32 // _REGISTERS_UNIT) * _REGISTERS_UNIT
        held = _QUARTERS * (_REGISTERS // _QUARTERS // of_warp)
        shared = -(-(shared_bytes + _SHARED_RESERVED) // _SHARED_UNIT) * _SHARED_UNIT
        return {
            "warps": self.warps // warps,
            "registers": held // warps,
            "shared memory": self.shared_bytes // shared,
            "blocks": self.blocks,
        }


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(64, 32, 164 << 10),
    "sm_86": Multiprocessor(48, 16, 100 << 10),
    "sm_89": Multiprocessor(48, 24, 100 << 10),
    "sm_90": Multiprocessor(64, 32, 228 << 10),
    "sm_100": Multiprocessor(64, 32, 228 << 10),
    "sm_120": Multiprocessor(48, 24, 100 << 10),
}
