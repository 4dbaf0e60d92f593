"""`wgmma`: matrix products of a warpgroup, which run on while its threads do other things.

A product is computed where the instruction stands, from what shared memory holds then, and kept
aside; its registers get it where their thread waits for the product's group. A kernel that reads
them before finds what they held before, as it may on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from forgekit.errors import KernelError
from forgekit.vgpu import tensor_cores
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP, Machine
from forgekit.vgpu.machine.warpgroups import (
    ROWS,
    WARPGROUP,
    Product,
    Products,
    by_warpgroup,
    count,
    first_threads,
    per_block,
    threads_of,
)
from forgekit.vgpu.memory import descriptors, faults
from forgekit.vgpu.memory.swizzles import PIECE
from forgekit.vgpu.opcodes import UnknownVariantError, allow, counted, expect, matrix, opcode
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch, Step
from forgekit.vgpu.opcodes.warp import warp_step
from forgekit.vgpu.ptx import Immediate, Instruction, Operand, Register, Vector

# Types of A and B -> those of C and D: PTX ISA, "wgmma.mma_async".
_SUMS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"),
         "e5m2": ("f16", "f32"), "s8": ("s32",), "u8": ("s32",)}  # fmt: skip
_MIXED = ({"e4m3", "e5m2"}, {"s8", "u8"})


class Form(NamedTuple):
    """What the opcode and the constant operands of a `wgmma.mma_async` say.

    n: columns; a, b, c: types; minus: A, B are negated; across: A, B lie along their rows.
    """

    n: int
    a: str
    b: str
    c: str
    saturate: bool
    minus: tuple[bool, bool] = (False, False)
    across: tuple[bool, bool] = (False, False)

    @property
    def shape(self) -> matrix.Shape:
        """That of the `mma.sync` whose registers each warp's A are."""
        return matrix.Shape(descriptors.DEPTH * 8 // tensor_cores.WIDTHS[self.a], self.a, self.b,
                            self.c)  # fmt: skip

    @property
    def registers(self) -> int:
        """Of the accumulator, in each thread."""
        return self.n // (4 if self.c == "f16" else 2)


def form_of(ins: Instruction) -> Form:
    """Of a `wgmma.mma_async.sync.aligned.m64n…k….d.a.b[.satfinite]`.

    Raises:
        UnknownVariantError: another shape or type.
    """
    parts = [p for p in ins.opcode[4:] if p != "satfinite"]
    if len(parts) != 4 or ins.opcode[2:4] != ("sync", "aligned"):
        raise UnknownVariantError("not .sync.aligned.shape.type.type.type")
    name, c, a, b = parts
    form = Form(_columns(name), a, b, c, "satfinite" in ins.opcode)
    if c not in _SUMS.get(a, ()) or not (a == b or {a, b} in _MIXED):
        raise UnknownVariantError(f".{c}.{a}.{b}")
    if name != f"m{ROWS}n{form.n}k{form.shape.k}" or (form.saturate and c != "s32"):
        raise UnknownVariantError(f".{name}{'.satfinite' * form.saturate} of .{a}")
    held = isinstance(ins.operands[1], Vector)
    transposes = 0 if tensor_cores.WIDTHS[a] != 16 else 1 if held else 2
    integer = a in ("s8", "u8")
    counted(ins, 4 + (0 if integer else 2 + transposes))
    constants = [expect(o, Immediate, "number").bits for o in ins.operands[4:]]
    if integer:
        return form
    across = [False, False, *(c == 1 for c in constants[2:])][-2:]
    return form._replace(
        minus=(constants[0] == -1, constants[1] == -1), across=(across[0], across[1])
    )


def _columns(shape: str) -> int:
    digits = shape.removeprefix(f"m{ROWS}n").partition("k")[0]
    n = int(digits) if digits.isdigit() else 0
    if not 8 <= n <= 256 or n % 8:
        raise UnknownVariantError(f".{shape}")
    return n


# -- fence, commit, wait --------------------------------------------------------------------------
@opcode("wgmma.fence")
def fence(ins: Instruction, d: Decoder) -> Step:
    allow(ins, "fence", "sync", "aligned")

    def run(m: Machine) -> None:
        for listener in m.listeners:
            listener.on_product_fence(m)

    return warp_step(d, None, run)


