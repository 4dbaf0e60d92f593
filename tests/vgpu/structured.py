"""Generate random kernels with branches, loops and jumps, and interpret them for comparison.

The interpreter runs one thread at a time, without masks, groups or liveness. Threads wait for each
other only at barriers and at warp-wide instructions, which name the lanes to wait for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from forgekit.vgpu import ptx

REGISTERS = 6  # number of data registers, from %r10; all are stored at the end
INPUTS = 4
MASK = 0xFFFFFFFF
IN_BASE, OUT_BASE = 1 << 20, 1 << 30
SHARED = 1024  # start of a block's shared memory


class Generator:
    """Write one random kernel body for `ptx_launch.kernel` with arrays (inputs, outputs)."""

    def __init__(self, seed: int, *, exits: bool) -> None:
        self.random = random.Random(seed)
        self.exits = exits  # threads may exit early, so lanes must not read from each other
        self.lines: list[str] = []
        self.labels = 0
        self.counters = 20  # next loop counter or bound, from %r20; each is used once
        self.predicates = 1
        self.repeating = False

    def body(self) -> str:
        emit = self.lines.append
        emit("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.s32 %r3, %r1, %r2, %r0;")
        emit(f"mul.wide.u32 %rd2, %r3, {4 * INPUTS}; add.s64 %rd3, %rd0, %rd2;")
        emit(f"mul.wide.u32 %rd4, %r3, {4 * (REGISTERS + 2)}; add.s64 %rd5, %rd1, %rd4;")
        for k in range(REGISTERS):
            source = f"[%rd3+{4 * k}]" if k < INPUTS else None
            emit(f"ld.global.b32 {self.data(k)}, {source};" if source
                 else f"add.s32 {self.data(k)}, %r3, {k};")  # fmt: skip
        self.block(0, [])
        for k in range(REGISTERS):
            emit(f"st.global.b32 [%rd5+{4 * k}], {self.data(k)};")
        emit("ret;")
        return "\n".join(self.lines)

    # -- pieces ---------------------------------------------------------------------------
    @staticmethod
    def data(k: int) -> str:
        return f"%r{10 + k}"

    def any(self) -> str:
        return self.data(self.random.randrange(REGISTERS))

    def operand(self) -> str:
        return self.any() if self.random.random() < 0.8 else str(self.random.randrange(-9, 99))

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def predicate(self) -> str:
        """Emit a comparison; return the predicate register."""
        p = f"%p{self.predicates % 30 + 1}"
        self.predicates += 1
        compare = self.random.choice(["lt.s32", "ge.s32", "eq.s32", "ne.s32", "lt.u32", "gt.u32"])
        right = self.operand()
        if self.random.random() < 0.5:  # often a bit of a value, which splits threads evenly
            bit = 1 << self.random.randrange(4)
            self.lines.append(f"and.b32 %r9, {self.any()}, {bit};")
            self.lines.append(f"setp.ne.s32 {p}, %r9, 0;")
        else:
            self.lines.append(f"setp.{compare} {p}, {self.any()}, {right};")
        return p

    def block(self, depth: int, ends: list[str]) -> None:
        """Emit statements; `ends`: labels of enclosing blocks to which a jump may lead."""
        for _ in range(self.random.randrange(*((1, 5) if depth else (4, 10)))):
            kinds: list[tuple[int, Callable[[int, list[str]], None]]] = [
                (6, self.assign), (2, self.guarded), (1, self.store),
            ]  # fmt: skip
            if depth < 4:
                kinds += [(3, self.branch), (2, self.loop)]
            if ends:
                kinds.append((2, self.leave))
            if self.exits:
                kinds.append((1, self.exit))
            elif depth == 0:
                kinds += [(2, self.shuffle), (2, self.masked), (2, self.exchange)]
            if depth == 0:
                kinds += [(1, self.barrier), (2, self.repeat)]
            weights = [w for w, _ in kinds]
            self.random.choices([k for _, k in kinds], weights)[0](depth, ends)

    def assign(self, depth: int, ends: list[str]) -> None:
        self.lines.append(self.operation(self.any()))

    def operation(self, target: str) -> str:
        op = self.random.choice(
            ["add.s32", "sub.s32", "mul.lo.s32", "xor.b32", "and.b32", "mov.b32"]
        )
        operands = self.operand() if op == "mov.b32" else f"{self.any()}, {self.operand()}"
        return f"{op} {target}, {operands};"

    def guarded(self, depth: int, ends: list[str]) -> None:
        p = self.predicate()
        sign = self.random.choice(["", "!"])
        for _ in range(self.random.randrange(1, 3)):
            self.lines.append(f"@{sign}{p} {self.operation(self.any())}")

    def store(self, depth: int, ends: list[str]) -> None:
        at = f"[%rd5+{4 * (REGISTERS + self.random.randrange(2))}]"
        guard = f"@{self.predicate()} " if self.random.random() < 0.5 else ""
        self.lines.append(f"{guard}st.global.b32 {at}, {self.any()};")
        if self.random.random() < 0.5:
            self.lines.append(f"ld.global.b32 {self.any()}, [%rd3+{4 * self.random.randrange(4)}];")

    def branch(self, depth: int, ends: list[str]) -> None:
        p, otherwise, end = self.predicate(), self.label(), self.label()
        self.lines.append(f"@!{p} bra {otherwise};")
        self.block(depth + 1, [*ends, end])
        if self.random.random() < 0.6:
            self.lines += [f"bra.uni {end};", f"{otherwise}:"]
            self.block(depth + 1, [*ends, end])
        else:
            self.lines.append(f"{otherwise}:")
        self.lines.append(f"{end}:")

    def loop(self, depth: int, ends: list[str]) -> None:
        if self.counters > 70:
            return
        i, n = f"%r{self.counters}", f"%r{self.counters + 1}"
        self.counters += 2
        top, end, p = self.label(), self.label(), f"%p{self.predicates % 30 + 1}"
        self.predicates += 1
        self.lines += [
            f"and.b32 {n}, {self.any()}, {self.random.choice([1, 3, 7])};",
            f"mov.b32 {i}, 0;",
        ]
        self.lines.append(f"{top}:")
        self.lines.append(f"setp.ge.s32 {p}, {i}, {n}; @{p} bra {end};")
        self.block(depth + 1, [*ends, end])
        self.lines += [f"add.s32 {i}, {i}, 1;", f"bra {top};", f"{end}:"]

    def repeat(self, depth: int, ends: list[str]) -> None:
        """Emit a loop with the same trip count for all threads, so it may contain barriers."""
        if self.repeating or self.counters > 70:
            return
        i, top, end = f"%r{self.counters}", self.label(), self.label()
        self.counters += 1
        self.repeating = True
        self.lines += [f"mov.b32 {i}, 0;", f"{top}:"]
        self.block(0, [])
        self.lines += [
            f"add.s32 {i}, {i}, 1; setp.lt.s32 %p38, {i}, 3; @%p38 bra {top};",
            f"{end}:",
        ]
        self.repeating = False

    def leave(self, depth: int, ends: list[str]) -> None:
        self.lines.append(f"@{self.predicate()} bra {self.random.choice(ends)};")

    def exit(self, depth: int, ends: list[str]) -> None:
        self.lines.append(f"and.b32 %r9, {self.any()}, 7;")
        self.lines.append("setp.eq.s32 %p39, %r9, 5; @%p39 ret;")

    def barrier(self, depth: int, ends: list[str]) -> None:
        self.lines.append(self.random.choice(["bar.sync 0;", "bar.sync 1;"]))

    def exchange(self, depth: int, ends: list[str]) -> None:
        """Emit an exchange through shared memory: each thread reads its partner's value."""
        partner = self.random.choice([1, 3, 8, 31])
        self.lines.append(f"shl.b32 %r9, %r0, 2; st.shared.b32 [%r9+{SHARED}], {self.any()};")
        self.lines.append(f"xor.b32 %r9, %r9, {4 * partner}; bar.sync 0;")
        self.lines.append(f"ld.shared.b32 {self.any()}, [%r9+{SHARED}]; bar.sync 0;")

    def shuffle(self, depth: int, ends: list[str]) -> None:
        lanes = self.random.choice([1, 2, 8, 16])
        self.lines.append(f"shfl.sync.bfly.b32 {self.any()}, {self.any()}, {lanes}, 31, -1;")

    def masked(self, depth: int, ends: list[str]) -> None:
        """Emit a branch in which the lanes that take it perform a reduction."""
        p, end = self.predicate(), self.label()
        self.lines.append(f"vote.sync.ballot.b32 %r8, {p}, -1;")
        self.lines.append(f"@!{p} bra {end};")
        self.block(3, [])
        self.lines.append(f"redux.sync.add.s32 {self.any()}, {self.any()}, %r8;")
        if self.random.random() < 0.5:
            self.lines.append("bar.warp.sync %r8;")
        self.lines.append(f"{end}:")


