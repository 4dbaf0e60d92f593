"""From a call of copy_transpose to what launches it, compiled once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from forgekit.compiling.compiled import compile
from forgekit.compiling.specs import TensorSpec
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.calls import Call, Launch
from forgekit.ops.launching import PIECE, runner
from forgekit.ops.transpose_choice import TILES, Choice, choose

# Types that are moved as integers of their width from the start: DLPack or TVM-FFI lack them.
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


def launcher(call: Call, apart: int | None = None) -> Launch | None:
    """What transposes such an x into y; None if there is nothing to do.

    apart: elements from one row of y to the next, None for a contiguous y. Compiles at the first
    call of its kind.
    """
    M, N = call.shape
    if call.tile not in (None, *TILES):
        raise ValueError("tile")
    if 0 in call.shape:
        return None
    if call.dtype in _MOVED_AS:
        return _as_integers(call, _MOVED_AS[call.dtype])
    if max(M, N) > PIECE:
        return _in_pieces(call)
    (stride,), (address,) = call.strides, call.addresses
    choice = choose((M, N), (stride[0], stride[1]), address, call.dtype.itemsize, call.tile, apart)
    run = runner(compile_choice(choice, call.dtype, call.arch), call.arch)
    if choice.view == "row":
        return lambda x, y: run(x.t(), y.t())
    return _as_a_line(run) if choice.view == "line" else run


def _as_integers(call: Call, dtype: torch.dtype) -> Launch | None:
    run = launcher(call._replace(dtype=dtype))

    def launch(x: Tensor, y: Tensor) -> None:
        if x.is_conj():  # has other strides once it is resolved
            return _launch(call._replace(dtype=dtype), x.resolve_conj().view(dtype), y.view(dtype))
        return run and run(x.view(dtype), y.view(dtype))

    return launch


def _as_a_line(run: Launch) -> Launch:
    """Memory in the order of y already: one column, in pieces if it is long."""

    def launch(x: Tensor, y: Tensor) -> None:
        source, target = x.t().view(-1, 1), y.view(1, -1)
        for at in range(0, len(source), PIECE):
            run(source[at : at + PIECE], target[:, at : at + PIECE])

    return launch


def _in_pieces(call: Call) -> Launch:
    """More rows or columns than a kernel counts: piece by piece."""

    def launch(x: Tensor, y: Tensor) -> None:
        for m in range(0, x.shape[0], PIECE):
            for n in range(0, x.shape[1], PIECE):
                _launch(call, x[m : m + PIECE, n : n + PIECE], y[n : n + PIECE, m : m + PIECE])

    return launch


def _launch(call: Call, x: Tensor, y: Tensor) -> None:
    """The same for another x and a y (N, M) whose rows are contiguous."""
    run = launcher(Call.of(call.op, x, arch=call.arch, tile=call.tile), y.stride(0))
    if run is not None:
        run(x, y)


def compile_choice(choice: Choice, dtype: torch.dtype, arch: str | None) -> Any:
    """The compiled kernel of a choice: a function of x (M, N) and y (N, M), both of `dtype`.

    arch: of the virtual GPU, None for the GPU.
    """
    from forgekit.kernels.copy_transpose import FlatTranspose, GatherTranspose, VectorTranspose

    bits, align = dtype.itemsize * 8, choice.vector * dtype.itemsize
    kernel: Any
    y = TensorSpec(dtype, (None, None), (None, 1), VECTOR_BYTES)
    if choice.kernel == "vector":
        kernel = VectorTranspose(bits, choice.tile, choice.vector)
        both = {0: choice.vector, 1: choice.vector}
        x = y = TensorSpec(dtype, (None, None), (None, 1), align, both)
    elif choice.kernel == "gather":
        threads = _threads(choice.tile, dtype.itemsize)
        kernel = GatherTranspose(bits, choice.tile, threads, choice.shifted, choice.contiguous)
        across = 1 if choice.contiguous else None
        x = TensorSpec(dtype, (None, None), (None, across), align)
    else:
        kernel = FlatTranspose(bits, choice.vector > 1)
        down = 1 if choice.vector > 1 else None
        x = TensorSpec(dtype, (None, None), (down, None), align)
    return compile(kernel, x, y, device="virtual" if arch else "gpu", arch=arch)


def _threads(tile: tuple[int, int], itemsize: int) -> int:
    """Threads of a block of "gather": some 20 loads each, but at least 16 bytes to store."""
    vectors = tile[0] * tile[1] * itemsize // VECTOR_BYTES
    return min(512, (64 if tile[1] == 64 else 128) * itemsize, vectors)
