"""Implement `wgmma`: a warpgroup's matrix products, which run asynchronously.

The instruction computes a product from the current content of shared memory, but the result is
written to a thread's registers only when that thread waits for the product's group. A kernel that
reads the registers earlier reads their old content, as can happen on a GPU.
"""

from __future__ import annotations

import numpy as np

from forgekit.vgpu import tensor_cores
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Product
from forgekit.vgpu.machine import WARP, Machine
from forgekit.vgpu.machine.warpgroups import (
    ROWS,
    WARPGROUP,
    Products,
    by_warpgroup,
    count,
    first_threads,
    threads_of,
)
from forgekit.vgpu.memory.swizzles import PIECE
from forgekit.vgpu.opcodes import (
    UnknownVariantError,
    allow,
    expect,
    groups_left,
    matrix,
    opcode,
)
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch, Step
from forgekit.vgpu.opcodes.warp import warp_step
from forgekit.vgpu.opcodes.wgmma_operands import (
    Form,
    form_of,
    operand_tiles,
    same_in_warpgroup,
    warpgroups,
)
from forgekit.vgpu.ptx import Instruction, Operand, Register, Vector


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
    keep = groups_left(ins)
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
    raise UnknownVariantError("sparse matrices: multiply dense matrices instead")


@opcode("tcgen05")
def fifth_generation(ins: Instruction, d: Decoder) -> Step:
    raise UnknownVariantError("Blackwell's tensor memory: use wgmma, and compile for sm_90a")


@opcode("wgmma.mma_async")
def mma_async(ins: Instruction, d: Decoder) -> Step:
    """Compute D = A B + D, or D = A B if scale-d is false. A descriptor locates B in shared memory;
    A is in registers or also in shared memory."""
    form = form_of(ins)
    target, a, b, scale = ins.operands[:4]
    names = matrix.checked(target, form.registers, _register)
    for name in names:
        d.writer(Register(name), "b32")
    numbers = tuple(d.program.registers[name] for name in names)
    sums = [d.fetch(Register(name), "b32") for name in names]
    left, right = operand_tiles(a, form, 0, d), operand_tiles(b, form, 1, d)
    adds = d.fetch(scale, "pred")
    registers = [_register(r) for r in a.items] if isinstance(a, Vector) else []
    held = tuple(d.program.registers[name] for name in registers)
    copied = _copied_registers(d, set(names))

    def run(m: Machine) -> None:
        which = warpgroups(m)
        products = _products(m)
        c = np.zeros((ROWS, len(which), form.n), _DTYPES[form.shape.c])
        added = same_in_warpgroup(m, adds(m), which, "scale-d")
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
    """Return True if the code copies an accumulator.

    The compiler may copy an accumulator while its product is in flight. The copy must hold the
    product, so the product must then be written immediately.
    """
    return any(
        i.opcode[0] == "mov" and any(isinstance(o, Register) and o.name in names
                                     for o in i.operands[1:])
        for i in d.program.instructions
    )  # fmt: skip


def _product(
    m: Machine,
    numbers: tuple[int, ...],
    held: tuple[int, ...],
    which: Array,
    columns: int,
    *operands: Array | None,
) -> Product:
    """Return a product's description for the listeners.

    A warp reads only its rows of A. Each warp is recorded as the reader of one quarter of B's
    columns, which makes a product depend on all four warps.
    """
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


def _multiply(
    form: Form, a: tensor_cores.Matrix | Array, b: tensor_cores.Matrix | Array, c: Array
) -> Array:
    """Return A B + c, of shape (64, warpgroups, n)."""
    if isinstance(a, tensor_cores.Matrix):
        assert isinstance(b, tensor_cores.Matrix)
        unit = tensor_cores.FP8_UNIT if form.shape.a in ("e4m3", "e5m2") else tensor_cores.UNIT
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
    """Return the accumulators of these warpgroups, of shape (64, warpgroups, n): the result of the
    product in flight, or the content of the registers if there is none."""
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
    """Return the elements of C, of shape (64, warpgroups, n), from its registers, of shape
    (warpgroups, 128)."""
    words = np.stack(registers).view(np.uint32)
    count = words.shape[1]
    words = words.reshape(form.n // 8, 2, -1, count, 4, 8, 4)  # 8 columns, half, i, wg, warp, g, t
    words = np.ascontiguousarray(words.transpose(4, 1, 5, 3, 0, 6, 2))
    return words.view(_DTYPES[form.shape.c]).reshape(ROWS, count, form.n)