# -- the interpreter -------------------------------------------------------------------------------
def signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "xor": lambda a, b: a ^ b, "and": lambda a, b: a & b, "shl": lambda a, b: a << b,
}  # fmt: skip
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b, "gt": lambda a, b: a > b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip


class Thread:
    """A thread of the interpreter."""

    def __init__(self, kernel: ptx.Kernel, tid: int, ctaid: int, ntid: int, memory: dict,
                 shared: dict) -> None:  # fmt: skip
        self.kernel, self.memory, self.shared = kernel, memory, shared
        self.special = {"%tid.x": tid, "%ctaid.x": ctaid, "%ntid.x": ntid}
        self.values: dict[str, int] = {}
        self.steps = 0

    def get(self, operand: Any) -> int:
        if isinstance(operand, ptx.Immediate):
            return operand.bits & MASK
        if isinstance(operand, ptx.Negated):
            return 1 - self.values.get(operand.register.name, 0)
        return self.special.get(operand.name, self.values.get(operand.name, 0))

    def address(self, operand: ptx.Address) -> int:
        return self.get(operand.base) + operand.offset

    def run(self) -> Iterator[tuple[str, int, int]]:
        """Yield (instruction, member mask, value) to wait for other threads; receive the result.
        The member mask of a block's barrier is 0."""
        pc = 0
        while pc < len(self.kernel.instructions):
            i = self.kernel.instructions[pc]
            pc += 1
            self.steps += 1
            assert self.steps < 100_000, "the interpreter loops indefinitely"
            if i.guard is not None and not self.get(i.guard):
                continue
            root, args = i.opcode[0], i.operands
            if root == "bra":
                pc = self.kernel.labels[args[0].name]  # type: ignore[union-attr]
            elif root == "ret":
                return
            elif root in ("shfl", "redux", "vote") or "warp" in i.opcode:
                named = self.get(args[-1])
                value = self.get(args[1]) if len(args) > 1 else 0
                lane = self.get(args[2]) if root == "shfl" else 0
                result = yield f"{i.name} {lane}", named, value
                if len(args) > 1:
                    self.values[args[0].name] = result  # type: ignore[union-attr]
            elif root == "bar":
                yield f"bar {self.get(args[0])}", 0, 0
            else:
                self.plain(root, i.opcode, args)

    def plain(self, root: str, opcode: tuple[str, ...], args: tuple[Any, ...]) -> None:
        memory = self.shared if "shared" in opcode else self.memory
        if root == "st":
            memory[self.address(args[0])] = self.get(args[1])
            return
        if root == "ld":
            if opcode[1] == "param":
                result = {"p0": IN_BASE, "p1": OUT_BASE}[args[1].base.name]
            else:
                result = memory[self.address(args[1])]
        elif root == "setp":
            a, b = self.get(args[1]), self.get(args[2])
            if opcode[-1] == "s32":
                a, b = signed(a), signed(b)
            result = int(COMPARE[opcode[1]](a, b))
        elif root == "mov":
            result = self.get(args[1])
        elif root == "mad":
            result = (self.get(args[1]) * self.get(args[2]) + self.get(args[3])) & MASK
        elif "wide" in opcode or opcode[-1] == "s64":
            result = BINARY[root](self.get(args[1]), self.get(args[2]))
        else:
            result = BINARY[root](self.get(args[1]), self.get(args[2])) & MASK
        self.values[args[0].name] = result


