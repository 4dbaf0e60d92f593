"""Analyse a kernel's data flow: the registers that each instruction reads and writes, live
registers, loops that poll memory, and the origins of addresses."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from forgekit.vgpu import ptx

# Opcodes whose first operand is a source, not a result.
_NO_RESULT = {
    "st", "red", "bra", "bar", "barrier", "ret", "exit", "trap", "membar", "fence", "cp",
    "prefetch", "prefetchu", "call", "griddepcontrol", "nanosleep", "brkpt", "setmaxnreg",
    "discard", "applypriority", "pmevent", "brx", "stmatrix", "tensormap",
}  # fmt: skip
_MBARRIER_RESULT = {"arrive", "arrive_drop", "test_wait", "try_wait", "pending_count"}

Place = tuple[str, int]  # (parameter, byte offset in it) or (module variable, 0)
Origins = set[Place] | None
_MEMORY: Place = ("", -1)  # the unknown origin of an address that was loaded from memory
# For each opcode, the index of the operand that is the address written to or read from.
_WRITING = {"st": 0, "atom": 1, "red": 0, "tensormap": 0}
_READING = {"ld": 1, "ldu": 1, "atom": 1, "red": 0, "tensormap": 0}


def _registers(operand: object) -> list[str]:
    match operand:
        case ptx.Register(name):
            return [name]
        case ptx.Negated(register):
            return [register.name]
        case ptx.Pair(first, second):
            return [r.name for r in (first, second) if r is not None]
        case ptx.Vector(items):
            return [n for item in items for n in _registers(item)]
        case ptx.Address(base, _):
            return _registers(base)
    return []


def reads_and_writes(instruction: ptx.Instruction) -> tuple[list[str], list[str]]:
    """Return the names of the registers that an instruction reads, and of those that it writes."""
    operands = instruction.operands
    reads = _registers(instruction.guard)
    writes: list[str] = []
    if _has_result(instruction):
        writes, operands = _registers(operands[0]), operands[1:]
        if instruction.opcode[0] == "wgmma":  # also reads its accumulators
            reads += writes
    for operand in operands:
        reads += _registers(operand)
    return reads, writes


def _has_result(instruction: ptx.Instruction) -> bool:
    root = instruction.opcode[0]
    if root == "mbarrier":
        first = instruction.operands[0]
        return instruction.opcode[1] in _MBARRIER_RESULT and not isinstance(first, ptx.Address)
    if root in ("bar", "barrier"):
        return "red" in instruction.opcode
    return root not in _NO_RESULT and bool(instruction.operands)


class Dataflow:
    """The properties of a kernel that follow from its PTX. Each is computed on first use."""

    def __init__(self, kernel: ptx.Kernel) -> None:
        self.kernel = kernel
        self.instructions = kernel.instructions
        self.registers = {name: i for i, name in enumerate(kernel.registers)}

    @functools.cached_property
    def flow(self) -> list[tuple[list[str], list[str]]]:
        """Return, for each instruction, the names of the registers that it reads, and of those that
        it writes."""
        return [reads_and_writes(instruction) for instruction in self.instructions]

    # -- registers ------------------------------------------------------------------------
    @functools.cached_property
    def registers_read(self) -> frozenset[str]:
        """Return the names of the registers that any instruction reads."""
        return frozenset(name for reads, _ in self.flow for name in reads)

    @functools.cached_property
    def unread_parts(self) -> dict[int, list[bool]]:
        """Map each load of a vector with registers that no instruction reads to a list that
        contains, for each of its registers, whether an instruction reads it."""
        found = {}
        for pc, instruction in enumerate(self.instructions):
            if instruction.opcode[0] in ("ld", "ldu"):
                to = instruction.operands[0]
                names = _registers(to) if isinstance(to, ptx.Vector) else []
                parts = [name in self.registers_read for name in names]
                if any(parts) and not all(parts):
                    found[pc] = parts
        return found

    @functools.cached_property
    def _sets(self) -> list[tuple[int, int]]:
        """Return, for each instruction, the registers that it reads, and those that it writes, as
        bit sets."""
        numbers = self.registers
        result = []
        for names in self.flow:
            reads, writes = (sum({1 << numbers[n] for n in part if n in numbers}) for part in names)
            result.append((reads, writes))
        return result

    @functools.cached_property
    def _successors(self) -> list[tuple[int, ...]]:
        result: list[tuple[int, ...]] = []
        for pc, instruction in enumerate(self.instructions):
            if instruction.opcode[0] == "bra":
                target = instruction.operands[0]
                assert isinstance(target, ptx.Symbol)
                jump = self.kernel.labels[target.name]
                result.append((jump,) if instruction.guard is None else (jump, pc + 1))
            elif instruction.opcode[0] in ("ret", "exit", "trap") and instruction.guard is None:
                result.append(())
            else:
                result.append((pc + 1,))
        return result

    @functools.cached_property
    def live(self) -> list[int]:
        """Return, for each instruction, the bit set of the registers that it or a later instruction
        may read."""
        # A guarded instruction may leave its result register unchanged, so the old value stays
        # live.
        kills = [
            0 if i.guard else written
            for i, (_, written) in zip(self.instructions, self._sets, strict=True)
        ]
        live = [0] * (len(kills) + 2)
        changed = True
        while changed:
            changed = False
            for pc in range(len(kills) - 1, -1, -1):
                now = self._sets[pc][0] | (self._live_after(pc, live) & ~kills[pc])
                if now != live[pc]:
                    live[pc], changed = now, True
        return live

    def _live_after(self, pc: int, live: list[int]) -> int:
        after = 0
        for successor in self._successors[pc]:
            after |= live[successor]
        return after

    @functools.cached_property
    def dying(self) -> list[list[int]]:
        """Return, for each instruction, the registers that it reads or writes and that no later
        instruction reads."""
        result = []
        for pc, (reads, writes) in enumerate(self._sets):
            gone = (reads | writes) & ~self._live_after(pc, self.live)
            result.append([r for r in range(gone.bit_length()) if gone >> r & 1])
        return result

    # -- loops ----------------------------------------------------------------------------
    @functools.cached_property
    def loops(self) -> list[tuple[int, int]]:
        """Return the indices of the first and the last instruction of each loop; outer loops come
        first."""
        ends: dict[int, int] = {}
        for pc, i in enumerate(self.instructions):
            target = i.operands[0] if i.opcode[0] == "bra" else None
            name = target.name if isinstance(target, ptx.Symbol) else ""
            first = self.kernel.labels.get(name, pc + 1)
            if first <= pc:
                ends[first] = max(pc, ends.get(first, 0))
        return sorted(ends.items(), key=lambda loop: (loop[0], -loop[1]))

    @functools.cached_property
    def _polls(self) -> list[int]:
        """Return, for each instruction, the number of earlier instructions that may poll memory in
        a loop."""
        counts = [0]
        for pc, instruction in enumerate(self.instructions):
            asks = _asks(instruction.opcode)
            asks = asks and any(first <= pc <= last for first, last in self.loops)
            counts.append(counts[-1] + asks)
        return counts

    def polls(self, first: int, last: int) -> bool:
        """Return True if an instruction from `first` to `last` may poll memory in a loop."""
        return self._polls[min(last, len(self._polls) - 2) + 1] > self._polls[first]

    @functools.cached_property
    def _acts(self) -> list[int]:
        """Return, for each instruction, the number of earlier instructions that read a clock or
        change anything besides registers."""
        return [0, *itertools.accumulate(_acts(i) for i in self.instructions)]

    def acts(self, first: int, end: int) -> bool:
        """Return True if an instruction from `first` up to, but not including, `end` may read a
        clock or change anything besides registers. An `atom` does not count."""
        return self._acts[min(end, len(self.instructions))] > self._acts[first]

    # -- memory ---------------------------------------------------------------------------
    @functools.cached_property
    def is_asynchronous(self) -> bool:
        """Return True if the kernel uses mbarriers, bulk copies, asynchronous stores or `wgmma`."""
        kinds = (("mbarrier",), ("wgmma",), ("cp", "async", "bulk"), ("st", "async"))
        return any(i.opcode[: len(kind)] == kind for i in self.instructions for kind in kinds)

    @functools.cached_property
    def has_fence(self) -> bool:
        """Return True if the kernel has a memory fence between threads: `membar`, `fence.acq_rel`
        or `fence.sc`."""
        order = {"acq_rel", "sc", "acquire", "release"}
        return any(
            i.opcode[0] == "membar" or (i.opcode[0] == "fence" and not order.isdisjoint(i.opcode))
            for i in self.instructions
        )

    @functools.cached_property
    def unit_bytes(self) -> int:
        """Return the size in bytes of the kernel's narrowest access to shared or global memory, but
        at most 8; return 4 if there is no such access."""
        return min((w for i in self.instructions if (w := _access_bytes(i))), default=4)

    def wide_parameters(self) -> Iterator[Place]:
        """Yield the locations in parameters that the kernel loads as 64-bit words."""
        declared = {p.name for p in self.kernel.params}
        for i, (_, writes) in zip(self.instructions, self.flow, strict=True):
            if i.opcode[0] == "ld" and ptx.TYPE_BYTES.get(i.opcode[-1]) == 8:
                place = _place(i.operands[1])
                if place is not None and place[0] in declared:
                    yield from _following(place, len(writes), 8)

    @functools.cached_property
    def tensor_maps(self) -> set[Place]:
        """Return the locations that may contain tensor maps, all in parameters whose address the
        kernel takes."""
        sizes = {p.name: p.size_bytes for p in self.kernel.params}
        symbols = {name for i in self.instructions for name in _symbols(i)}
        return {(n, at) for n in symbols & set(sizes) for at in range(0, sizes[n] - 63, 64)}

    @functools.cached_property
    def address_origins(self) -> tuple[Origins, Origins]:
        """Return the possible origins of the addresses to which the kernel writes, and of those
        from which it reads.

        The origins include values that only contribute to an address, such as strides. None means
        that the origin of an address is unknown. Atomics count as both writes and reads.
        """
        origins: dict[str, set[Place]] = {}
        changed = True
        while changed:
            changed = False
            for instruction, (reads, writes) in zip(self.instructions, self.flow, strict=True):
                found = self._origins_of(instruction, len(writes))
                if not _loads(instruction):
                    found = found.union(*(origins.get(register, set()) for register in reads))
                for register in writes:
                    have = origins.setdefault(register, set())
                    changed = changed or not found <= have
                    have |= found
        return self._of_addresses(origins, _WRITING), self._of_addresses(origins, _READING)

    def _origins_of(self, instruction: ptx.Instruction, count: int) -> set[Place]:
        """Return the origins of an instruction's results other than the registers that it reads."""
        if not _loads(instruction):
            symbols = _symbols(instruction)
            return {(n, 0) for n in symbols} | {m for m in self.tensor_maps if m[0] in symbols}
        place = _place(instruction.operands[1]) if "param" in instruction.opcode else None
        if place is not None:
            width = ptx.TYPE_BYTES.get(instruction.opcode[-1], 8)
            return set(_following(place, count, width))
        return {_MEMORY} if instruction.opcode[-1] in ("b64", "u64", "s64") else set()

    def _of_addresses(self, origins: dict[str, set[Place]], roots: dict[str, int]) -> Origins:
        result: set[Place] = set()
        for instruction in self.instructions:
            place = roots.get(instruction.opcode[0])
            if instruction.opcode[0] == "cp":
                place = copied(instruction, writes=roots is _WRITING)
            if place is None or not {"param", "local"}.isdisjoint(instruction.opcode):
                continue
            operand = instruction.operands[place]
            by_map = isinstance(operand, ptx.Vector)  # [map, {coordinates}]
            if isinstance(operand, ptx.Vector):
                operand = operand.items[0]
            base = operand.base if isinstance(operand, ptx.Address) else operand
            if isinstance(base, ptx.Symbol):
                result.add((base.name, 0))
                continue
            found = origins.get(base.name, set()) if isinstance(base, ptx.Register) else {_MEMORY}
            if _MEMORY in found or (by_map and not found <= self.tensor_maps):
                return None
            result |= found
        return result


