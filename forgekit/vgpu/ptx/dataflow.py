"""What a kernel's instructions read and write, which registers are live, which loops may wait."""

from __future__ import annotations

from forgekit.vgpu import ptx

# Instructions whose first operand is read, not written.
_NO_RESULT = {
    "st", "red", "bra", "bar", "barrier", "ret", "exit", "trap", "membar", "fence", "cp",
    "prefetch", "prefetchu", "call", "griddepcontrol", "nanosleep", "brkpt", "setmaxnreg",
    "discard", "applypriority", "pmevent", "brx", "stmatrix", "tensormap",
}  # fmt: skip
_MBARRIER_RESULT = {"arrive", "arrive_drop", "test_wait", "try_wait", "pending_count"}


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
    """Names of the registers an instruction reads and writes."""
    operands = instruction.operands
    reads = _registers(instruction.guard)
    if not _has_result(instruction):
        writes: list[str] = []
    else:
        writes, operands = _registers(operands[0]), operands[1:]
        if instruction.opcode[0] == "wgmma":  # adds to what they hold
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


def _sets(kernel: ptx.Kernel, registers: dict[str, int]) -> list[tuple[int, int]]:
    """For each instruction, the registers it reads and those it writes, as bit sets."""
    result = []
    for instruction in kernel.instructions:
        names = reads_and_writes(instruction)
        reads, writes = (sum({1 << registers[n] for n in part if n in registers}) for part in names)
        result.append((reads, writes))
    return result


def _successors(kernel: ptx.Kernel, pc: int) -> tuple[int, ...]:
    instruction = kernel.instructions[pc]
    if instruction.opcode[0] == "bra":
        target = instruction.operands[0]
        assert isinstance(target, ptx.Symbol)
        jump = kernel.labels[target.name]
        return (jump,) if instruction.guard is None else (jump, pc + 1)
    if instruction.opcode[0] in ("ret", "exit", "trap") and instruction.guard is None:
        return ()
    return (pc + 1,)


def liveness(kernel: ptx.Kernel, registers: dict[str, int]) -> list[int]:
    """For each instruction, the registers (a bit set) that may be read from there on."""
    n = len(kernel.instructions)
    sets = _sets(kernel, registers)
    # A guarded instruction may leave its result as it was.
    kills = [
        0 if i.guard else written for i, (_, written) in zip(kernel.instructions, sets, strict=True)
    ]
    successors = [_successors(kernel, pc) for pc in range(n)]
    live = [0] * (n + 2)
    changed = True
    while changed:
        changed = False
        for pc in range(n - 1, -1, -1):
            out = 0
            for s in successors[pc]:
                out |= live[s]
            now = sets[pc][0] | (out & ~kills[pc])
            if now != live[pc]:
                live[pc], changed = now, True
    return live


def dying(kernel: ptx.Kernel, registers: dict[str, int], live: list[int]) -> list[list[int]]:
    """For each instruction, the registers it reads or writes that nobody reads after it."""
    result = []
    for pc, (reads, writes) in enumerate(_sets(kernel, registers)):
        after = 0
        for s in _successors(kernel, pc):
            after |= live[s]
        gone = (reads | writes) & ~after
        result.append([r for r in range(gone.bit_length()) if gone >> r & 1])
    return result


def polls_before(kernel: ptx.Kernel) -> list[int]:
    """For each instruction, how many before it may, in a loop, ask memory for news from others."""
    loops = [
        (kernel.labels[i.operands[0].name], pc)
        for pc, i in enumerate(kernel.instructions)
        if i.opcode[0] == "bra" and isinstance(i.operands[0], ptx.Symbol)
    ]
    counts = [0]
    for pc, instruction in enumerate(kernel.instructions):
        asks = _asks(instruction.opcode) and any(first <= pc <= last for first, last in loops)
        counts.append(counts[-1] + asks)
    return counts


def _asks(opcode: tuple[str, ...]) -> bool:
    root, parts = opcode[0], opcode[1:]
    if root == "ld":
        return any(p in ("volatile", "acquire", "relaxed") for p in parts)
    if root == "atom":
        return any(p in ("cas", "exch") for p in parts)
    return root == "nanosleep"


def parameter_words(kernel: ptx.Kernel, width: int) -> set[tuple[str, int]]:
    """The parts of parameters, (name, byte offset), that are loaded as words of `width` bytes."""
    declared = {p.name for p in kernel.params}
    found: set[tuple[str, int]] = set()
    for instruction in kernel.instructions:
        if instruction.opcode[0] != "ld" or ptx.TYPE_BYTES.get(instruction.opcode[-1]) != width:
            continue
        address = instruction.operands[1]
        if isinstance(address, ptx.Address) and isinstance(address.base, ptx.Symbol):
            if address.base.name in declared:
                at = address.offset + address.base.offset
                count = len(_registers(instruction.operands[0]))
                found |= {(address.base.name, at + k * width) for k in range(count)}
    return found


