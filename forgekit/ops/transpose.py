"""`copy_transpose(x)`: x transposed into new memory by forgekit's own kernels; and its operator.

    y = forgekit.ops.copy_transpose(x)                     # the function
    y = torch.ops.forgekit.copy_transpose(x)               # the operator: for torch.compile, export

The function launches directly, without PyTorch's dispatcher, unless something needs that one: a
gradient, a fake tensor, a mode that watches, a transformation of torch.func, torch.compile.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import forward_ad

from forgekit.devices import current_target
from forgekit.dtypes import dtype_info
from forgekit.errors import UsageError, got_needed
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.transpose_choice import TILES
from forgekit.ops.transpose_launch import launcher

__all__ = ["copy_transpose"]

_COMPLEX = (torch.complex32, torch.complex64)  # as wide as integers, so they cost nothing more


def copy_transpose(x: Tensor, *, tile: int | None = None) -> Tensor:
    """A new contiguous tensor (N, M) with y[n, m] = x[m, n], bit for bit.

    x (M, N): any sizes, also 0; any strides, also 0; floats, integers, booleans, complex numbers of
    at most 64 bits. On a GPU the kernel runs there, on the current stream; a tensor on the CPU is
    computed by the same kernel on the virtual GPU. tile: rows and columns of a block's tile, 16, 32
    or 64; the fastest for the tensor if left out. Tensors that need no tiles (one row or column,
    columns that are contiguous) are copied without them.

    Gradients flow through it: its derivative is itself. It never falls back on torch. What PyTorch
    has not for operators written in Python is refused: forward mode, torch.func's grad and vmap.

    Raises:
        UsageError: not a tensor, not 2-D, a dtype wider than 64 bits, another tile, a device where
            no kernel runs, a dual tensor.
        PlatformError: a GPU older than compute capability 8.0.
    """
    if torch.compiler.is_compiling() or not _plain(x):
        check(x, tile)
        result: Tensor = torch.ops.forgekit.copy_transpose(x, tile)
        return result
    if tile is not None:
        check(x, tile)
    return _run(x, tile)


def _plain(x: Tensor) -> bool:
    """Whether the dispatcher would do nothing but call the kernel."""
    return (
        type(x) is Tensor
        and (x.is_cuda or x.is_cpu)
        and not (x.requires_grad and torch.is_grad_enabled())
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._len_torch_function_stack()
        and torch._C._functorch.peek_interpreter_stack() is None
        and forward_ad._current_level < 0
    )


def _run(x: Tensor, tile: int | None) -> Tensor:
    """Allocate and launch. One dictionary look-up decides: host time counts for small tensors."""
    try:
        arch = None if x.is_cuda else _virtual_arch(x)
        M, N = x.shape
        run = launcher(x.dtype, arch, (M, N), x.stride(), x.data_ptr() % VECTOR_BYTES, tile)
    except (RuntimeError, TypeError, ValueError):
        check(x, tile)  # says it in the user's terms
        raise
    y = x.new_empty_strided((N, M), (M or 1, 1))
    if run is not None:
        run(x.resolve_neg() if x.is_neg() else x, y)
    return y


def _virtual_arch(x: Tensor) -> str:
    """The architecture of the virtual GPU that serves tensors on the CPU."""
    target = current_target()
    if target.kind != "virtual":
        remedy = 'move it with .to("cuda"), or choose fk.use_target("virtual")'
        raise UsageError(
            got_needed("x", f"a tensor on {x.device}", f"one on {target.name}", remedy)
        )
    return target.arch


def check(x: object, tile: object) -> None:
    """Raise UsageError, with what was got, what is needed and a remedy, for what cannot be done."""
    if not isinstance(x, Tensor):
        raise UsageError(
            got_needed("x", type(x).__name__, "a torch tensor", "torch.as_tensor(x) makes one")
        )
    if x.layout is not torch.strided:
        raise UsageError(got_needed("x", x.layout, "a strided tensor", "use x.to_dense()"))
    if x.dim() != 2:
        shape = f"{x.dim()} dimensions, shape {tuple(x.shape)}"
        remedy = (
            "choose rows and columns with x.reshape(rows, columns), or transpose slice by slice"
        )
        raise UsageError(got_needed("x", shape, "2 dimensions", remedy))
    if x.dtype not in _COMPLEX:
        dtype_info(x.dtype)
    if tile is not None and not (type(tile) is int and tile in TILES):
        needed = ", ".join(map(str, TILES)) + " or None"
        raise UsageError(got_needed("tile", repr(tile), needed, "leave it out for the fastest"))
    if x.device.type not in ("cuda", "cpu", "meta"):
        remedy = 'move it with .to("cuda") or .cpu()'
        raise UsageError(
            got_needed("x", f"a tensor on {x.device}", "one on a GPU or the CPU", remedy)
        )
    if x.device.type == "cpu":
        _virtual_arch(x)
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        remedy = "transpose primal and tangent one after the other"
        raise UsageError(got_needed("x", "a dual tensor", "one without a tangent", remedy))


@torch.library.custom_op(
    "forgekit::copy_transpose", mutates_args=(), schema="(Tensor x, int? tile=None) -> Tensor"
)
def _operator(x: Tensor, tile: int | None = None) -> Tensor:
    check(x, tile)
    return _run(x, tile)


@_operator.register_fake
def _(x: Tensor, tile: int | None = None) -> Tensor:
    if x.dim() != 2:
        check(x, tile)
    return x.new_empty((x.shape[1], x.shape[0]))


def _remember_tile(ctx: object, inputs: tuple[Tensor, int | None], output: Tensor) -> None:
    ctx.tile = inputs[1]  # type: ignore[attr-defined]


def _backward(ctx: object, grad: Tensor) -> tuple[Tensor, None]:
    return torch.ops.forgekit.copy_transpose(grad, ctx.tile), None  # type: ignore[attr-defined]


_operator.register_autograd(_backward, setup_context=_remember_tile)