@opcode("wgmma.commit_group")
def commit_group(ins: Instruction, d: Decoder) -> Step:
    allow(ins, "commit_group", "sync", "aligned")
    return warp_step(d, None, lambda m: _products(m).commit(m.expand(m.mask)))


@opcode("wgmma.wait_group")
def wait_group(ins: Instruction, d: Decoder) -> Step:
    allow(ins, "wait_group", "sync", "aligned")
    keep = expect(counted(ins, 1)[0], Immediate, "number").bits
    return warp_step(d, None, lambda m: _products(m).wait(m.expand(m.mask), keep))


def _products(m: Machine) -> Products:
    found = m.state.get("wgmma")
    if found is None:
        found = m.state["wgmma"] = Products(m)
    assert isinstance(found, Products)
    return found


# -- the product ----------------------------------------------------------------------------------
@opcode("wgmma.mma_async.sp")
def sparse(ins: Instruction, d: Decoder) -> Step:
    raise UnknownVariantError("sparse matrices: multiply the dense ones")


@opcode("tcgen05")
def fifth_generation(ins: Instruction, d: Decoder) -> Step:
    raise UnknownVariantError("Blackwell's tensor memory: use wgmma, and compile for sm_90a")


@opcode("wgmma.mma_async")
def mma_async(ins: Instruction, d: Decoder) -> Step:
    """D = A B + (scale-d) C in the same registers; B by descriptor, A too or in registers."""
    form = form_of(ins)
    target, a, b, scale = ins.operands[:4]
    names = matrix.checked(target, form.registers, _register)
    for name in names:
        d.writer(Register(name), "b32")
    numbers = tuple(d.program.registers[name] for name in names)
    sums = [d.fetch(Register(name), "b32") for name in names]
    left, right = _operand(a, form, 0, d), _operand(b, form, 1, d)
    adds = d.fetch(scale, "pred")
    registers = [_register(r) for r in a.items] if isinstance(a, Vector) else []
    held = tuple(d.program.registers[name] for name in registers)
    copied = _copied_registers(d, set(names))

    def run(m: Machine) -> None:
        which = _warpgroups(m)
        products = _products(m)
        c = np.zeros((ROWS, len(which), form.n), _DTYPES[form.c])
        added = _same_in_warpgroup(m, adds(m), which, "scale-d")
        if added.any():
            own = _accumulated(m, products, numbers, sums, which, form)
            c = own if added.all() else np.where(added[:, None], own, c)
        (first, from_a), (second, from_b) = left(m, which), right(m, which)
        products.start(numbers, which, _multiply(form, first, second, c))
        if m.listeners:
            products.read(_product(m, numbers, held, which, form.n, from_a, from_b))
        if copied or (m.adversary is not None and m.adversary.eager):
            products.land(numbers, threads_of(m, which))

    return warp_step(d, None, run, warps=WARPGROUP // WARP)


_DTYPES = {"f16": np.float16, "f32": np.float32, "s32": np.int32}


def _register(operand: Operand) -> str:
    return expect(operand, Register, "register").name


def _copied_registers(d: Decoder, names: set[str]) -> bool:
    """Whether the compiler copies an accumulator, which it may do while the product is in flight:
    the copy then has to hold the product already."""
    return any(
        i.opcode[0] == "mov" and any(isinstance(o, Register) and o.name in names
                                     for o in i.operands[1:])
        for i in d.program.instructions
    )  # fmt: skip


def _warpgroups(m: Machine) -> Array:
    """Numbers of the warpgroups that run.

    Raises:
        KernelError: threads without a whole warpgroup around them.
    """
    lanes = by_warpgroup(m, m.expand(m.mask))
    which = np.flatnonzero(lanes.any(axis=1))
    if not lanes[which].all() or len(which) * WARPGROUP < int(m.expand(m.mask).sum()):
        raise _error(
            m, "runs without the rest of its warpgroup",
            "Four warps, the first a multiple of 4, execute wgmma together: launch a multiple of "
            "128 threads, and branch by whole warpgroups.",
        )  # fmt: skip
    return which


def _same_in_warpgroup(m: Machine, value: Array, which: Array, what: str) -> Array:
    """What all threads of each warpgroup hold.

    Raises:
        KernelError: they hold different values.
    """
    if value.shape[1] == 1:
        rows = np.repeat(np.broadcast_to(value, (m.n_blocks, 1)), per_block(m), axis=0)
        return rows[which, 0]
    lanes = by_warpgroup(m, value)[which]
    if (lanes != lanes[:, :1]).any():
        raise _error(
            m, f"has another {what} than the rest of its warpgroup",
            "All 128 threads of a warpgroup have to give the same one.",
        )  # fmt: skip
    return lanes[:, 0]


def _error(m: Machine, does: str, advice: str) -> KernelError:
    text = f"Misused wgmma: {m.where()}\n  {m.who(m.expand(m.mask))} {does}.\n{advice}"
    return m.marked(KernelError(text), "wgmma")


# Of the machine and some warpgroups: their matrices, and the pieces of shared memory these lie in,
# (warpgroups, …, …), or None.
Tiles = Callable[[Machine, Array], tuple[tensor_cores.Matrix | Array, Array | None]]


def _operand(operand: Operand, form: Form, side: int, d: Decoder) -> Tiles:
    """Reads A (side 0) or B."""
    kind, rows = (form.a, ROWS) if side == 0 else (form.b, form.n)
    if isinstance(operand, Vector):
        shape = form.shape
        held = matrix.checked(operand, 2 * shape.steps, lambda r: d.fetch(r, "b32"))
        return lambda m, which: (
            _made(_from_registers(m, held, shape, which), form, kind, side),
            None,
        )
    descriptor = d.fetch(operand, "b64")
    across = form.across[side]

    def read(m: Machine, which: Array) -> tuple[tensor_cores.Matrix | Array, Array]:
        words = _same_in_warpgroup(m, descriptor(m), which, "descriptor")
        places = _places(m, words, which, rows, across)
        codes = _from_shared(m, places, across)
        return _made(codes.view(f"u{tensor_cores.WIDTHS[kind] // 8}"), form, kind, side), places

    return read


def _made(codes: Array, form: Form, kind: str, side: int) -> tensor_cores.Matrix | Array:
    """codes: (warpgroups, rows, K)."""
    if kind in matrix.SIGNS:
        return codes.view(f"{matrix.SIGNS[kind]}1")
    if side == 0:
        codes = codes.transpose(1, 2, 0)[..., None]  # (64, K, warpgroups, 1)
    else:
        codes = codes.transpose(2, 0, 1)[None]  # (1, K, warpgroups, n)
    made = tensor_cores.matrix(np.ascontiguousarray(codes), kind)
    return made._replace(values=-made.values) if form.minus[side] else made


def _from_registers(m: Machine, held: list[Fetch], shape: matrix.Shape, which: Array) -> Array:
    warps = [by_warpgroup(m, f(m))[which].reshape(-1, WARP) for f in held]
    rows = matrix.to_rows(warps, shape, 2).reshape(16, shape.k, len(which), 4)
    return rows.transpose(2, 3, 0, 1).reshape(len(which), ROWS, shape.k)


def _places(m: Machine, words: Array, which: Array, rows: int, across: bool) -> Array:
    """The pieces of the batch's shared memory that tiles lie in, by their descriptors."""
    different, place = np.unique(words, return_inverse=True)
    tables = [descriptors.pieces(int(word), rows, across) for word in different]
    offsets = np.stack(tables) - m.shared.base
    bad = (offsets < 0) | (offsets > m.shared.size_bytes - PIECE)
    if bad.any():
        _refuse_outside(m, tables, bad, which[place.reshape(-1) == bad.any(axis=(1, 2)).argmax()])
    if any(descriptors.decode(int(word)).base for word in different):
        raise _error(m, "gives a descriptor with a base offset", "Align the tile to 1,024 bytes.")
    blocks = (which // per_block(m) * m.shared.stride)[:, None, None]
    return np.asarray((offsets[place.reshape(-1)] + blocks) // PIECE)


def _from_shared(m: Machine, places: Array, across: bool) -> Array:
    """The bytes (warpgroups, rows, bytes of K) of tiles in these pieces."""
    found = m.shared.view(4, 4).take(places, axis=0)  # (warpgroups, pieces, pieces, 4 words)
    if not across:
        return found.view(np.uint8).reshape(len(places), -1, descriptors.DEPTH)
    found = found.view(np.uint16).swapaxes(2, 3)  # (warpgroups, rows / 8, 8, 16 of K)
    return np.ascontiguousarray(found).reshape(len(places), -1, 16).view(np.uint8)


def _product(
    m: Machine,
    numbers: tuple[int, ...],
    held: tuple[int, ...],
    which: Array,
    columns: int,
    *operands: Array | None,
) -> Product:
    """What listeners hear. A warp reads its own rows of A, and here a quarter of B's columns, not
    the same quarter, so that each warp depends on the others."""
    starts, readers = [], []
    for side, places in enumerate(operands):
        if places is not None:
            _, rows, across = places.shape
            readers.append((np.repeat(np.arange(rows) * 4 // rows, across) + side) % 4)
            starts.append(places.reshape(len(which), -1) * PIECE)
    reader = np.concatenate(readers)
    order = np.argsort(reader, kind="stable")
    who = first_threads(m, which)[:, None] + reader[order] * WARP
    start = np.concatenate(starts, axis=1)[:, order]
    return Product(threads_of(m, which), np.zeros(m.shape, np.int64), m.pc, numbers, held, which,
                   who.reshape(-1), start.reshape(-1), columns, operands)  # fmt: skip


def _refuse_outside(m: Machine, tables: list[Array], bad: Array, which: Array) -> None:
    address = np.stack(tables)[bad][0]
    wrong = threads_of(m, which[:1])
    where = np.broadcast_to(np.uint32(address), m.shape)
    raise faults.slice_error(m, m.shared, "shared", "reads", where, wrong, PIECE)


def _multiply(
    form: Form, a: tensor_cores.Matrix | Array, b: tensor_cores.Matrix | Array, c: Array
) -> Array:
    """c and the result: (64, warpgroups, n)."""
    if isinstance(a, tensor_cores.Matrix):
        assert isinstance(b, tensor_cores.Matrix)
        unit = tensor_cores.FP8_UNIT if form.a in ("e4m3", "e5m2") else tensor_cores.UNIT
        return tensor_cores.multiply_add(a, b, c[:, None], unit)[:, 0]
    assert not isinstance(b, tensor_cores.Matrix)
    left, right = (x.transpose(1, 2, 0) for x in (a, b))
    own = c.swapaxes(1, 2)
    total = tensor_cores.multiply_add_integers(left, right, own, saturate=form.saturate)
    return total.swapaxes(1, 2)


# -- accumulators ---------------------------------------------------------------------------------
def _accumulated(
    m: Machine, products: Products, numbers: tuple[int, ...], fetches: list[Fetch], which: Array,
    form: Form,
) -> Array:  # fmt: skip
    """C of these warpgroups, (64, warpgroups, n): what is in flight, or what the registers hold."""
    found = products.sums.get(numbers)
    for others in [r for r in products.sums if r != numbers and not set(numbers).isdisjoint(r)]:
        products.land(others, products.sums[others].left & threads_of(m, which))
    ahead = None
    if found is not None:
        ahead = by_warpgroup(m, found.left)[which].any(axis=1)
        if ahead.all():
            return found.sums if len(which) == count(m) else found.sums[:, which]
    held = _to_sums([by_warpgroup(m, f(m))[which] for f in fetches], form)
    if ahead is None or not ahead.any():
        return held
    assert found is not None
    return np.where(ahead[:, None], found.sums[:, which], held)


def _to_sums(registers: list[Array], form: Form) -> Array:
    """C as (64, warpgroups, n) of its type, from registers (warpgroups, 128)."""
    words = np.stack(registers).view(np.uint32)
    count = words.shape[1]
    words = words.reshape(form.n // 8, 2, -1, count, 4, 8, 4)  # 8 columns, half, i, wg, warp, g, t
    words = np.ascontiguousarray(words.transpose(4, 1, 5, 3, 0, 6, 2))
    return words.view(_DTYPES[form.c]).reshape(ROWS, count, form.n)