def tensor_maps(kernel: ptx.Kernel) -> set[tuple[str, int]]:
    """Where in parameters, (name, byte offset), tensor maps may begin: in those whose address is
    taken."""
    sizes = {p.name: p.size_bytes for p in kernel.params}
    symbols = {o.name for i in kernel.instructions for o in i.operands if isinstance(o, ptx.Symbol)}
    return {(n, at) for n in symbols & set(sizes) for at in range(0, sizes[n] - 63, 64)}


Origins = set[tuple[str, int]] | None


def address_origins(kernel: ptx.Kernel) -> tuple[Origins, Origins]:
    """Where the addresses may come from that a kernel writes to, and those that it reads from.

    Each as parameters (name, byte offset) and module variables (name, 0), among them some that are
    only part of the arithmetic (strides); None where an address comes out of memory. Atomics write
    and read.
    """
    origins: dict[str, set[tuple[str, int]]] = {}
    unknown: set[str] = set()
    maps = tensor_maps(kernel)
    changed = True
    while changed:
        changed = False
        for instruction in kernel.instructions:
            reads, writes = reads_and_writes(instruction)
            found: set[tuple[str, int]] = set()
            lost = False
            if instruction.opcode[0] == "ld" and "param" in instruction.opcode:
                address = instruction.operands[1]
                if isinstance(address, ptx.Address) and isinstance(address.base, ptx.Symbol):
                    at = address.offset + address.base.offset
                    step = ptx.TYPE_BYTES.get(instruction.opcode[-1], 8)
                    found = {(address.base.name, at + k * step) for k in range(len(writes))}
                else:
                    lost = instruction.opcode[-1] in ("b64", "u64", "s64")
            elif instruction.opcode[0] in ("ld", "ldu", "atom", "shfl"):
                lost = instruction.opcode[-1] in ("b64", "u64", "s64")
            else:
                symbols = [o.name for o in instruction.operands if isinstance(o, ptx.Symbol)]
                found = {(name, 0) for name in symbols} | {m for m in maps if m[0] in symbols}
                for register in reads:
                    found |= origins.get(register, set())
                    lost = lost or register in unknown
            for register in writes:
                have = origins.setdefault(register, set())
                if not found <= have:
                    have |= found
                    changed = True
                if lost and register not in unknown:
                    unknown.add(register)
                    changed = True
    written, read = (
        _of_addresses(kernel, origins, unknown, roots) for roots in (_WRITING, _READING)
    )
    return written, read


# Opcode -> which operand is the address in memory that is written or read.
_WRITING = {"st": 0, "atom": 1, "red": 0, "tensormap": 0}
_READING = {"ld": 1, "ldu": 1, "atom": 1, "red": 0, "tensormap": 0}


def _of_addresses(
    kernel: ptx.Kernel,
    origins: dict[str, set[tuple[str, int]]],
    unknown: set[str],
    roots: dict[str, int],
) -> Origins:
    result: set[tuple[str, int]] = set()
    maps = tensor_maps(kernel)
    for instruction in kernel.instructions:
        root, place = instruction.opcode[0], roots.get(instruction.opcode[0])
        if root == "cp":
            place = _copied(instruction, writes=roots is _WRITING)
        if place is None or not {"param", "local"}.isdisjoint(instruction.opcode):
            continue
        operand = instruction.operands[place]
        by_map = isinstance(operand, ptx.Vector)  # [map, {coordinates}]
        if isinstance(operand, ptx.Vector):
            operand = operand.items[0]
        base = operand.base if isinstance(operand, ptx.Address) else operand
        if isinstance(base, ptx.Symbol):
            result.add((base.name, 0))
        elif not isinstance(base, ptx.Register) or base.name in unknown:
            return None
        else:
            found = origins.get(base.name, set())
            if by_map and not found <= maps:  # it lies in memory
                return None
            result |= found
    return result


def _copied(instruction: ptx.Instruction, *, writes: bool) -> int | None:
    """Which operand of a `cp` is the address in global memory that it writes, or reads."""
    opcode = instruction.opcode
    ends = [part for part in opcode if part == "global" or part.startswith("shared")]
    if len(ends) < 2:  # commit_group, wait_group, prefetch
        return None
    stores = ends[0] == "global"
    if "reduce" in opcode:
        return 0
    return (0 if stores else 1) if writes == stores else None


def narrowest_access(kernel: ptx.Kernel) -> int:
    """Bytes of the narrowest access to shared or global memory, at most 8; 4 if there is none."""
    return min((w for i in kernel.instructions if (w := _access_bytes(i))), default=4)


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
