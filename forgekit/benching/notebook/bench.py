"""bench() and sweep(): measure variants of a computation side by side.

    fk.bench({"naive": a, "padded": b, "torch": lambda x, y: x.T.contiguous()}, x, y)
    fk.sweep(variants, lambda n: (fk.randn(n, n), fk.empty(n, n)), [256, 512, 1024]).plot()

On a GPU, they report median times with a cold L2 cache, relative to the time of a copy. On the
virtual GPU, they report exact counts and predicted times, next to the times of a recorded run.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from forgekit.arguments import checked, dense
from forgekit.benching.measuring import Measured
from forgekit.benching.notebook.results import Benchmark, Size, Sweep, VariantOutcome
from forgekit.benching.notebook.variants import (
    Plan,
    check_places,
    check_variants,
    failed,
    moved_by_default,
    run_variant,
)
from forgekit.benching.recorded import Recorded
from forgekit.benching.recorded import recorded as recorded_named
from forgekit.benching.timing import ceiling_gbps
from forgekit.devices import current_target
from forgekit.errors import brief, usage_error

Variants = Mapping[str, Callable[..., Any]]
Number = int | Callable[..., int]


@checked(rtol=(0, None), atol=(0, None), repeats=(1, None))
def bench(
    variants: Variants,
    *args: Any,
    moved_bytes: Number | None = None,
    reference: Callable[..., torch.Tensor] | torch.Tensor | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    recorded: Recorded | str | None = None,
    repeats: int = 50,
) -> Benchmark:
    """Measure variants of a computation on the same arguments.

    On a GPU, each variant is timed with CUDA events, with L2 flushed before each call; the median
    is reported. The ceiling, the rate of a copy, is measured in the same run. On the virtual GPU
    each variant runs once, without the sanitizer; its launches are counted, and its time is
    predicted from these counts. A function that launches no kernel there, such as a torch function
    on the CPU, is listed as "not counted here". A variant that raises an exception or returns a
    wrong result is not measured; the table states the reason, and the other variants are still
    measured. If no variant can be measured, the first error is raised.

    Args:
        variants: a dict that maps names to compiled kernels or to functions that take the
            arguments.
        args: the arguments of each variant.
        moved_bytes: the bytes that a call must move, as a number or a function of the arguments; by
            default the bytes of each tensor argument, plus those of the result if every variant
            returns one.
        reference: the expected result, or a function of the arguments that returns it, computed
            before any variant runs. A variant's result is the tensor that it returns; if it returns
            none, the result is its last tensor argument, which is filled with NaN (as by
            `fk.empty`) before the call.
        rtol, atol: tolerances, as for `fk.check`.
        recorded: a recorded run, or its name. The times of its steps that have the variants' names
            and the first tensor's dtype are shown next to the counts.
        repeats: the number of timed calls on a GPU.

    Raises:
        UsageError: there are no variants, a name is not a string, a variant cannot be called, a
            tensor is not on the target's device, a number is invalid, or the recorded run does not
            exist.
        Exception: the first variant's error, if no variant could be measured; CheckError if that
            variant's result was wrong.
    """
    check_variants(variants)
    shown = recorded_named(recorded) if isinstance(recorded, str) else recorded
    if shown is not None and not isinstance(shown, Recorded):
        remedy = 'use recorded="week0/07_transpose", for example'
        raise usage_error("recorded", brief(shown), "a Recorded or its name", remedy)
    tensors = tuple(a for a in args if isinstance(a, torch.Tensor))
    plan = Plan(args, tensors, _expected(reference, args), (rtol, atol), repeats)
    target = current_target()
    check_places(tensors, target)
    moved = _moved(moved_bytes, args)
    runs: dict[str, tuple[Measured, int]] = {}
    errors: dict[str, Exception] = {}
    for name, call in variants.items():
        try:
            runs[name] = run_variant(name, call, plan, target)
        except Exception as error:
            errors[name] = error
    if not runs:
        raise next(iter(errors.values()))
    returned = [returned_bytes for _, returned_bytes in runs.values()]
    needed = moved if moved is not None else moved_by_default(args, returned)
    found = {name: replace(measured, moved_bytes=needed) for name, (measured, _) in runs.items()}
    reasons = {name: failed(error) for name, error in errors.items()}
    return Benchmark(
        outcomes=tuple(VariantOutcome(n, found.get(n), reasons.get(n, "")) for n in variants),
        kind=target.kind,
        where=target.name,
        arguments=", ".join(map(_argument_text, args)) or "no arguments",
        shape=tuple(tensors[0].shape) if tensors else (),
        dtype=str(tensors[0].dtype).removeprefix("torch.") if tensors else "",
        moved_bytes=needed,
        moved_given=moved is not None,
        ceiling_gbps=_ceiling() if target.kind == "gpu" else None,
        checked=reference is not None,
        recorded=shown,
        date=datetime.date.today().isoformat(),
    )


@checked()
def sweep(
    variants: Variants | Callable[..., Variants],
    make_arguments: Callable[[Any], Any],
    sizes: Sequence[Size],
    *,
    axis: str = "size",
    **options: Any,
) -> Sweep:
    """Run `bench` for each of several sizes.

    Args:
        variants: as for `bench`; or, for kernels that are compiled per size, a function of the
            arguments that returns such a dict.
        make_arguments: a function that takes a size and returns the arguments, as a tuple or one
            tensor.
        sizes: integers, or tuples of integers such as (rows, columns). The plot orders tuples by
            their products.
        axis: a label for the sizes in the plot and the table, such as "N of N×N float32".
        options: options of `bench`, except that `reference` and `moved_bytes` must be functions.

    Raises:
        UsageError: there are no sizes, an option does not exist, or `bench` raises UsageError.
        Exception: at one of the sizes, no variant can be measured.
    """
    wanted = _sizes(sizes)
    for name in ("reference", "moved_bytes"):
        given = options.get(name)
        if given is not None and not callable(given):
            remedy = "pass a function, because the value depends on the size"
            raise usage_error(
                name, brief(type(given).__name__), "a function of the arguments", remedy
            )
    found = []
    for size in wanted:
        made = make_arguments(size)
        args = made if isinstance(made, tuple) else (made,)
        here = variants(*args) if callable(variants) else variants
        found.append(bench(here, *args, **options))
    return Sweep(wanted, tuple(found), axis)


def _argument_text(value: object) -> str:
    """Return text such as `512×300 float32`."""
    if isinstance(value, torch.Tensor):
        size = "×".join(map(str, value.shape)) or "scalar"
        return f"{size} {str(value.dtype).removeprefix('torch.')}"
    text = repr(value)
    return text if len(text) <= 20 else type(value).__name__


# -- input from users ------------------------------------------------------------------------
def _sizes(sizes: Sequence[Size]) -> tuple[Size, ...]:
    if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not sizes:
        remedy = "write [256, 512, 1024]"
        raise usage_error("sizes", brief(sizes), "a list of sizes", remedy)
    for size in sizes:
        if not all(type(n) is int and n > 0 for n in _parts(size)):
            needed = "positive integers, or tuples of positive integers"
            raise usage_error("sizes", brief(size), needed, "correct this size")
    return tuple(sorted(set(sizes), key=lambda size: (math.prod(_parts(size)), _parts(size))))


def _parts(size: Size) -> tuple[Any, ...]:
    return size if isinstance(size, tuple) and size else (size,)


def _moved(given: Number | None, args: tuple[Any, ...]) -> int | None:
    value = given(*args) if callable(given) else given
    if given is not None and (type(value) is not int or value <= 0):
        needed = "a positive integer, or a function of the arguments that returns one"
        remedy = "add up x.numel() * x.element_size() of the tensors read and written"
        raise usage_error("moved_bytes", brief(value), needed, remedy)
    return value


def _expected(reference: Any, args: tuple[Any, ...]) -> Any:
    """Return the expected result, in memory that it does not share with any argument."""
    value = reference(*args) if callable(reference) else reference
    if value is None and reference is not None:
        needed = "the expected tensor, or a function that returns it"
        remedy = "write reference=lambda x, y: x.T"
        raise usage_error("reference", "a function that returns None", needed, remedy)
    if hasattr(value, "is_nested"):
        dense("reference", value)
    return value.clone() if hasattr(value, "clone") else value


def _ceiling() -> float:
    """Measure the rate of a copy in GB/s. The copy moves 1 GB if memory allows."""
    free, _ = torch.cuda.mem_get_info()
    return ceiling_gbps(min(10**9, free // 4))
