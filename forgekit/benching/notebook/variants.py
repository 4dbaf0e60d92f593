"""Check a variant's result, then measure the variant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from forgekit.benching.measuring import Measured, measure
from forgekit.checking.compare import compare
from forgekit.compiling.compiled import CompiledKernel
from forgekit.devices import Target
from forgekit.dtypes import tolerance
from forgekit.errors import CheckError, brief, usage_error
from forgekit.tensors import poison
from forgekit.vgpu import HOST

_CHUNK = 2**26  # elements per chunk of a comparison


@dataclass(frozen=True, eq=False)
class Plan:
    """The data that all variants share. tensors: the tensors in `args`. expected: the expected
    result, or None if there is no reference.
    """

    args: tuple[Any, ...]
    tensors: tuple[torch.Tensor, ...]
    expected: Any
    tolerances: tuple[float | None, float | None]
    repeats: int


def failed(error: Exception) -> str:
    """Return the reason why a variant was not measured."""
    if isinstance(error, CheckError):
        report = error.report
        return f"wrong result: {report.wrong:,} of {report.total:,} elements differ"
    first = (str(error).strip().splitlines() or [""])[0]
    return f"failed: {type(error).__name__}: {first}"


def check_variants(variants: object) -> None:
    """Raise UsageError unless `variants` is a dict that maps at least one name to a function."""
    example = '{"naive": run, "torch": lambda x, y: x.T.contiguous()}'
    if not isinstance(variants, Mapping):
        got = type(variants).__name__
        raise usage_error("variants", got, "a dict from names to functions", f"write {example}")
    if not variants:
        raise usage_error("variants", "none", "at least one", f"write {example}")
    for name, call in variants.items():
        if not isinstance(name, str) or not name.strip():
            needed = "a name for the table"
            raise usage_error("variant's name", brief(name), needed, f"write {example}")
        if not callable(call):
            needed = "a compiled kernel or a function of the arguments"
            remedy = "pass the function itself, not its result"
            raise usage_error(f"variant {name!r}", type(call).__name__, needed, remedy)


def check_places(tensors: Sequence[torch.Tensor], target: Target) -> None:
    """Raise UsageError for a tensor that is not on the target's device, because times would be
    meaningless and counts incomplete.
    """
    for tensor in tensors:
        if tensor.dim() and HOST.real_device(tensor) != target.torch_device.type:
            device = target.torch_device.type
            remedy = f'create it with a function such as fk.randn, or call .to("{device}")'
            raise usage_error("argument", f"a tensor on {tensor.device}",
                              f"a tensor for {target.name}", remedy)  # fmt: skip


def run_variant(
    name: str, call: Callable[..., Any], plan: Plan, target: Target
) -> tuple[Measured, int]:
    """Check a variant's result. Return the variant's cost, and the size in bytes of the new tensor
    that it returns (0 if it writes to an argument).

    Raises:
        Exception: the variant's error, after the last argument has been restored.
        CheckError: the variant's result is wrong.
        UsageError: the variant was compiled for another kind of target, or has no result.
    """
    if isinstance(call, CompiledKernel) and call.target.kind != target.kind:
        got, needed = f"a kernel for {call.target.name}", f"a kernel for {target.name}"
        remedy = "compile it for this target, or choose the target with fk.use_target"
        raise usage_error(f"variant {name!r}", got, needed, remedy)
    before = plan.tensors[-1].clone() if plan.expected is not None and plan.tensors else None
    try:
        return _checked_and_measured(name, call, plan, target)
    except Exception:
        if before is not None:  # the variant may write to a different tensor
            plan.tensors[-1].copy_(before)
        raise


def _checked_and_measured(
    name: str, call: Callable[..., Any], plan: Plan, target: Target
) -> tuple[Measured, int]:
    kept: list[Any] = []

    def once() -> None:
        kept[:] = [call(*plan.args)]

    _poison(call, plan)
    measured = None
    if target.kind == "gpu":  # check the result before timing
        once()
        torch.cuda.synchronize()
    else:  # one run is both counted and checked
        measured = measure(once, moved_bytes=0, predict=True)
    result = kept[0]
    fresh = isinstance(result, torch.Tensor) and not _shares(result, plan.tensors)
    if plan.expected is not None:
        _check(name, result, call, plan)
    if measured is None:
        measured = measure(lambda: call(*plan.args), moved_bytes=0, repeats=plan.repeats)
    return measured, _reached(result) if fresh else 0


# -- results --------------------------------------------------------------------------------------
def _poison(call: object, plan: Plan) -> None:
    """Overwrite a compiled kernel's output, so that no other variant's result is left in it."""
    writes = isinstance(call, CompiledKernel)  # a compiled kernel returns None
    if plan.expected is not None and writes and len(plan.tensors) > 1:
        plan.tensors[-1].fill_(poison(plan.tensors[-1].dtype))


def _check(name: str, result: Any, call: Callable[..., Any], plan: Plan) -> None:
    """Compare the tensor that a variant returned, or, if it returned none, the tensor that it wrote
    to, with the expected tensor.

    Raises:
        CheckError: the result is wrong.
        UsageError: there is no result, or the result cannot be compared.
    """
    returns = isinstance(result, torch.Tensor)
    if not returns and not plan.tensors:
        needed = "a tensor that it returns or writes"
        raise usage_error(f"variant {name!r}", "no result", needed, "return the result")
    last = plan.tensors[-1:]
    wrote = not returns or _shares(result, last)
    # known only after a run
    if wrote and len(plan.tensors) > 1 and not isinstance(call, CompiledKernel):
        last[0].fill_(poison(last[0].dtype))
        result = call(*plan.args)
    rtol, atol = plan.tolerances
    actual = result if isinstance(result, torch.Tensor) else last[0]
    if _plainly_right(actual, plan.expected, rtol):
        return
    report = compare(actual, plan.expected, rtol=rtol, atol=atol)
    if not report.ok:
        raise CheckError(str(report), report)


def _plainly_right(actual: torch.Tensor, expected: Any, rtol: float | None) -> bool:
    """Return True if all values are within the relative tolerance. This test runs on the device,
    because `compare` would take seconds for a large result; `compare` runs only if this test fails.
    """
    if not isinstance(expected, torch.Tensor) or actual.shape != expected.shape:
        return False
    if actual.device != expected.device or actual.dtype != expected.dtype:
        return False
    if not actual.dtype.is_floating_point or actual.element_size() < 2:
        return False
    within = 0.9 * tolerance(actual.dtype)[0] if rtol is None else 0.9 * rtol
    got, want = actual.detach().reshape(-1), expected.detach().reshape(-1)
    parts = zip(got.split(_CHUNK), want.split(_CHUNK), strict=True)
    return all(bool(torch.isclose(g, w, rtol=within, atol=0.0).all()) for g, w in parts)


def _shares(tensor: torch.Tensor, others: Sequence[torch.Tensor]) -> bool:
    """Return True if the tensor shares memory with one of the other tensors."""
    mine = tensor.untyped_storage().data_ptr()
    return any(mine == other.untyped_storage().data_ptr() for other in others)


# -- bytes ----------------------------------------------------------------------------------------
def moved_by_default(args: tuple[Any, ...], returned_bytes: Sequence[int]) -> int:
    """Return the bytes of all distinct tensor arguments, plus the bytes of a new tensor if every
    variant that ran returns one.
    """
    seen: dict[tuple[str, int, int], int] = {}
    for tensor in (a for a in args if isinstance(a, torch.Tensor)):
        reached = _reached(tensor)
        seen[str(tensor.device), tensor.data_ptr(), reached] = reached
    return sum(seen.values()) + (max(returned_bytes) if all(returned_bytes) else 0)


def _reached(tensor: torch.Tensor) -> int:
    """Return the bytes of a tensor's distinct elements; a dimension with stride 0 counts as one
    element.
    """
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return math.prod(n if step or not n else 1 for n, step in sizes) * tensor.element_size()
