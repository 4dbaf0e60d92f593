"""A kernel made ready to run: registers numbered, variables placed, a step for each instruction.

A step is a function of the machine; it returns a true value when it changed the groups (a branch,
an exit, a wait), after which the scheduler chooses again. `Decoder` builds the steps from the
meanings that `forgekit.vgpu.opcodes` registers by opcode name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from forgekit.errors import PtxSyntaxError, UnsupportedPtxError
from forgekit.vgpu import opcodes, ptx
from forgekit.vgpu.memory import SHARED_RESERVED
from forgekit.vgpu.opcodes.special import SPECIAL_REGISTERS
from forgekit.vgpu.ptx import dataflow
from forgekit.vgpu.ptx.source_lines import attribute, describe_source

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.host.launching import LaunchRecord
    from forgekit.vgpu.machine import Machine

    Step = Callable[[Machine], object]
    Fetch = Callable[[Machine], Array]

# NumPy's type for the bits of each PTX type; bf16 and the packed types are handled as bits.
DTYPES: dict[str, np.dtype] = {
    name: np.dtype(kind)
    for name, kind in {
        "pred": "?", "b8": "u1", "u8": "u1", "s8": "i1", "b16": "u2", "u16": "u2", "s16": "i2",
        "f16": "f2", "bf16": "u2", "b32": "u4", "u32": "u4", "s32": "i4", "f32": "f4",
        "f16x2": "u4", "bf16x2": "u4", "b64": "u8", "u64": "u8", "s64": "i8", "f64": "f8",
        "f32x2": "u8",
    }.items()
}  # fmt: skip


class Program:
    """A kernel ready to run.

    Raises:
        UnsupportedPtxError: an opcode the virtual GPU does not know.
    """

    def __init__(self, kernel: ptx.Kernel, module: ptx.Module) -> None:
        self.kernel = kernel
        self.module = module
        self.target = module.target
        self.instructions = kernel.instructions
        self.registers = {name: i for i, name in enumerate(kernel.registers)}
        # No instruction that the decoder knows uses a register of another type.
        self.register_dtypes = [DTYPES.get(t, DTYPES["b64"]) for t in kernel.registers.values()]
        self.static_shared: dict[str, int] = {}
        self.dynamic_shared: dict[str, int] = {}
        self.local_offsets: dict[str, int] = {}
        self.param_offsets: dict[str, int] = {}
        self._place_variables()
        decoder = Decoder(self)  # refuses what is malformed before anything else looks at it
        steps = [decoder.step(instruction) for instruction in kernel.instructions]
        self.live = dataflow.liveness(kernel, self.registers)
        self._polls = dataflow.polls_before(kernel)
        dying = dataflow.dying(kernel, self.registers, self.live)
        self.steps: list[Step] = [
            self._forgetting(step, last) for step, last in zip(steps, dying, strict=True)
        ]

    def _place_variables(self) -> None:
        offset = SHARED_RESERVED
        variables = [*self.module.variables.values(), *self.kernel.variables.values()]
        for v in variables:
            if v.space == "shared" and not v.external:
                offset = -(-offset // v.align) * v.align
                self.static_shared[v.name] = offset
                offset += v.size_bytes
        for v in variables:
            if v.space == "shared" and v.external:
                offset = -(-offset // max(v.align, 16)) * max(v.align, 16)
                self.dynamic_shared[v.name] = offset
        self.shared_end = offset
        local = 0
        for v in self.kernel.variables.values():
            if v.space == "local":
                local = -(-local // v.align) * v.align
                self.local_offsets[v.name] = local
                local += v.size_bytes
        self.local_bytes = local
        offset = 0
        for p in self.kernel.params:
            offset = -(-offset // p.align) * p.align
            self.param_offsets[p.name] = offset
            offset += p.size_bytes
        self.param_bytes = offset

    def _forgetting(self, step: Step, dying: list[int]) -> Step:
        """The step, and then nothing left of registers that nobody reads any more.

        Their memory serves the next instruction while it is still in the cache.
        """
        if not dying:
            return step
        empty = [(r, np.zeros((1, 1), self.register_dtypes[r])) for r in dying]

        def run(m: Machine) -> object:
            if step(m):
                return True
            protected, regs = m.protected, m.regs
            for register, nothing in empty:
                if not protected >> register & 1:
                    regs[register] = nothing
            return False

        return run

    def shared_bytes(self, record: LaunchRecord) -> int:
        """Bytes of one block's shared memory: the kernel's own plus the launch's dynamic part."""
        return self.shared_end - SHARED_RESERVED + record.shared_bytes

    def polls(self, first: int, last: int) -> bool:
        """Whether an instruction from `first` to `last` may ask in a loop for news from others."""
        return self._polls[min(last, len(self._polls) - 2) + 1] > self._polls[first]

    @functools.cached_property
    def address_origins(self) -> tuple[dataflow.Origins, dataflow.Origins]:
        """What the addresses of its stores and loads come from; `dataflow.address_origins`."""
        return dataflow.address_origins(self.kernel)

    @functools.cached_property
    def pointer_slots(self) -> list[int]:
        """Offsets in the parameters of the words that may hold a pointer: those of 64 bits. A size
        of 32 bits and what stands in the padding after it can look like one.
        """
        words = dataflow.parameter_words(self.kernel, 8)
        return sorted(self.param_offsets[name] + at for name, at in words)

    @functools.cached_property
    def is_asynchronous(self) -> bool:
        """Whether it uses mbarriers, bulk copies or asynchronous stores."""
        names = {i.opcode[:3] for i in self.instructions}
        return any(
            name[0] == "mbarrier" or name == ("cp", "async", "bulk") or name[:2] == ("st", "async")
            for name in names
        )

    @functools.cached_property
    def registers_read(self) -> frozenset[str]:
        """Names of the registers that some instruction reads."""
        return frozenset(r for i in self.instructions for r in dataflow.reads_and_writes(i)[0])

    @functools.cached_property
    def unit_bytes(self) -> int:
        """Its narrowest access to shared or global memory, at most 8 bytes wide."""
        return dataflow.narrowest_access(self.kernel)

    def where(self, pc: int) -> str:
        """The Python line of an instruction, or its PTX line where there is no line info."""
        pc = min(pc, len(self.instructions) - 1)
        instruction = self.instructions[pc]
        if instruction.source is None:
            return f"PTX line {instruction.line}: {instruction.text}"
        return describe_source(instruction.source)