def _symbols(instruction: ptx.Instruction) -> set[str]:
    return {o.name for o in instruction.operands if isinstance(o, ptx.Symbol)}


def _place(operand: object) -> Place | None:
    """Return the location to which an operand `[name + offset]` refers, or None for any other
    operand."""
    if isinstance(operand, ptx.Address) and isinstance(operand.base, ptx.Symbol):
        return operand.base.name, operand.offset + operand.base.offset
    return None


def _following(place: Place, count: int, width: int) -> Iterator[Place]:
    return ((place[0], place[1] + k * width) for k in range(count))


def _loads(instruction: ptx.Instruction) -> bool:
    return instruction.opcode[0] in ("ld", "ldu", "atom", "shfl")


def _asks(opcode: tuple[str, ...]) -> bool:
    root, parts = opcode[0], opcode[1:]
    if root == "ld":
        return any(p in ("volatile", "acquire", "relaxed") for p in parts)
    if root == "atom":
        return any(p in ("cas", "exch") for p in parts)
    return root == "nanosleep"


def _acts(instruction: ptx.Instruction) -> bool:
    if instruction.opcode[0] in ("bra", "fence", "membar", "nanosleep", "prefetch"):
        return False
    clock = any(name in instruction.text for name in ("%clock", "%globaltimer"))
    return clock or instruction.opcode[0] == "mbarrier" or not _has_result(instruction)


def copied(instruction: ptx.Instruction, *, writes: bool) -> int | None:
    """Return the index of the `cp` operand that is the global address written to (or read from);
    None if there is no such operand."""
    opcode = instruction.opcode
    ends = [part for part in opcode if part == "global" or part.startswith("shared")]
    if len(ends) < 2:  # commit_group, wait_group, prefetch
        return None
    stores = ends[0] == "global"
    if "reduce" in opcode:
        return 0
    return (0 if stores else 1) if writes == stores else None


def _access_bytes(instruction: ptx.Instruction) -> int:
    root, parts = instruction.opcode[0], instruction.opcode
    if root == "mbarrier":
        return 8
    if root == "tensormap":
        return 4
    if root == "cp":
        return (8 if "bulk" in parts and "tensor" not in parts else 4) if "async" in parts else 0
    if root not in ("ld", "st", "atom", "red", "ldu") or "param" in parts or "local" in parts:
        return 0
    count = next((int(p[1:]) for p in parts if p in ("v2", "v4", "v8")), 1)
    return min(ptx.TYPE_BYTES.get(parts[-1], 1) * count, 8)
