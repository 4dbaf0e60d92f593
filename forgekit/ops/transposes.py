"""Choose and compile the kernel for a call to copy_transpose.

`choose` alone determines which kernel transposes a tensor. Its thresholds come from the
measurements in `book/measured/transpose_h200.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from forgekit.compiling.compiled import compile
from forgekit.compiling.specs import TensorSpec
from forgekit.kernels import SECTOR_BYTES, VECTOR_BYTES
from forgekit.ops.calls import Call, Launch
from forgekit.ops.launching import PIECE, overlaps, runner

TILES = (16, 32, 64)  # the allowed values of tile=
FEW_ROWS = 24  # with fewer rows or columns of X, tiles leave most threads idle
FEW_WHOLE_ROWS = 16  # instead of FEW_ROWS, for a large X if X and Y allow 16-byte accesses
FEW_COLUMNS = 4
FEW_BLOCKS = 192  # with fewer blocks on the 132 SMs of an H200, smaller tiles are faster
# Types copied as integers of the same width, because DLPack or TVM-FFI does not support them.
_MOVED_AS = {
    torch.bool: torch.uint8,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e5m2: torch.uint8,
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
    torch.complex32: torch.int32,
    torch.complex64: torch.int64,
}


@dataclass(frozen=True)
class Choice:
    """A kernel from `forgekit.kernels.copy_transpose`, and its compiled-in values.

    kernel: the kernel's class. tile: the numbers of rows and columns of X that a block reads; (0,
    0) for "flat". vector: the number of elements per access to X, a divisor of M, N and the row
    strides. contiguous: True if elements of a row of X are contiguous. shifted: True if some rows
    of Y do not begin at sector boundaries. view: the kernel's argument: x itself ("x"), its
    transpose, a column ("row"), or its memory as one column ("line").
    """

    kernel: Literal["vector", "gather", "flat"]
    tile: tuple[int, int] = (0, 0)
    vector: int = 1
    contiguous: bool = True
    shifted: bool = False
    view: Literal["x", "row", "line"] = "x"


def choose(
    shape: tuple[int, int],
    stride: tuple[int, int],
    address: int,
    itemsize: int,
    tile: int | None = None,
    apart: int | None = None,
) -> Choice:
    """Return the kernel for a nonempty tensor x.

    shape: (M, N). stride: in elements. address: the address of x's first element in bytes, or that
    address modulo 16. itemsize: bytes per element. tile: the caller's choice; None for the fastest
    tile. apart: the row stride of y in elements; None for a contiguous y.
    """
    (M, N), (down, across) = shape, stride
    widest = VECTOR_BYTES // itemsize
    at_vectors = address % VECTOR_BYTES == 0
    apart = apart or M
    y_contiguous = apart == M or N == 1

    # For one row or one column, the elements of x and y are in the same order.
    if N == 1 or (M == 1 and y_contiguous):
        step = down if N == 1 else across
        vector = widest if step == 1 and at_vectors else 1
        return Choice("flat", vector=vector, view="x" if N == 1 else "row")
    # The columns of x are contiguous and adjacent (x = a.t()), so only copy.
    if (down, across) == (1, M) and y_contiguous:
        return Choice("flat", vector=widest if at_vectors else 1, view="line")
    if down < across and y_contiguous:
        whole = down == 1 and at_vectors and M % widest == 0 and across % widest == 0
        return Choice("flat", vector=widest if whole else 1)
    cuts = [(tile, tile)] if tile else _tiles(M, N, widest)
    # With few rows or columns, neighbouring threads share cache lines even without tiles.
    few = tile is None and y_contiguous and (M < FEW_ROWS or N < FEW_COLUMNS)
    if few:
        cuts = cuts[:-1] if M >= FEW_WHOLE_ROWS and N >= FEW_COLUMNS else []
    # Use 16-byte accesses on both sides if every row of x and of y begins at a 16-byte boundary.
    for cut in cuts:
        vector = min(widest, 8 if cut[0] != cut[1] else cut[0] // 8)
        whole = not any(n % vector for n in (M, N, down, apart))
        if across == 1 and whole and address % (vector * itemsize) == 0:
            return Choice("vector", cut, vector)
    if few:
        return Choice("flat")
    # The remaining cases are odd sizes, and strided rows and columns.
    shifted = apart * itemsize % SECTOR_BYTES != 0
    cut = (tile, tile) if tile else _cut(M, N, widest)
    return Choice("gather", cut, 1, across == 1, shifted)


def _tiles(M: int, N: int, widest: int) -> list[tuple[int, int]]:
    """Return tiles for "vector", fastest first. The last tile fits every tensor.

    For a large x, the sides of a tile are 256 bytes long. If x is narrower, that side is its size,
    rounded up to a power of two, and the block still reads or writes 256 bytes of a row along the
    other side. For a small x, tiles are smaller squares.
    """
    full = 16 * widest
    rows, columns = (min(full, max(2 * widest, 1 << (size - 1).bit_length())) for size in (M, N))
    large = [(rows, columns)] if M * N // (rows * columns) > FEW_BLOCKS else []
    half = full // 2
    enough = M * N // (half * half) > FEW_BLOCKS and min(M, N) > half // 2
    side = half if enough else max(half // 2, 16)
    return [*large, (side, side)]


def _cut(M: int, N: int, widest: int) -> tuple[int, int]:
    """Return the fastest tile for "gather": usually 128 bytes of a row of Y; more if X has few
    columns."""
    if N <= 29:
        return (256, 16) if N <= 12 else (128, 32)
    rows = min(8 * widest, 64)
    blocks = M * N // (rows * 128)
    return (rows // 2, 64) if blocks <= FEW_BLOCKS else (rows, 128)


# -- launches -------------------------------------------------------------------------------------
def launcher(call: Call) -> Launch | None:
    """Return a function that transposes x into y, or None if x is empty.

    The kernel is compiled in the first call that needs it.

    Raises:
        ValueError: x does not have two dimensions, or the tile is unsupported; the operator
            translates the error for the user.
    """
    M, N = call.shape
    if call.tile not in (None, *TILES):
        raise ValueError("tile")
    if 0 in (M, N):
        return None
    dtype = _MOVED_AS.get(call.dtype)
    return _whole(call) if dtype is None else _as_integers(call._replace(dtype=dtype))


def _as_integers(call: Call) -> Launch:
    """Return a launch that views x and y as integers of the call's dtype."""
    run = _whole(call)

    def launch(x: Tensor, y: Tensor) -> None:
        y = y.view(call.dtype)
        if x.is_conj():  # resolving the conjugate makes a copy with other strides
            x = x.resolve_conj().view(call.dtype)
            _whole(Call.of(call.op, x, arch=call.arch, tile=call.tile))(x, y)
        else:
            run(x.view(call.dtype), y)

    return launch