class Decoder:
    """Turns instructions into steps; opcode modules use it to reach operands."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.instruction = program.instructions[0] if program.instructions else None

    def step(self, instruction: ptx.Instruction) -> Step:
        self.instruction = instruction
        meaning = opcodes.lookup(instruction)
        if meaning is None:
            raise self.unsupported("opcode")
        try:
            result = meaning(instruction, self)
            return self._compute_step(result) if isinstance(result, opcodes.Compute) else result
        except opcodes.UnknownVariantError as error:
            raise self.unsupported(f"variant ({error})") from None

    def unsupported(self, what: str) -> UnsupportedPtxError:
        i = self.instruction
        assert i is not None
        place = describe_source(i.source) if i.source else "no source line"
        return UnsupportedPtxError(
            f"The virtual GPU does not know this {what} yet: {i.name}\n"
            f"  PTX line {i.line}: {i.text}\n"
            f"  from {place}\n"
            f"To add it, register it in forgekit/vgpu/opcodes/ (see CONTRIBUTING.md, "
            f"'Add an opcode'), or run this kernel on a GPU."
        )

    # -- operands -------------------------------------------------------------------------
    def register_type(self, name: str) -> str:
        kind = self.program.kernel.registers.get(name)
        if kind is None:
            raise self.malformed(f"undeclared register {name}")
        if kind not in DTYPES:
            raise opcodes.UnknownVariantError(f"{name}, a register of type .{kind}")
        return kind

    def malformed(self, what: str) -> PtxSyntaxError:
        i = self.instruction
        assert i is not None
        return PtxSyntaxError(f"PTX line {i.line}: {what}\n    {i.text}")

    @staticmethod
    def dtype(ptype: str) -> np.dtype:
        """NumPy's type for a PTX type that an operand can have."""
        if ptype not in DTYPES:
            raise opcodes.UnknownVariantError(f".{ptype} where a type is meant")
        return DTYPES[ptype]

    def fetch(self, operand: object, ptype: str) -> Fetch:
        """A function of the machine that gives the operand as an array of NumPy's type."""
        dtype = self.dtype(ptype)
        match operand:
            case ptx.Register(name) if name in SPECIAL_REGISTERS:
                special = SPECIAL_REGISTERS[name]
                if special.dtype.itemsize == dtype.itemsize:
                    return lambda m: special.value(m).view(dtype)
                return lambda m: special.value(m).astype(dtype)
            case ptx.Register(name):
                return self._fetch_register(name, dtype)
            case ptx.Negated(ptx.Register(name)) if ptype == "pred":
                fetch = self._fetch_register(name, dtype)
                return lambda m: ~fetch(m)
            case ptx.Immediate():
                value = _immediate(operand, ptype)
                return lambda m: value
            case ptx.Symbol(name, offset):
                return self._fetch_symbol(name, offset, dtype)
        raise opcodes.UnknownVariantError(f"{_spelled(operand)} as an operand")

    def _fetch_register(self, name: str, dtype: np.dtype) -> Fetch:
        have = DTYPES[self.register_type(name)]
        self._same_kind(name, have, dtype)
        i = self.program.registers[name]
        if have.itemsize == dtype.itemsize:

            def get(m: Machine) -> Array:
                a = m.regs[i]
                return a if a.dtype is dtype else a.view(dtype)

            return get
        if have.itemsize < dtype.itemsize:
            raise opcodes.UnknownVariantError(f"register {name} is narrower than the operand")
        wide, narrow = np.dtype(f"u{have.itemsize}"), np.dtype(f"u{dtype.itemsize}")
        return lambda m: m.regs[i].view(wide).astype(narrow).view(dtype)

    @staticmethod
    def _same_kind(name: str, have: np.dtype, want: np.dtype) -> None:
        """Predicates are no numbers."""
        if (have.kind == "b") != (want.kind == "b"):
            raise opcodes.UnknownVariantError(
                f"{name}, {'a' if have.kind == 'b' else 'no'} predicate"
            )

    def _fetch_symbol(self, name: str, offset: int, dtype: np.dtype) -> Fetch:
        address = self.symbol_address(name)
        if address is not None:
            value = _wrapped(address + offset, dtype)
            return lambda m: value
        if name in self.program.module.variables:  # placed at launch
            return lambda m: _wrapped(m.record.symbols[name] + offset, dtype)
        if name in self.program.param_offsets:
            copies = (i for i in self.program.instructions if "tensor" in i.opcode)
            self.instruction = next(copies, self.instruction)
            raise opcodes.UnknownVariantError(
                "a kernel parameter's address, as of a tensor map (TMA): copy without a tensor "
                "map, by cp.async, bulk copies or plain loads"
            )
        raise self.malformed(f"unknown symbol {name}")

    def symbol_address(self, name: str) -> int | None:
        p = self.program
        for table in (p.static_shared, p.dynamic_shared, p.local_offsets):
            if name in table:
                return table[name]
        return None

    def guard(self) -> Fetch | None:
        """The instruction's guard predicate as a function of the machine, if it has one."""
        assert self.instruction is not None
        guard = self.instruction.guard
        return None if guard is None else self.fetch(guard, "pred")

    def destination(self, operand: object, result: str) -> tuple[int | None, np.dtype | None]:
        """(register index, dtype to widen to or None); index None for the sink `_`."""
        if operand is None or (isinstance(operand, ptx.Register) and operand.name == "_"):
            return None, None
        if not isinstance(operand, ptx.Register):
            raise opcodes.UnknownVariantError(f"{_spelled(operand)} as the result")
        have, want = DTYPES[self.register_type(operand.name)], self.dtype(result)
        self._same_kind(operand.name, have, want)
        if want.itemsize > have.itemsize:
            raise opcodes.UnknownVariantError(
                f"register {operand.name} is narrower than the result"
            )
        widen = None
        if want.itemsize < have.itemsize:
            widen = np.dtype(f"{'i' if want.kind == 'i' else 'u'}{have.itemsize}")
        return self.program.registers[operand.name], widen

    def writer(self, operand: object, result: str) -> Callable[[Machine, Array], None]:
        """A function that writes a value of PTX type `result`, respecting the guard."""
        index, widen = self.destination(operand, result)
        guard = self.guard()
        if index is None:
            return lambda m, value: None

        def write(m: Machine, value: Array) -> None:
            if widen is not None:
                value = value.astype(widen)
            m.write_where(index, value, guard(m) if guard else None)

        return write

    # -- pure instructions ----------------------------------------------------------------
    def _compute_step(self, compute: opcodes.Compute) -> Step:
        assert self.instruction is not None
        operands = self.instruction.operands
        sources = operands[1:] if compute.operands is None else compute.operands
        if not operands or len(sources) != len(compute.sources):
            raise opcodes.UnknownVariantError(f"{len(operands)} operands")
        fetches = [self.fetch(o, t) for o, t in zip(sources, compute.sources, strict=True)]
        fn = compute.fn
        if isinstance(compute.result, tuple):
            targets = compute.targets
            assert targets is not None
            places = [self.destination(o, t) for o, t in zip(targets, compute.result, strict=True)]
            guard = self.guard()

            def several(m: Machine) -> None:
                values = fn(*[f(m) for f in fetches])
                held = guard(m) if guard else None  # before one of the results overwrites it
                for (to, wider), value in zip(places, values, strict=True):
                    if to is not None:
                        m.write_where(to, value if wider is None else value.astype(wider), held)

            return several
        index, widen = self.destination(operands[0], compute.result)
        if self.instruction.guard is not None or widen is not None or index is None:
            write = self.writer(operands[0], compute.result)
            return lambda m: write(m, fn(*[f(m) for f in fetches]))
        return _plain_step(fn, fetches, index)


