"""Gates on values: many small sizes in several types, and awkward ones above all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forgekit.errors import KernelError
from forgekit.lessons.gates.failure import Evidence, GateError, Group, Slip, explained

if TYPE_CHECKING:
    from forgekit.lessons.gates.submission import Case, MakeCase, Submission

__all__ = ["values"]


def values(
    make: MakeCase,
    sizes: Sequence[tuple[int, ...]],
    dtypes: Sequence[str] = ("float32",),
    *,
    name: str = "Values",
    slips: Sequence[Slip] = (),
    look_at: str = "",
    **tolerances: float,
) -> Group:
    """A group that runs all sizes in all types and compares every result.

    On a machine with a GPU each case that is right on the virtual GPU runs on the GPU as well; in
    this order, since a wrong access on a GPU can end the notebook's kernel.

    Args:
        make: `make(*size, dtype=)` gives a Case; dtype is torch's. sizes: the easiest to read
            first, for the first that fails is the one explained. dtypes: names such as "float16".
        slips: misconceptions to recognise. look_at: what to look at where none is.
        tolerances: rtol and atol of `fk.check`.
    """

    def run(handed_in: Submission) -> str:
        import torch

        from forgekit.devices import current_target

        devices = ["virtual"] + (["gpu"] if current_target().kind == "gpu" else [])
        for dtype in dtypes:
            for size in sizes:
                case = make(*size, dtype=getattr(torch, dtype))
                for device in devices:
                    _one(handed_in, case, device, slips, look_at, tolerances)
        types = f"{len(dtypes)} types" if len(dtypes) > 1 else dtypes[0]
        on_gpu = ", also on this GPU" if "gpu" in devices else ""
        count = f"{len(sizes)} size{'s' * (len(sizes) != 1)}"
        return f"{count} in {types}{on_gpu}"

    return Group(name, run)


def _one(
    handed_in: Submission,
    case: Case,
    device: str,
    slips: Sequence[Slip],
    look_at: str,
    tolerances: dict[str, Any],
) -> None:
    from forgekit.checking.check import compare

    try:
        args = handed_in.run(case, device)
    except KernelError as error:
        evidence = Evidence(kinds=(error.kind or "",), text=str(error), case=case)
        happened = f"With {case.label} the kernel was stopped.\n{error}"
        raise GateError(happened, explained(slips, evidence), look_at) from None
    _check_inputs(args, case)
    names = [p.name for p in handed_in.compiled(case, device).parameters]
    for position, want in case.expected.items():
        report = compare(
            args[position].cpu(), want, name=names[position], max_shown=3, tile=case.tile,
            **tolerances,
        )  # fmt: skip
        if report.ok:
            continue
        got = {k: args[k].cpu() for k in case.expected}
        evidence = Evidence(hints=report.hints, text=str(report), got=got, case=case)
        where = " on the GPU (on the virtual GPU it is right)" if device == "gpu" else ""
        happened = f"With {case.label} the result is wrong{where}.\n{report}"
        raise GateError(happened, explained(slips, evidence), look_at)


def _check_inputs(args: dict[int, Any], case: Case) -> None:
    """What is only to be read has to hold afterwards what it held before."""
    import torch

    for position, after in args.items():
        before = case.args[position]
        if position in case.expected or not isinstance(before, torch.Tensor):
            continue
        if not torch.equal(after.cpu().nan_to_num(), before.nan_to_num()):
            raise GateError(
                f"With {case.label} the kernel has changed its input, argument {position + 1}.",
                look_at="Write only into the output.",
            )
