"""Turn instructions into steps, and give opcode functions access to operands.

A step is a function of the machine. It returns a true value if it changed the groups of threads,
for example at a branch, an exit or a wait; the scheduler then chooses the next group.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import DTYPES, Code
from forgekit.vgpu.errors import PtxSyntaxError, UnsupportedPtxError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, lookup
from forgekit.vgpu.opcodes.special import SPECIAL_REGISTERS
from forgekit.vgpu.ptx import dataflow
from forgekit.vgpu.ptx.source_lines import describe_source

Step = Callable[[Machine], object]
Fetch = Callable[[Batch], Array]


class Decoder:
    """A decoder of one program's instructions; opcode modules use it to read and write operands."""

    instruction: ptx.Instruction  # the instruction that is being decoded

    def __init__(self, program: Code) -> None:
        self.program = program
        self._read: set[str] = set()  # registers that the current instruction reads
        self._written: set[str] = set()

    def step(self, instruction: ptx.Instruction) -> Step:
        self.instruction = instruction
        self._read, self._written = set(), set()
        meaning = lookup(instruction)
        if meaning is None:
            raise self.unsupported("opcode")
        try:
            result = meaning(instruction, self)
            step = self._compute_step(result) if isinstance(result, Compute) else result
            # The liveness analysis treats the first operand as the result, unless `_NO_RESULT`
            # contains the opcode.
            reads, writes = dataflow.reads_and_writes(instruction)
            if not (self._read <= set(reads) and self._written <= set(writes)):
                root = instruction.opcode[0]
                raise UnknownVariantError(
                    f"does {root} have a result? See _NO_RESULT in ptx/dataflow.py"
                )
            return step
        except UnknownVariantError as error:
            raise self.unsupported(f"variant ({error})") from None

    def unsupported(self, what: str) -> UnsupportedPtxError:
        i = self.instruction
        place = describe_source(i.source) if i.source else "an unknown source line"
        return UnsupportedPtxError(
            f"The virtual GPU does not support this {what} yet: {i.name}\n"
            f"  PTX line {i.line}: {i.text}\n"
            f"  from {place}\n"
            f"Rewrite this line of the kernel, or run the kernel on a GPU."
        )

    # -- operands -------------------------------------------------------------------------
    def register_type(self, name: str) -> str:
        kind = self.program.kernel.registers.get(name)
        if kind is None:
            raise self.malformed(f"undeclared register {name}")
        if kind not in DTYPES:
            raise UnknownVariantError(f"{name}, a register of type .{kind}")
        return kind

    def malformed(self, what: str) -> PtxSyntaxError:
        i = self.instruction
        return PtxSyntaxError(f"PTX line {i.line}: {what}\n    {i.text}")

    @staticmethod
    def dtype(ptype: str) -> np.dtype:
        """Return NumPy's type for a PTX type."""
        if ptype not in DTYPES:
            raise UnknownVariantError(f".{ptype} instead of a type")
        return DTYPES[ptype]

    def fetch(self, operand: object, ptype: str) -> Fetch:
        """Return a function of the machine that reads the operand as an array of type `ptype`."""
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
            case ptx.Immediate() | ptx.Symbol() if dtype.itemsize > 8:
                raise UnknownVariantError(f"{_spelled(operand)} as a .{ptype} operand")
            case ptx.Immediate():
                value = _immediate(operand, ptype)
                return lambda m: value
            case ptx.Symbol(name, offset):
                return self._fetch_symbol(name, offset, dtype)
        raise UnknownVariantError(f"{_spelled(operand)} as an operand")

    def _fetch_register(self, name: str, dtype: np.dtype) -> Fetch:
        have = DTYPES[self.register_type(name)]
        self._same_kind(name, have, dtype)
        self._read.add(name)
        i = self.program.registers[name]
        if have.itemsize == dtype.itemsize:

            def get(m: Batch) -> Array:
                a = m.regs[i]
                return a if a.dtype is dtype else a.view(dtype)

            return get
        if have.itemsize < dtype.itemsize:
            raise UnknownVariantError(f"register {name} is narrower than the operand")
        if have.itemsize > 8:
            raise UnknownVariantError(f"{name}, a register of type .b128")
        wide, narrow = np.dtype(f"u{have.itemsize}"), np.dtype(f"u{dtype.itemsize}")
        return lambda m: m.regs[i].view(wide).astype(narrow).view(dtype)

    @staticmethod
    def _same_kind(name: str, have: np.dtype, want: np.dtype) -> None:
        """Refuse a predicate that is used as a number, and a number that is used as a predicate."""
        if (have.kind == "b") != (want.kind == "b"):
            raise UnknownVariantError(f"{name}, {'a' if have.kind == 'b' else 'not a'} predicate")

    def _fetch_symbol(self, name: str, offset: int, dtype: np.dtype) -> Fetch:
        p = self.program
        places = p.shared_offsets | p.local_offsets | p.param_offsets
        if name in places:
            value = _wrapped(places[name] + offset, dtype)
            return lambda m: value
        if name in p.module.variables:  # the address is known at launch
            return lambda m: _wrapped(m.record.symbols[name] + offset, dtype)
        raise self.malformed(f"unknown symbol {name}")

    def guard(self) -> Fetch | None:
        """Return a function that reads the guard predicate, or None if the instruction has none."""
        guard = self.instruction.guard
        return None if guard is None else self.fetch(guard, "pred")

    def guarded(self, act: Callable[[Machine, Array | None], object]) -> Step:
        """Return a step that calls `act(machine, mask)` with the mask of the threads whose guard is
        true, if there are any such threads."""
        guard = self.guard()
        if guard is None:
            return lambda m: act(m, m.mask)

        def step(m: Machine) -> object:
            mask = m.active(guard(m))
            assert mask is not None
            return act(m, mask) if mask.any() else False

        return step

    def destination(self, operand: object, result: str) -> tuple[int | None, np.dtype | None]:
        """Return the index of the result's register (None for the sink `_`), and the dtype to which
        the result is widened, or None if it is not widened."""
        if operand is None or (isinstance(operand, ptx.Register) and operand.name == "_"):
            return None, None
        if not isinstance(operand, ptx.Register):
            raise UnknownVariantError(f"{_spelled(operand)} as the result")
        have, want = DTYPES[self.register_type(operand.name)], self.dtype(result)
        self._same_kind(operand.name, have, want)
        if want.itemsize > have.itemsize:
            raise UnknownVariantError(f"register {operand.name} is narrower than the result")
        widen = None
        if want.itemsize < have.itemsize:
            if have.itemsize > 8:
                raise UnknownVariantError(f"{operand.name}, a register of type .b128")
            widen = np.dtype(f"{'i' if want.kind == 'i' else 'u'}{have.itemsize}")
        self._written.add(operand.name)
        return self.program.registers[operand.name], widen

    def writer(self, operand: object, result: str) -> Callable[[Machine, Array], None]:
        """Return a function that writes a value of PTX type `result` for the threads whose guard is
        true."""
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
    def _compute_step(self, compute: Compute) -> Step:
        operands = self.instruction.operands
        sources = operands[1:] if compute.operands is None else compute.operands
        if not operands or len(sources) != len(compute.sources):
            raise UnknownVariantError(f"{len(operands)} operands")
        fetches = [self.fetch(o, t) for o, t in zip(sources, compute.sources, strict=True)]
        fn = compute.fn
        if isinstance(compute.result, tuple):
            targets = compute.targets
            assert targets is not None
            places = [self.destination(o, t) for o, t in zip(targets, compute.result, strict=True)]
            guard = self.guard()

            def several(m: Machine) -> None:
                values = fn(*[f(m) for f in fetches])
                held = guard(m) if guard else None  # read before a result overwrites the guard
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
    """Return the step for the common case: no guard, and a single result of the register's width.
    One and two operands have separate functions for speed."""
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
    """Return a phrase that names the kind of operand, for an error message."""
    return {
        "Immediate": "a number", "Symbol": "a name", "Address": "an address in brackets",
        "Vector": "a list in braces", "Pair": "a pair of registers",
        "Negated": "a negated predicate",
    }.get(type(operand).__name__, "nothing")  # fmt: skip


def _wrapped(value: int, dtype: np.dtype) -> Array:
    """Truncate a constant to the type's width, as PTX does."""
    return np.array([[value % 256**dtype.itemsize]], f"u{dtype.itemsize}").view(dtype)


def _immediate(operand: ptx.Immediate, ptype: str) -> Array:
    dtype = DTYPES[ptype]
    if ptype == "pred":
        return np.array([[bool(operand.bits)]])
    bits = operand.bits & (256**dtype.itemsize - 1)
    if operand.width == 64 and dtype.itemsize == 4:  # a float64 literal for a float32 operand
        return np.array([[operand.bits]], "u8").view("f8").astype("f4").view(dtype)
    if operand.width == 32 and ptype == "f64":
        return np.array([[operand.bits]], "u4").view("f4").astype("f8")
    if operand.width is None and ptype in ("f32", "f64"):
        return np.array([[operand.bits]], dtype)
    return np.array([[bits]], f"u{dtype.itemsize}").view(dtype)
