"""Implement loads, stores, prefetches, fences, and queries for the state space or block of an
address."""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.vgpu.access import addressing, clusters
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, counted, expect, opcode
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch, Step
from forgekit.vgpu.ptx import TYPE_BYTES, Address, Instruction, Operand, Register, Symbol, Vector

SPACES = ("global", "shared", "local", "param", "const")


def space_of(ins: Instruction) -> str:
    """Return the state space of an access: `cluster` for `.shared::cluster`, or `generic` if the
    opcode contains no state space."""
    for part in ins.opcode[1:]:
        name, _, rest = part.partition(":")
        if name in SPACES:
            if rest.strip(":") == "cluster":
                return "cluster"
            return "global" if name == "const" else name
    return "generic"


def address_of(operand: Operand, space: str, d: Decoder) -> Fetch:
    """Return a function that reads the address operand as an unsigned array: 32 bits wide for a
    32-bit register, 64 bits wide otherwise."""
    if not isinstance(operand, Address):
        raise UnknownVariantError("an operand that is not an address")
    base, offset = operand.base, operand.offset
    if base is None:
        value = np.array([[offset % 2**64]], np.uint64)
        return lambda m: value
    if isinstance(base, Symbol):
        return d.fetch(Symbol(base.name, base.offset + offset), "b64")
    assert isinstance(base, Register)
    kind = "b64" if d.register_type(base.name).endswith("64") else "b32"
    fetch = d.fetch(base, kind)
    if kind == "b32" and space not in ("shared", "local", "cluster"):
        plain = fetch
        fetch = lambda m: plain(m).astype(np.uint64)  # noqa: E731
        kind = "b64"
    if not offset:
        return fetch
    step = (np.uint64 if kind == "b64" else np.uint32)(offset % 2 ** (64 if kind == "b64" else 32))
    return lambda m: fetch(m) + step


def _shape(ins: Instruction) -> tuple[str, int]:
    """Return the type and the number of elements that each thread accesses."""
    kind = ins.opcode[-1]
    if kind not in TYPE_BYTES or kind in ("b128", "pred"):
        raise UnknownVariantError(f"type .{kind}")
    count = next((int(p[1:]) for p in ins.opcode if p in ("v2", "v4", "v8")), 1)
    return kind, count


def _items(operand: Operand, count: int) -> tuple[Operand, ...]:
    if count == 1:
        return (operand,)
    if not isinstance(operand, Vector) or len(operand.items) != count:
        raise UnknownVariantError(f"an operand that is not a vector of {count}")
    return operand.items


@opcode("ld", "ldu")
def ld(ins: Instruction, d: Decoder) -> Step:
    space = space_of(ins)
    kind, count = _shape(ins)
    elem = TYPE_BYTES[kind]
    operands = counted(ins, 2, 3)  # the optional third operand is a cache policy
    items = _items(operands[0], count)
    writers = [d.writer(o, kind) for o in items]
    if space == "param" and not isinstance(getattr(operands[1], "base", None), Register):
        return _ld_param(ins, d, kind, writers)
    address = address_of(ins.operands[1], space, d)
    signed = f"i{elem}" if kind[0] == "s" else None

    def load(m: Machine, mask: Array | None) -> None:
        where = address(m)
        found = addressing.targets(m, space, "reads", where, mask, elem, count)
        values = addressing.load(found, count)
        m.notify("load", space, where, mask, elem * count, found, values)
        for write, value in zip(writers, values, strict=True):
            write(m, value.view(signed) if signed else value)

    return d.guarded(load)