def _plain_step(fn: Callable[..., Array], fetches: list[Fetch], d: int) -> Step:
    """The common case, unrolled by arity: no guard, one result of the register's width."""
    if len(fetches) == 2:
        f, g = fetches

        def two(m: Machine) -> None:
            value = fn(f(m), g(m))
            if m.protected >> d & 1:
                m.merge(d, value, m.mask)
            else:
                m.regs[d] = value

        return two
    if len(fetches) == 1:
        (only,) = fetches

        def one(m: Machine) -> None:
            value = fn(only(m))
            if m.protected >> d & 1:
                m.merge(d, value, m.mask)
            else:
                m.regs[d] = value

        return one

    def many(m: Machine) -> None:
        value = fn(*[f(m) for f in fetches])
        if m.protected >> d & 1:
            m.merge(d, value, m.mask)
        else:
            m.regs[d] = value

    return many


def _spelled(operand: object) -> str:
    """What kind of operand it is; the message quotes the instruction itself."""
    return {
        "Immediate": "a number", "Symbol": "a name", "Address": "an address in brackets",
        "Vector": "a list in braces", "Pair": "a pair of registers",
        "Negated": "a negated predicate",
    }.get(type(operand).__name__, "nothing")  # fmt: skip


def _wrapped(value: int, dtype: np.dtype) -> Array:
    """A constant as PTX takes it: cut off at the type's width."""
    return np.array([[value % 256**dtype.itemsize]], f"u{dtype.itemsize}").view(dtype)


def _immediate(operand: ptx.Immediate, ptype: str) -> Array:
    dtype = DTYPES[ptype]
    if ptype == "pred":
        return np.array([[bool(operand.bits)]])
    bits = operand.bits & (256**dtype.itemsize - 1)
    if operand.width == 64 and dtype.itemsize == 4:  # a double literal for a float operand
        return np.array([[operand.bits]], "u8").view("f8").astype("f4").view(dtype)
    if operand.width == 32 and ptype == "f64":
        return np.array([[operand.bits]], "u4").view("f4").astype("f8")
    if operand.width is None and ptype in ("f32", "f64"):
        return np.array([[operand.bits]], dtype)
    return np.array([[bits]], f"u{dtype.itemsize}").view(dtype)


@functools.lru_cache(maxsize=256)
def load(text: str) -> dict[str, Program]:
    """Parse PTX and prepare each of its kernels, by name. Cached by the text."""
    module = ptx.parse(text)
    for kernel in module.kernels.values():
        kernel.instructions = attribute(kernel.instructions)
    return {name: Program(kernel, module) for name, kernel in module.kernels.items()}