def interpret(kernel: ptx.Kernel, grid: int, block: int, memory: dict[int, int]) -> list[int]:
    """Run every thread; return each thread's instruction count. memory: address -> 32-bit word."""
    steps: list[int] = []
    for ctaid in range(grid):
        shared: dict[int, int] = {}
        threads = [Thread(kernel, t, ctaid, block, memory, shared) for t in range(block)]
        _interpret_block(threads)
        steps += [t.steps for t in threads]
    return steps


def _interpret_block(threads: list[Thread]) -> None:
    runs = [t.run() for t in threads]
    waiting: dict[int, tuple[str, int, int]] = {}
    ready: dict[int, int | None] = dict.fromkeys(range(len(threads)))
    alive = set(ready)
    while alive:
        for thread, result in ready.items():
            try:
                waiting[thread] = runs[thread].send(result)  # type: ignore[attr-defined]
            except StopIteration:
                alive.discard(thread)
        ready = {}
        for thread, (what, named, _) in waiting.items():
            first = thread & ~31
            members = [
                t for t in alive if not named or (t & ~31 == first and named >> (t & 31) & 1)
            ]
            if all(waiting.get(t, ("", 0, 0))[:2] == (what, named) for t in members):
                ready[thread] = _together(what, thread, members, waiting)
        assert ready or not alive, "the interpreter's threads wait for each other"
        for thread in ready:
            del waiting[thread]


def _together(what: str, thread: int, members: list[int], waiting: dict) -> int:
    name, argument = what.split()
    if name.startswith("shfl"):
        partner = thread ^ int(argument)
        return waiting[partner if partner in waiting else thread][2]
    if name.startswith("vote"):
        return sum(1 << (t & 31) for t in members if waiting[t][2])
    return sum(waiting[t][2] for t in members) & MASK