def _ld_param(ins: Instruction, d: Decoder, kind: str, writers: list) -> Step:
    operand = expect(ins.operands[1], Address, "address")
    if not isinstance(operand.base, Symbol):
        raise UnknownVariantError("a parameter address without a name")
    name, elem = operand.base.name, TYPE_BYTES[kind]
    dtype = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{elem}")
    if name not in d.program.param_offsets:  # the parameter receives the result of a call
        if name not in d.program.kernel.variables:
            raise d.malformed(f"unknown parameter {name}")
        unwritten = np.zeros((1, 1), f"u{elem}")

        def of_call(m: Machine) -> None:
            value: Any = m.state.get(name, unwritten)
            writers[0](m, value.astype(unwritten.dtype).view(dtype))

        return of_call
    start = operand.offset + operand.base.offset
    size = next(p.size_bytes for p in d.program.kernel.params if p.name == name)
    if not 0 <= start <= size - elem * len(writers):
        raise d.malformed(f"bytes outside the {size}-byte parameter {name}")
    offset = d.program.param_offsets[name] + start

    def step(m: Machine) -> None:
        for k, write in enumerate(writers):
            value = np.frombuffer(m.record.params, dtype, 1, offset + k * elem)
            write(m, value.reshape(1, 1))

    return step


@opcode("st")
def st(ins: Instruction, d: Decoder) -> Step:
    space = space_of(ins)
    kind, count = _shape(ins)
    bits = f"b{8 * TYPE_BYTES[kind]}"
    operands = counted(ins, 2, 3)  # the optional third operand is a cache policy
    values = [d.fetch(o, bits) for o in _items(operands[1], count)]
    if space == "param":
        base = expect(operands[0], Address, "address").base
        name = expect(base, Symbol, "parameter name").name

        def keep(m: Machine) -> None:
            m.state[name] = values[0](m)

        return keep
    address = address_of(ins.operands[0], space, d)
    elem = TYPE_BYTES[kind]

    def store(m: Machine, mask: Array | None) -> None:
        where = address(m)
        found = addressing.targets(m, space, "writes", where, mask, elem, count)
        written = [f(m) for f in values]
        addressing.store(found, written)
        m.notify("store", space, where, mask, elem * count, found, written)

    return d.guarded(store)


@opcode(
    "prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "griddepcontrol",
    "setmaxnreg", "pmevent",
)  # fmt: skip
def no_effect(ins: Instruction, d: Decoder) -> Step:
    """Do nothing: on the virtual GPU, every store is visible immediately, and launches run one
    after another."""
    return lambda m: None


@opcode("membar", "fence")
def fence(ins: Instruction, d: Decoder) -> Step:
    """Report memory fences to the listeners; the fences have no other effect."""

    def step(m: Machine, mask: Array | None) -> None:
        for listener in m.listeners:
            listener.on_fence(m, mask)

    return d.guarded(step)


@opcode("fence.proxy")
def fence_proxy(ins: Instruction, d: Decoder) -> Step:
    """Report fences for copies from shared memory to the listeners; the fences have no other
    effect."""
    if not {"async", "async:shared:cta"}.intersection(ins.opcode) or "global" in ins.opcode:
        return lambda m: None

    def fence(m: Machine, mask: Array | None) -> None:
        for listener in m.listeners:
            listener.on_proxy_fence(m, mask)

    return d.guarded(fence)


@opcode("isspacep")
def isspacep(ins: Instruction, d: Decoder) -> Step:
    space = space_of(ins)
    window = {"global": 0, "shared": 1, "cluster": 1, "local": 2}.get(space)
    if window is None:
        raise UnknownVariantError(f".{space}")
    to, address = counted(ins, 2)
    fetch, write = d.fetch(address, "b64"), d.writer(to, "pred")
    return lambda m: write(m, (fetch(m) >> np.uint64(56)) == window)


@opcode("mapa")
def mapa(ins: Instruction, d: Decoder) -> Compute:
    """Execute `mapa[.shared::cluster].type d, a, rank`: return the address that corresponds to `a`
    in the block with this rank in the cluster."""
    allow(ins, "shared:cluster", "u32", "u64")
    bits = "b" + ins.opcode[-1][1:]
    return Compute(clusters.mapped, (bits, "u32"), bits)


@opcode("getctarank")
def getctarank(ins: Instruction, d: Decoder) -> Step:
    """Execute `getctarank[.shared::cluster].type d, a`: return the rank of the block whose shared
    memory contains address `a`."""
    allow(ins, "shared:cluster", "u32", "u64")
    to, address = counted(ins, 2)
    fetch = d.fetch(address, "b" + ins.opcode[-1][1:])
    write = d.writer(to, "u32")
    return lambda m: write(m, clusters.split(m, fetch(m))[0].astype(np.uint32))