def _whole(call: Call) -> Launch:
    """Return a launch of one kernel, or of one per piece for more rows or columns than one launch
    allows."""
    return _in_pieces(call) if max(call.shape) > PIECE else _one_launch(call)


def _one_launch(call: Call, apart: int | None = None) -> Launch:
    """Return the launch of one kernel; apart: the row stride of y in elements, None for M."""
    (M, N), (stride,), (address,) = call.shape, call.strides, call.addresses
    choice = choose((M, N), (stride[0], stride[1]), address, call.dtype.itemsize, call.tile, apart)
    run = runner(compile_choice(choice, call.dtype, call.arch), call.arch)
    if choice.view == "row":
        return lambda x, y: run(x.t(), y.t())
    return _as_a_line(run) if choice.view == "line" else run


def _as_a_line(run: Launch) -> Launch:
    """Return a launch that copies memory whose elements are already in y's order. It treats the
    memory as one column and copies a long column in pieces."""

    def launch(x: Tensor, y: Tensor) -> None:
        source, target = x.t().view(-1, 1), y.view(1, -1)
        for at in range(0, len(source), PIECE):
            run(source[at : at + PIECE], target[:, at : at + PIECE])

    return launch


def _in_pieces(call: Call) -> Launch:
    """Return a launch that runs one kernel per piece, for more rows or columns than one launch
    allows."""

    def launch(x: Tensor, y: Tensor) -> None:
        for m in range(0, x.shape[0], PIECE):
            for n in range(0, x.shape[1], PIECE):
                part, turned = x[m : m + PIECE, n : n + PIECE], y[n : n + PIECE, m : m + PIECE]
                own = Call.of(call.op, part, arch=call.arch, tile=call.tile)
                _one_launch(own, y.stride(0))(part, turned)

    return launch


def compile_choice(choice: Choice, dtype: torch.dtype, arch: str | None) -> Any:
    """Return the compiled kernel for a choice. Its arguments are x (M, N) and y (N, M), both of
    `dtype`.

    arch: the virtual GPU's architecture, or None for the GPU.
    """
    from forgekit.kernels.copy_transpose import FlatTranspose, GatherTranspose, VectorTranspose

    bits, align = dtype.itemsize * 8, choice.vector * dtype.itemsize
    overlap = overlaps(arch)
    kernel: Any
    y = TensorSpec(dtype, (None, None), (None, 1), VECTOR_BYTES)
    if choice.kernel == "vector":
        kernel = VectorTranspose(bits, choice.tile, choice.vector, overlap)
        both = {0: choice.vector, 1: choice.vector}
        x = y = TensorSpec(dtype, (None, None), (None, 1), align, both)
    elif choice.kernel == "gather":
        threads = _threads(choice.tile, dtype.itemsize)
        kernel = GatherTranspose(
            bits, choice.tile, threads, choice.shifted, choice.contiguous, overlap
        )
        across = 1 if choice.contiguous else None
        x = TensorSpec(dtype, (None, None), (None, across), align)
    else:
        kernel = FlatTranspose(bits, choice.vector > 1, overlap)
        down = 1 if choice.vector > 1 else None
        x = TensorSpec(dtype, (None, None), (down, None), align)
    return compile(kernel, x, y, device="virtual" if arch else "gpu", arch=arch)


def _threads(tile: tuple[int, int], itemsize: int) -> int:
    """Return the number of threads per block for "gather", so that each thread performs about 20
    loads and stores at least 16 bytes."""
    vectors = tile[0] * tile[1] * itemsize // VECTOR_BYTES
    return min(512, (64 if tile[1] == 64 else 128) * itemsize, vectors)
