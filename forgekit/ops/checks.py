"""Check the operators' arguments. Each error states the given value, the required value and a
remedy."""

from __future__ import annotations

import operator

import torch
from torch import Tensor
from torch.autograd import forward_ad

from forgekit.devices import current_target
from forgekit.errors import brief, usage_error

FLOATS = (torch.float16, torch.bfloat16, torch.float32)

# Returns True for a tensor of batched gradients (`is_grads_batched=True`), which has no memory.
batched = torch._C._functorch.is_legacy_batchedtensor


def virtual_arch(x: Tensor) -> str:
    """Return the architecture of the virtual GPU that runs kernels on CPU tensors.

    Raises:
        UsageError: the target is a GPU, but x is not on a GPU.
    """
    target = current_target()
    if target.kind != "virtual":
        remedy = 'move it with .to("cuda"), or choose fk.use_target("virtual")'
        raise usage_error("x", f"a tensor on {x.device}", f"a tensor on {target.name}", remedy)
    return target.arch


def check_tensor(x: object, name: str = "x") -> None:
    """Raise UsageError unless x is a strided tensor on a GPU or the CPU.

    The error is also raised if x needs a derivative that PyTorch does not support for operators
    written in Python."""
    if not isinstance(x, Tensor):
        remedy = f"use torch.as_tensor({name})"
        raise usage_error(name, type(x).__name__, "a torch tensor", remedy)
    if x.is_nested:
        remedy = "use torch.nested.to_padded_tensor"
        raise usage_error(name, "a nested tensor", "a tensor with a single shape", remedy)
    if x.layout is not torch.strided:
        raise usage_error(name, x.layout, "a strided tensor", f"use {name}.to_dense()")
    if x.device.type not in ("cuda", "cpu", "meta"):
        remedy = 'move it with .to("cuda") or .cpu()'
        raise usage_error(name, f"a tensor on {x.device}", "a tensor on a GPU or the CPU", remedy)
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        remedy = "use reverse mode, or compute primal and tangent separately"
        raise usage_error(name, "a dual tensor", "one without a tangent", remedy)
    if _inside_grad(x):
        got = "a tensor inside torch.func.grad, vjp or jacrev"
        remedy = "use torch.autograd.grad, or torch.autograd.functional.jacobian"
        raise usage_error(name, got, "one outside", remedy)


def _inside_grad(x: Tensor) -> bool:
    """Return True if, at any nesting level, torch.func.grad or a similar function differentiates
    with respect to x."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(x):
        if functorch.is_gradtrackingtensor(x):
            return True
        x = functorch.get_unwrapped(x)
    return False


def check_float(dtype: torch.dtype, name: str = "x") -> None:
    """Raise UsageError for a dtype that sums and softmax do not support."""
    if dtype in FLOATS:
        return
    if dtype.is_complex:
        remedy = f"use {name}.real and {name}.imag, or {name}.abs()"
    elif dtype is torch.float64:
        remedy = f"convert it with {name}.float(), or keep the precision with torch's own function"
    else:
        remedy = f"convert it with {name}.float()"
    needed = "one of " + ", ".join(str(known).removeprefix("torch.") for known in FLOATS)
    raise usage_error(f"{name}.dtype", str(dtype).removeprefix("torch."), needed, remedy)


def check_variant(variant: object, variants: tuple[str, ...]) -> None:
    """Raise UsageError unless `variant` is None or is in `variants`."""
    if not (variant is None or (isinstance(variant, str) and variant in variants)):
        needed = ", ".join(variants) + " or None"
        remedy = "leave it out to use the fastest"
        raise usage_error("variant", brief(variant), needed, remedy)


def normal_dim(dim: object, ndim: int) -> int:
    """Return dim as a nonnegative index. A tensor without dimensions counts as one row of one
    element, so its index is 0.

    Raises:
        UsageError: `dim` is not an int, or is out of range for a tensor with `ndim` dimensions.
    """
    try:
        number = None if isinstance(dim, bool | Tensor) else operator.index(dim)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        several = isinstance(dim, tuple | list)
        remedy = (
            "reduce one dimension after another, or merge them with x.flatten()"
            if several
            else "count from 0, or backwards from -1"
        )
        got = "None" if dim is None else f"{type(dim).__name__} {brief(dim)}"
        raise usage_error("dim", got, "one int", remedy)
    sizes = max(ndim, 1)
    if not -sizes <= number < sizes:
        has = f"an int from {-sizes} to {sizes - 1}, because the tensor has {ndim} dimensions"
        raise usage_error("dim", number, has, "use -1 for the last dimension")
    return number % sizes


def check_backend_result(result: object, op: str, shape: tuple[int, ...], *given: object) -> None:
    """Raise UsageError unless a backend returned a new contiguous tensor of this shape, with the
    dtype and device of its first argument."""
    name, x = f"the backend of {op}", given[0]
    assert isinstance(x, Tensor)
    if not isinstance(result, Tensor):
        raise usage_error(name, type(result).__name__, "a tensor", "return the result")
    got = (tuple(result.shape), result.dtype, result.device)
    needed = (tuple(shape), x.dtype, x.device)
    if got != needed:
        words = ["{} {} on {}".format(*each) for each in (got, needed)]
        raise usage_error(name, words[0], words[1], "correct the function's result")
    if not result.is_contiguous():
        remedy = "return result.contiguous()"
        raise usage_error(name, f"strides {result.stride()}", "a contiguous tensor", remedy)
    if any(isinstance(each, Tensor) and _same_memory(result, each) for each in given):
        remedy = "write into torch.empty_like(x)"
        raise usage_error(
            name, "a tensor that shares memory with its input", "a new tensor", remedy
        )


def _same_memory(a: Tensor, b: Tensor) -> bool:
    if a.numel() == 0 or batched(a) or batched(b):
        return False
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
