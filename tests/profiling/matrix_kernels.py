"""Define kernels for the counters of `ldmatrix` and `stmatrix`, with one instruction per warp.

A tensor of indices, in units of 16 bytes, determines which row each lane addresses.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Int32
from cutlass._mlir.dialects import llvm
from cutlass.cute import Tensor


def form(count: int, transposed: bool) -> str:
    return f".sync.aligned.m8n8.x{count}{'.trans' * transposed}.shared.b16"


def shared_rows(dtype, rows: int):
    smem = cutlass.memory.SmemAllocator()
    return smem.allocate_tensor(dtype, cute.make_layout((rows, 8), stride=(8, 1)), 128)


def words(x):
    """Return a row-major tensor as consecutive words."""
    return cute.recast_tensor(cute.make_tensor(x.iterator, cute.make_layout(cute.size(x))), Int32)


@cute.kernel
def matrix_load_kernel(
    mX: Tensor, mI: Tensor, mY: Tensor, rows: Constexpr, count: Constexpr, transposed: Constexpr,
):  # fmt: skip
    """Load registers from the rows of mX that the lanes address, and store them to mY, one row per
    lane."""
    lane, _, _ = cute.arch.thread_idx()
    sX = shared_rows(mX.element_type, rows)
    gX, sW = words(mX), words(sX)
    for i in cutlass.range_constexpr(rows * 4 // 32):
        sW[i * 32 + lane] = gX[i * 32 + lane]
    cute.arch.sync_threads()
    row = sX[mI[lane], None].iterator.toint().ir_value()
    held, kind = ", ".join(f"${j}" for j in range(count)), Int32.mlir_type
    several = kind if count == 1 else llvm.StructType.get_literal([kind] * count)
    found = llvm.inline_asm(
        several, [row], f"ldmatrix{form(count, transposed)} {{{held}}}, [${count}];",
        "=r," * count + "r", has_side_effects=True,
    )  # fmt: skip
    gY = cute.recast_tensor(mY[lane, None], Int32)
    for j in cutlass.range_constexpr(count):
        gY[j] = Int32(found if count == 1 else llvm.extractvalue(kind, found, [j]))


@cute.jit
def matrix_load(
    mX: Tensor, mI: Tensor, mY: Tensor, rows: Constexpr, count: Constexpr, transposed: Constexpr,
):  # fmt: skip
    matrix_load_kernel(mX, mI, mY, rows, count, transposed).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def matrix_store_kernel(
    mX: Tensor, mI: Tensor, mY: Tensor, rows: Constexpr, count: Constexpr, transposed: Constexpr,
):  # fmt: skip
    """Store registers to the addressed rows of shared memory, which is otherwise 0, and output all
    of it."""
    lane, _, _ = cute.arch.thread_idx()
    sY = shared_rows(mX.element_type, rows)
    gY, sW = words(mY), words(sY)
    for i in cutlass.range_constexpr(rows * 4 // 32):
        sW[i * 32 + lane] = Int32(0)
    cute.arch.sync_threads()
    gX = cute.recast_tensor(mX[lane, None], Int32)
    row = sY[mI[lane], None].iterator.toint().ir_value()
    held = ", ".join(f"${j + 1}" for j in range(count))
    llvm.inline_asm(
        None, [row, *(gX[j].ir_value() for j in range(count))],
        f"stmatrix{form(count, transposed)} [$0], {{{held}}};", "r" + ",r" * count,
        has_side_effects=True,
    )  # fmt: skip
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(rows * 4 // 32):
        gY[i * 32 + lane] = sW[i * 32 + lane]


@cute.jit
def matrix_store(
    mX: Tensor, mI: Tensor, mY: Tensor, rows: Constexpr, count: Constexpr, transposed: Constexpr,
):  # fmt: skip
    matrix_store_kernel(mX, mI, mY, rows, count, transposed).launch(
        grid=(1, 1, 1), block=(32, 1, 1)
    )
