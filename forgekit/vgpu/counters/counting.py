"""Count instructions, sectors, wavefronts and touched bytes as a hardware profiler does.

counts = Counting()
with forgekit.vgpu.options(listeners=(counts,)):
    run(x, y)
counts.launches[0].accesses[pc, "global_load"].requests

The counts are per PTX instruction; the caller adds them up per source line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import Code
from forgekit.vgpu.counters import rules, waits
from forgekit.vgpu.counters.costs import AccessCounts, Costs, paired
from forgekit.vgpu.counters.rules import LANES
from forgekit.vgpu.counters.touched import READ, WRITTEN, TensorTraffic, Touched
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.memory import WINDOW_MASK
from forgekit.vgpu.ptx import Register

_SPACES = ("global", "shared")


@dataclass
class LaunchCounts:
    """The counts of one launch.

    warp_instructions, thread_instructions, divergent: counts per PTX instruction; thread
    instructions include lanes whose guard predicate is false. accesses: maps (instruction, kind) to
    counts; kind is `global_` or `shared_`, followed by load, store, atomic, reduction or async.
    tensors, read_bytes, written_bytes: the touched device memory, with each byte counted once;
    read_sectors, written_sectors: the touched 32-byte sectors; read_pairs, written_pairs: the
    touched pairs of sectors. bulk_bytes: the bytes of global memory that bulk copies move. sample:
    None if all blocks ran; otherwise, the counts are estimates.
    """

    program: Code
    record: LaunchRecord
    warp_instructions: list[int]
    thread_instructions: list[int]
    divergent: list[int]
    accesses: dict[tuple[int, str], AccessCounts]
    tensors: list[TensorTraffic]
    read_bytes: int
    written_bytes: int
    read_sectors: int
    written_sectors: int
    read_pairs: int
    written_pairs: int
    bulk_bytes: int = 0
    sample: Sample | None = None

    @property
    def steps(self) -> Sequence[waits.Step]:
        """Return the pipe and the wait of each instruction."""
        return waits.steps(self.program)


@dataclass(frozen=True)
class Sample:
    """The part of a sampled launch that ran.

    blocks: the number of blocks, of n_blocks in the launch, that were counted. disagreement: the
    relative difference between two halves of the sample, in instructions or sectors, whichever is
    larger; 0.1 means that one half has 10 % more.
    """

    blocks: int
    n_blocks: int
    disagreement: float


class Counting(Listener):
    """Counts every launch that it observes."""

    def __init__(self) -> None:
        self._done: list[LaunchCounts] = []
        self._current: _Launch | None = None
        self._costs = Costs()
        self._source: Access
        self._sample: _Sampled

    @property
    def launches(self) -> list[LaunchCounts]:
        """Return the counts so far, in the order of the launches."""
        if self._current is not None:
            self._done.append(self._sample.result())
            self._current = None
        return self._done

    def on_batch(self, m: Batch) -> None:
        if self._current is None or self._current.record is not m.record:
            self.launches  # noqa: B018  closes the previous launch
            self._sample = _Sampled()
        self._current = self._sample.part(m)
        self._current.sizes.clear()

    def on_run(self, m: Batch, start: int, stop: int, mask: Array | None) -> None:
        launch = self._current
        assert launch is not None
        n_warps, n_threads = launch.size(m, mask)
        launch.warp_steps[start] += n_warps
        launch.warp_steps[stop] -= n_warps
        launch.thread_steps[start] += n_threads
        launch.thread_steps[stop] -= n_threads

    def on_divergence(self, m: Batch, taken: Array, rest: Array) -> None:
        assert self._current is not None
        both = m.lanes(taken).any(axis=1) & m.lanes(rest).any(axis=1)
        self._current.divergent[m.pc] += int(np.count_nonzero(both))

    def on_access(self, m: Batch, access: Access) -> None:
        launch = self._current
        assert launch is not None
        if access.kind == "async load":
            self._source = access  # the access to shared memory follows
        elif access.kind == "async store":
            self._count_copy(m, self._source, access)
        elif access.space == "generic":
            for t in access.targets:
                self._count(m, access, t.space, access.address & WINDOW_MASK, t.mask)
        else:
            self._count(m, access, access.space, access.address, access.mask)
        if access.kind != "async store":
            launch.touched.add(access.kind, access.targets, access.width)

    def on_async_start(self, m: Batch, operation: AsyncOperation) -> None:
        """Count a bulk copy, which moves bytes of tensors but makes no requests, because it
        bypasses the L1 cache."""
        assert self._current is not None
        for kind, run in operation.runs():
            target, width = run.target()
            self._current.touched.add(kind, [target], width)
        for end in (operation.source, operation.target):
            if end is not None and end.allocations is not None:
                self._current.bulk_bytes += int(np.sum(operation.size))

    def _count(
        self, m: Batch, access: Access, space: str, address: Array, mask: Array | None
    ) -> None:
        if space not in _SPACES:
            return
        assert self._current is not None
        counts = self._current.counts(m, access.kind, space, access.width)
        rule = counts.kind if m.program.instructions[m.pc].opcode[0] != "ldmatrix" else "ldmatrix"
        self._costs.add((counts,), rule, address, mask, m.shape, access.width)

    def _count_copy(self, m: Batch, source: Access, target: Access) -> None:
        """Count the global reads of a cp.async, and its writes to shared memory, including
        zeros."""
        assert self._current is not None
        width = target.width
        read = self._current.counts(m, "async", "global", width)
        written = self._current.counts(m, "async", "shared", width)
        past = "cg" in m.program.instructions[m.pc].opcode
        rule = "async past L1" if past else "async"
        both = paired(source.address, target.address)
        if source.mask is target.mask:
            self._costs.add((read, written), rule, both, target.mask, m.shape, width)
        else:
            self._costs.add((read, None), rule, both, source.mask, m.shape, width)
            self._costs.add((None, written), rule, both, target.mask, m.shape, width)


class _Sampled:
    """The parts of a sampled launch, and the number of blocks that each represents."""

    def __init__(self) -> None:
        self._parts: dict[str, _Launch] = {}
        self._about: dict[str, tuple[float, int]] = {}  # part's name -> weight, blocks

    def part(self, m: Batch) -> _Launch:
        """Return the counts of the part of the sample to which this batch belongs."""
        name, weight = ("all", 1.0) if m.part is None else (m.part.name, m.part.weight)
        if name not in self._parts:
            self._parts[name], self._about[name] = _Launch(m), (weight, 0)
        self._about[name] = weight, self._about[name][1] + m.n_blocks
        return self._parts[name]

    def result(self) -> LaunchCounts:
        if "odd" not in self._parts:  # all blocks ran, or an error stopped a sample at its start
            return next(iter(self._parts.values())).result()
        counted = {name: part.result() for name, part in self._parts.items()}
        even, odd = counted["even"], counted["odd"]
        weighed = [(counted[name], weight) for name, (weight, _) in self._about.items() if weight]
        accesses: dict[tuple[int, str], AccessCounts] = {}
        for part, weight in weighed:
            for key, access in part.accesses.items():
                more = access.times(weight)
                accesses[key] = accesses[key] + more if key in accesses else more
        blocks = sum(n for weight, n in self._about.values() if weight)
        n_blocks = math.prod(even.record.grid)
        steps: dict[str, Any] = {
            name: _weighed([(getattr(part, name), weight) for part, weight in weighed])
            for name in ("warp_instructions", "thread_instructions", "divergent")
        }
        bulk_bytes = round(sum(part.bulk_bytes * weight for part, weight in weighed))
        sample = Sample(blocks, n_blocks, _disagreement(even, odd))
        return replace(even, accesses=accesses, bulk_bytes=bulk_bytes, sample=sample, **steps,
                       **self._distinct(n_blocks / self._about["even"][1]))  # fmt: skip

    def _distinct(self, times: float) -> dict[str, Any]:
        """Estimate the device memory that the whole launch touches.

        times: the number of blocks in the launch, divided by the number in half of the sample.
        """
        even, odd = (self._parts[name].touched for name in ("even", "odd"))
        both = even.merged(odd)
        allocations = self._parts["even"].memory.allocations

        def whole(half: int, other: int, union: int, most: int) -> int:
            return min(extrapolated((half + other) / 2, union, times), most)

        tensors = []
        for a, b, all_ in zip(*(t.tensors(allocations) for t in (even, odd, both)), strict=True):
            r = whole(a.read_bytes, b.read_bytes, all_.read_bytes, a.size_bytes)
            w = whole(a.written_bytes, b.written_bytes, all_.written_bytes, a.size_bytes)
            tensors.append(replace(all_, read_bytes=r, written_bytes=w))
        found: dict[str, Any] = {"tensors": tensors}
        for way in (READ, WRITTEN):
            for unit, size in (
                ("bytes", 1),
                ("sectors", rules.SECTOR_BYTES),
                ("pairs", 2 * rules.SECTOR_BYTES),
            ):
                # Count per tensor, because blocks may share one tensor and partition another.
                count = 0
                for at in allocations:
                    one, other, union = (t.distinct(way, size, at) for t in (even, odd, both))
                    count += whole(one, other, union, -(-at.size_bytes // size))
                found[f"{way}_{unit}"] = count
        return found


def extrapolated(half: float, union: float, times: float) -> int:
    """Estimate the number of distinct items that `times` samples touch, if one sample touches
    `half` items and two samples together touch `union` items.

    The model assumes that samples are drawn at random from a pool whose size explains the overlap
    of two samples.
    """
    if half <= 0:
        return 0
    new = union / half - 1  # new items in a second sample, as a fraction of its items
    if new > 1 - 1e-9:
        return round(half * times)
    return round(half * (1 - max(new, 0.0) ** times) / (1 - max(new, 0.0)))


def _weighed(parts: Sequence[tuple[list[int], float]]) -> list[int]:
    columns = zip(*([n * weight for n in counts] for counts, weight in parts), strict=True)
    return [round(sum(column)) for column in columns]


def _disagreement(one: LaunchCounts, other: LaunchCounts) -> float:
    pairs = [(sum(c.warp_instructions), sum(a.units for a in c.accesses.values()))
             for c in (one, other)]  # fmt: skip
    return max(abs(a - b) / max(min(a, b), 1) for a, b in zip(*pairs, strict=True))


class _Launch:
    """The counts of a running launch, or of a part of it."""

    def __init__(self, m: Batch) -> None:
        n = len(m.program.instructions)
        self.program, self.record, self.memory = m.program, m.record, m.memory
        self.warp_steps, self.thread_steps = [0] * (n + 1), [0] * (n + 1)
        self.divergent = [0] * n
        self.accesses: dict[tuple[int, str, str], AccessCounts] = {}
        self.touched, self.bulk_bytes = Touched(), 0
        self.sizes: dict[int, tuple[Array | None, int, int]] = {}

    def size(self, m: Batch, mask: Array | None) -> tuple[int, int]:
        """Count the warps and threads in a group. The counts are cached because a batch has few
        distinct masks."""
        found = self.sizes.get(id(mask))
        if found is None:
            # Storing the mask keeps its id unique.
            found = self.sizes[id(mask)] = (mask, *_size(m, mask))
        return found[1], found[2]

    def counts(self, m: Batch, kind: str, space: str, width: int) -> AccessCounts:
        """Return the counts for the current instruction."""
        key = (m.pc, kind, space)
        found = self.accesses.get(key)
        if found is None:
            if kind == "atomic" and space == "global" and _is_reduction(m):
                kind = "reduction"
            found = self.accesses[key] = AccessCounts(f"{space}_{kind}", width)
        return found

    def result(self) -> LaunchCounts:
        touched = self.touched
        return LaunchCounts(
            self.program,
            self.record,
            list(itertools.accumulate(self.warp_steps))[:-1],
            list(itertools.accumulate(self.thread_steps))[:-1],
            self.divergent,
            {(pc, c.kind): c for (pc, *_), c in self.accesses.items() if c.requests},
            touched.tensors(self.memory.allocations),
            touched.distinct(READ),
            touched.distinct(WRITTEN),
            touched.distinct(READ, rules.SECTOR_BYTES),
            touched.distinct(WRITTEN, rules.SECTOR_BYTES),
            touched.distinct(READ, 2 * rules.SECTOR_BYTES),
            touched.distinct(WRITTEN, 2 * rules.SECTOR_BYTES),
            self.bulk_bytes,
        )


def _size(m: Batch, mask: Array | None) -> tuple[int, int]:
    """Count the warps with an active lane, and the active threads, in a mask."""
    blocks, threads = m.shape
    if mask is None:
        return blocks * threads // LANES, blocks * threads
    rows, columns = mask.shape
    if columns == 1:
        here = int(np.count_nonzero(mask)) * (blocks // rows)
        return here * (threads // LANES), here * threads
    busy = np.ascontiguousarray(mask).view(np.uint64).reshape(-1, LANES // 8)
    n_warps = int(np.count_nonzero(busy.any(axis=1)))
    return n_warps * (blocks // rows), int(np.count_nonzero(mask)) * (blocks // rows)


def _is_reduction(m: Batch) -> bool:
    """Return True if the old value from an atomic operation is unused. ptxas then compiles the
    operation to a reduction (`red`)."""
    instruction = m.program.instructions[m.pc]
    if instruction.opcode[0] == "red":
        return True
    result = instruction.operands[0]
    assert isinstance(result, Register)
    if result.name == "_":
        return True
    return not m.program.live[m.pc + 1] >> m.program.registers[result.name] & 1
