"""Collect the inputs of the time model, all of which are counts rather than measurements."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forgekit.vgpu import Recording

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


@dataclass(frozen=True)
class Facts:
    """The counts of one launch from which the model predicts its time.

    blocks: the number of blocks; threads: threads per block; cluster: blocks per cluster;
    registers: registers per thread, or None if the machine code is unknown; shared_bytes: bytes per
    block.

    slots: maps each pipe to a number of machine-code warp instructions
    (`forgekit.vgpu.counters.waits`); issued: their sum. waits: maps each reason to the total number
    of cycles that warps wait. fmas: multiply-adds of tensor cores. longest: the instructions of the
    longest observed block, relative to an average block. warps: the total number of warps.

    requests, sectors, ideal: map a kind of access to its number of requests, sectors and ideal
    sectors (for shared memory, wavefronts instead of sectors). loads, stores, atomics: sectors that
    remain if each multiprocessor's cache serves repeated accesses by a block; near_loads,
    near_stores: the number of these sectors that remains if L2 serves the sectors that neighbouring
    blocks share. warp_loads: sectors loaded, without a warp's repeated loads. atomic_sectors:
    distinct sectors of the observed blocks. read_sectors, written_sectors: distinct sectors of
    device memory; read_pairs, written_pairs: distinct 64-byte pairs, the smallest transfer.
    bulk_bytes: bytes moved by bulk copies.

    beyond: descriptions of operations that no calibration kernel uses. sample: the fraction of
    blocks that were counted; disagreement: the relative difference between the two halves of the
    sample.
    """

    blocks: int
    threads: int
    cluster: int
    registers: int | None
    shared_bytes: int
    warps: int
    slots: dict[str, float]
    waits: dict[str, float]
    issued: float
    fmas: float
    longest: float
    requests: dict[str, int]
    sectors: dict[str, int]
    ideal: dict[str, int]
    loads: float
    near_loads: float
    stores: float
    near_stores: float
    atomics: float
    atomic_sectors: int
    warp_loads: float
    read_sectors: int
    written_sectors: int
    read_pairs: int
    written_pairs: int
    bulk_bytes: int
    beyond: tuple[str, ...] = ()
    sample: float = 1.0
    disagreement: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all facts as a dict."""
        return asdict(self)


# Maps opcodes and state spaces that no calibration kernel uses to descriptions.
_BEYOND = {
    "wgmma": "it uses wgmma",
    "bulk": "it uses bulk copies",
    "local": "it uses local memory",
    "nanosleep": "it waits for other blocks",
}


def facts_of(recording: Recording) -> list[Facts]:
    """Return the facts of each launch in a recording."""
    return [_facts(*both) for both in zip(recording.counts, recording.shared, strict=True)]


def _facts(found: Any, shared: Any) -> Facts:
    record, code = found.record, found.program
    slots: Counter[str] = Counter()
    waits: Counter[str] = Counter()
    opcodes: set[str] = set()
    fmas = issued = 0.0
    for pc, times in enumerate(found.warp_instructions):
        step = found.steps[pc]
        checked = code.instructions[pc].opcode[0] == "div"  # a division also executes an FCHK
        slots[step.pipe] += times * ((1 + checked) if step.pipe == "special" else step.slots)
        issued += times * step.slots
        if times and step.pipe != "control":
            opcodes.update(code.instructions[pc].opcode)
        if step.wait:
            waits[step.wait] += times * step.cycles
        if step.pipe == "tensor" and times:
            shape = _SHAPE.search(code.instructions[pc].name)
            per_warp = 4 if code.instructions[pc].opcode[0] == "wgmma" else 1
            fmas += times * math.prod(map(int, shape.groups())) / per_warp if shape else 0
    requests: Counter[str] = Counter()
    sectors: Counter[str] = Counter()
    ideal: Counter[str] = Counter()
    for a in found.accesses.values():
        requests[a.kind] += a.requests
        sectors[a.kind] += a.units
        ideal[a.kind] += a.ideal
    n, looked_at = math.prod(record.grid), max(shared.blocks, 1)
    per_block = {way: getattr(shared, way).of_each / looked_at * n
                 for way in ("loads", "stores", "atomics")}  # fmt: skip
    near = {way: getattr(shared, way).near_together / max(getattr(shared, way).near_each, 1)
            for way in ("loads", "stores")}  # fmt: skip
    mean = sum(shared.instructions) / looked_at
    return Facts(
        blocks=n,
        threads=math.prod(record.block),
        cluster=record.cluster_blocks,
        registers=record.registers,
        shared_bytes=code.shared_bytes(record),
        warps=n * record.block_warps,
        slots=dict(slots),
        waits=dict(waits),
        issued=issued,
        fmas=fmas,
        longest=max(shared.instructions, default=1.0) / mean if mean else 1.0,
        requests=dict(requests),
        sectors=dict(sectors),
        ideal=dict(ideal),
        near_loads=per_block["loads"] * near["loads"],
        near_stores=per_block["stores"] * near["stores"],
        atomic_sectors=shared.atomics.together,
        warp_loads=shared.warp_loads / looked_at * n,
        read_sectors=found.read_sectors,
        read_pairs=found.read_pairs,
        written_pairs=found.written_pairs,
        written_sectors=found.written_sectors,
        bulk_bytes=found.bulk_bytes,
        beyond=tuple(said for name, said in _BEYOND.items() if name in opcodes),
        sample=found.sample.blocks / n if found.sample else 1.0,
        disagreement=found.sample.disagreement if found.sample else 0.0,
        **per_block,
    )
