"""What the operators share: when PyTorch's dispatcher is needed, and what they refuse."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from forgekit.devices import current_target
from forgekit.errors import UsageError, brief, got_needed

__all__ = [
    "FLOATS",
    "batched",
    "check_float",
    "check_tensor",
    "check_variant",
    "contiguous_stride",
    "normal_dim",
    "plain",
    "plain_pair",
    "quiet",
    "recorder",
    "virtual_arch",
]

FLOATS = (torch.float16, torch.bfloat16, torch.float32)

_RECORDED = (Tensor, torch.nn.Parameter)

# Looked up once: `plain` stands before every launch.
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transformation = torch._C._functorch.peek_interpreter_stack
batched = torch._C._functorch.is_legacy_batchedtensor  # many gradients as one, without memory
_tracing = torch._C._is_tracing
_grad_enabled = torch.is_grad_enabled


def plain(x: Tensor) -> bool:
    """Whether the dispatcher would do nothing but call the kernel.

    It does more for a gradient, a tensor of a subclass, a fake tensor, and where something watches
    (see `_unwatched`); and for what is `batched`, which costs too much to ask before each launch:
    its address cannot be had, and then is the time.
    """
    return (
        type(x) is Tensor
        and (x.is_cuda or x.is_cpu)
        and not (x.requires_grad and _grad_enabled())
        and _unwatched()
    )


def plain_pair(x: Tensor, y: Tensor) -> bool:
    """`plain` for two tensors at once."""
    return (
        type(y) is Tensor
        and (y.is_cuda or y.is_cpu)
        and not (y.requires_grad and _grad_enabled())
        and plain(x)
    )


def quiet(*tensors: object) -> bool:
    """Whether the dispatcher would do nothing but record a gradient: then `recorder` does the
    same in a fifth of the time."""
    return (
        all(
            type(x) in _RECORDED and (x.is_cuda or x.is_cpu) and not batched(x)  # type: ignore[attr-defined,arg-type]
            for x in tensors
        )
        and _unwatched()
    )


def _unwatched() -> bool:
    """No mode, no transformation of torch.func, no forward mode, no trace is under way."""
    return (
        not _dispatch_modes()
        and not _function_modes()
        and _transformation() is None
        and forward_ad._current_level < 0
        and not _tracing()
    )


def recorder(run: Any, remember: Any, backward: Any) -> Callable[..., Tensor]:
    """`run` with a derivative, without the dispatcher: remember and backward are those that the
    operator's `register_autograd` takes."""

    class Recorded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Tensor:  # a setup_context of its own costs 30 us
            result: Tensor = run(*inputs)
            remember(ctx, inputs, result)
            return result

    Recorded.backward = staticmethod(backward)  # type: ignore[method-assign]
    apply: Callable[..., Tensor] = Recorded.apply
    return apply


def virtual_arch(x: Tensor) -> str:
    """The architecture of the virtual GPU that serves tensors on the CPU.

    Raises:
        UsageError: kernels run on the GPU here, and x is not there.
    """
    target = current_target()
    if target.kind != "virtual":
        remedy = 'move it with .to("cuda"), or choose fk.use_target("virtual")'
        raise UsageError(
            got_needed("x", f"a tensor on {x.device}", f"one on {target.name}", remedy)
        )
    return target.arch


def check_tensor(x: object, name: str = "x") -> None:
    """Raise UsageError for what is no strided tensor on a GPU or the CPU, and for derivatives that
    PyTorch does not have for operators written in Python."""
    if not isinstance(x, Tensor):
        raise UsageError(
            got_needed(
                name, type(x).__name__, "a torch tensor", f"torch.as_tensor({name}) makes one"
            )
        )
    if x.is_nested:
        remedy = "torch.nested.to_padded_tensor makes one"
        raise UsageError(got_needed(name, "a nested tensor", "one with a single shape", remedy))
    if x.layout is not torch.strided:
        raise UsageError(got_needed(name, x.layout, "a strided tensor", f"use {name}.to_dense()"))
    if x.device.type not in ("cuda", "cpu", "meta"):
        remedy = 'move it with .to("cuda") or .cpu()'
        raise UsageError(
            got_needed(name, f"a tensor on {x.device}", "one on a GPU or the CPU", remedy)
        )
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        remedy = "use reverse mode, or compute primal and tangent one after the other"
        raise UsageError(got_needed(name, "a dual tensor", "one without a tangent", remedy))
    if _inside_grad(x):
        got = "a tensor inside torch.func.grad, vjp or jacrev"
        remedy = "use torch.autograd.grad, or torch.autograd.functional.jacobian"
        raise UsageError(got_needed(name, got, "one outside", remedy))


def _inside_grad(x: Tensor) -> bool:
    """Whether torch.func.grad or the like differentiates by x, at any level."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(x):
        if functorch.is_gradtrackingtensor(x):
            return True
        x = functorch.get_unwrapped(x)
    return False


def check_float(dtype: torch.dtype, name: str = "x") -> None:
    """Raise UsageError for a dtype that sums and softmax are not computed in."""
    if dtype in FLOATS:
        return
    if dtype.is_complex:
        remedy = f"take {name}.real and {name}.imag, or {name}.abs()"
    elif dtype is torch.float64:
        remedy = f"convert it with {name}.float(), or keep the precision with torch's own function"
    else:
        remedy = f"convert it with {name}.float()"
    needed = "one of " + ", ".join(str(known).removeprefix("torch.") for known in FLOATS)
    raise UsageError(got_needed(f"{name}.dtype", str(dtype).removeprefix("torch."), needed, remedy))


def check_variant(variant: object, variants: tuple[str, ...]) -> None:
    """Raise UsageError for what is neither None nor one of the variants."""
    if not (variant is None or (isinstance(variant, str) and variant in variants)):
        needed = ", ".join(variants) + " or None"
        raise UsageError(
            got_needed("variant", brief(variant), needed, "leave it out for the fastest")
        )


def _index(value: object) -> int | None:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def normal_dim(dim: object, ndim: int) -> int:
    """dim counted from 0; 0 for a tensor without dimensions, whose only element is its one row.

    Raises:
        UsageError: not an int, or not a dimension of such a tensor.
    """
    number = None if isinstance(dim, bool | Tensor) else _index(dim)
    if number is None:
        several = isinstance(dim, tuple | list)
        remedy = (
            "take one after the other, or join them with x.flatten()"
            if several
            else "count from 0, or from -1 backwards"
        )
        got = "None" if dim is None else f"{type(dim).__name__} {brief(dim)}"
        raise UsageError(got_needed("dim", got, "one int", remedy))
    sizes = max(ndim, 1)
    if not -sizes <= number < sizes:
        has = f"an int from {-sizes} to {sizes - 1}, as the tensor has {ndim} dimensions"
        raise UsageError(got_needed("dim", number, has, "use -1 for the last one"))
    return number % sizes


def contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a new tensor of this shape."""
    strides = [1]
    for size in shape[:0:-1]:
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides)) if shape else ()
