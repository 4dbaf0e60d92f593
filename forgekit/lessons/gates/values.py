"""Gates on values: many small sizes in several types, and awkward ones above all."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forgekit.errors import KernelError
from forgekit.lessons.gates.gate import Evidence, GateError, Misconception, explained
from forgekit.lessons.gates.overrun import overrun_diagnosis
from forgekit.lessons.gates.submission import Case, Elsewhere, Group, MakeCase, Submission, secret
from forgekit.text import plural

_LONG = 20_000  # a longer size of `beyond` is not exceeded: its call alone takes long enough
SHOW = "{failed}.show() runs this very call again and draws what is wrong."


def values(
    make: MakeCase,
    sizes: Sequence[tuple[int, ...]],
    dtypes: Sequence[str] = ("float32",),
    *,
    misconceptions: Sequence[Misconception] = (),
    look_at: str = SHOW,
    drawn: int = 0,
    legal: Callable[..., tuple[int, ...]] | None = None,
    beyond: Sequence[tuple[int, ...]] = (),
    **tolerances: float,
) -> Group:
    """A group that runs all sizes, each in one of the types, and compares every result.

    A size that another group runs in an adversarial order is compared there; it runs in the usual
    one only where that run is wrong.

    On a machine with a GPU each case that is right on the virtual GPU runs on the GPU as well; in
    this order, since a wrong access on a GPU can end the notebook's kernel.

    Args:
        make: `make(*size, dtype=)` gives a Case; dtype is torch's. sizes: the easiest to read
            first, for the first that fails is the one explained. dtypes: names such as "float16".
        misconceptions: misconceptions to recognise. look_at: what to look at where none is.
        drawn: how many more sizes, up to the largest given, are drawn from
            `Submission.seed`; if any, one `secret_size` per mode joins them. legal: makes a
            size that may be of one that was drawn. beyond: as in `secret_size`.
        tolerances: rtol and atol of `fk.check`.
    """

    def one(submission: Submission, case: Case, device: str) -> None:
        try:
            args = submission.run(case, device)
        except KernelError as error:
            evidence = Evidence(kinds=(error.kind or "",), text=str(error), case=case, error=error)
            happened = f"With {case.label} the kernel was stopped.\n{error}"
            likely = _written(submission) or explained(
                misconceptions, evidence, otherwise=overrun_diagnosis(error.overrun)
            )
            raise GateError(happened, likely, "" if look_at == SHOW else look_at) from None
        check_values(submission, case, args, device, misconceptions, look_at, tolerances)

    def run(submission: Submission) -> str:
        from forgekit.devices import current_target

        devices = ["virtual"] + (["gpu"] if current_target().kind == "gpu" else [])
        more = drawn_sizes(sizes, drawn, submission.seed, legal)
        if drawn:
            more += [secret_size(sizes, legal, mode, beyond) for mode in range(len(sizes[0]))]
        every = list(dict.fromkeys([*sizes, *more]))  # one that was drawn may be known
        ordered = {size: dtype for of, size, dtype in submission.orders if of is make}
        for dtype, size in shared_out(every, dtypes, ordered):
            case = submission.case(make, size, dtype)
            for device in devices:
                if device == "gpu" or not right_in_other_orders(submission, case, tolerances):
                    one(submission, case, device)
        types = f"{len(dtypes)} types" if len(dtypes) > 1 else dtypes[0]
        on_gpu = ", also on this GPU" if "gpu" in devices else ""
        return f"{plural(len(every), 'size')} in {types}{on_gpu}"

    return Group("Values", run)


def shared_out(
    sizes: Sequence[tuple[int, ...]], dtypes: Sequence[str], given: dict[tuple[int, ...], str]
) -> list[tuple[str, tuple[int, ...]]]:
    """(type, size) of each call, the first sizes in the first type.

    given: types of some sizes. Sizes too few for two of each type run in every type.
    """
    left = [size for size in sizes if given.get(size) not in dtypes]
    if len(left) < 2 * len(dtypes):
        return [(dtype, size) for dtype in dtypes for size in sizes]
    share = {size: dtypes[k * len(dtypes) // len(left)] for k, size in enumerate(left)} | given
    return [(dtype, size) for dtype in dtypes for size in sizes if share[size] == dtype]


def drawn_sizes(
    sizes: Sequence[tuple[int, ...]],
    count: int,
    seed: int,
    legal: Callable[..., tuple[int, ...]] | None = None,
) -> list[tuple[int, ...]]:
    """Sizes between 1 and the largest of `sizes`, mode by mode, small ones as likely as large."""
    draw, largest = random.Random(seed), [max(mode) for mode in zip(*sizes, strict=True)]
    found = [tuple(max(1, round(m ** draw.random())) for m in largest) for _ in range(count)]
    return [legal(*size) for size in found] if legal else found


def secret_size(
    sizes: Sequence[tuple[int, ...]],
    legal: Callable[..., tuple[int, ...]] | None = None,
    mode: int = -1,
    beyond: Sequence[tuple[int, ...]] = (),
) -> tuple[int, ...]:
    """Return the listed size that is largest in a mode, enlarged there by 25 to 50 %.

    A secret decides by how much: in a class the judge's, elsewhere one that each process draws.

    beyond: sizes listed elsewhere, which the result exceeds as well.
    """
    draw = random.Random(secret())
    size = [*max(sizes, key=lambda s: s[mode])]
    if mode % len(size):  # enough rows for every kind that `Draw` makes
        size[0] = max(size[0], 8)
    size[mode] = max(s[mode] for s in (*sizes, *beyond) if s[mode] <= max(_LONG, size[mode]))
    size[mode] += draw.randint(size[mode] // 4 + 1, size[mode] // 2 + 8)
    return legal(*size) if legal else tuple(size)


def unknown_size(
    sizes: Sequence[tuple[int, ...]], legal: Callable[..., tuple[int, ...]] | None = None
) -> tuple[int, ...]:
    """Return a size that the `secret` decides: the first mode is 1 to 25 % larger than any listed,
    the others, which a task may limit, are at least half as large as the largest listed."""
    draw, largest = random.Random(secret()), [max(mode) for mode in zip(*sizes, strict=True)]
    size = [draw.randint(-(-most // 2), most) for most in largest]
    size[0] = largest[0] + draw.randint(1, max(8, largest[0] // 4))
    return legal(*size) if legal else tuple(size)


def right_in_other_orders(
    submission: Submission, case: Case, tolerances: Mapping[str, Any] | None = None
) -> bool:
    """True if a gate wants the case in adversarial orders and all of these runs are right."""
    from forgekit.checking.compare import compare

    results = submission.in_other_orders(case)
    chosen = case.tolerances | dict(tolerances or {})
    return bool(results) and all(
        _changed_input(args, case) is None
        and all(compare(args[k], want, **chosen).ok for k, want in case.expected.items())
        for args in results
    )


def check_values(
    submission: Submission,
    case: Case,
    args: dict[int, Any],
    device: str = "virtual",
    misconceptions: Sequence[Misconception] = (),
    look_at: str = SHOW,
    tolerances: dict[str, Any] | None = None,
) -> None:
    """Compare what a call left in its arguments with what is expected.

    Raises:
        GateError: an output is wrong, or an input has changed.
    """
    from forgekit.checking.compare import compare

    changed = _changed_input(args, case)
    if changed is not None:
        raise GateError(
            f"With {case.label} the kernel has changed its input, argument {changed + 1}.",
            look_at="Write only into the output; what is used in between has to hold in the end "
            "what it held before.",
        )
    names = [p.name for p in submission.compiled(case, device).parameters]
    for position, want in case.expected.items():
        report = compare(
            args[position].cpu(), want, name=names[position], max_shown=3, tile=case.tile,
            **(case.tolerances | (tolerances or {})),
        )  # fmt: skip
        if report.ok:
            continue
        got = {k: args[k].cpu() for k in case.expected}
        where = " on the GPU (on the virtual GPU it is right)" if device == "gpu" else ""
        happened = f"With {case.label} the result is wrong{where}.\n{report}"
        kinds, found = _findings(submission, case) if device == "virtual" else ((), "")
        if found:
            happened += f"\n\nThe sanitizer says of this very call:\n{found}"
        evidence = Evidence(kinds, report.hints, str(report), got, case)
        likely = _written(submission) or explained(misconceptions, evidence)
        if not likely and not found:
            partly = device == "gpu" or "unwritten-output" in kinds  # a NaN may be computed, too
            likely = _unwritten(submission, case, got[position], partly)
            likely = likely or _unread(submission, case)
        raise GateError(happened, likely, look_at)


def _findings(submission: Submission, case: Case) -> tuple[tuple[str, ...], str]:
    """Kinds of what the sanitizer finds in a call, its notes too, and the first error in words."""
    from forgekit.checking.sanitize import sanitize

    report = sanitize(submission.compiled(case), *submission.arguments(case).values())
    found = report.errors
    return tuple(f.kind for f in report.findings), found[0].counted if found else ""


def _written(submission: Submission) -> str:
    """The first thing in the source that compiles and cannot be meant."""
    from forgekit.diagnosing.lint import find_mistakes

    value = submission.value
    found = value.mistakes() if isinstance(value, Elsewhere) else find_mistakes(value)
    return next(iter(found), "")


def _unread(submission: Submission, case: Case) -> str:
    """Which inputs no thread reads."""
    from forgekit.tracing.footprint import MOST_ELEMENTS, footprint

    run = submission.compiled(case)
    sizes = {k: value.numel() for k, value in enumerate(case.args) if hasattr(value, "numel")}
    if max(sizes.values()) > MOST_ELEMENTS:
        return ""
    touched = footprint(run, *submission.arguments(case).values(), kind="load").touched
    inputs = [run.parameters[k].name for k, n in sizes.items() if n and k not in case.expected]
    never = [name for name in inputs if not touched[name]["count"].any()]
    if not never:
        return ""
    dropped = ""
    if len(never) == len(inputs) > 1:
        dropped = (
            " Where your code does: what is computed with registers that nothing was copied to is "
            "no value, and the compiler drops it with all the loads for it."
        )
    return f"no thread reads {' or '.join(never)}.{dropped}"


def _unwritten(submission: Submission, case: Case, got: Any, partly: bool) -> str:
    """What the launch itself says of elements that still hold the poison: nothing was stored, or,
    if some were certainly not, fewer threads than elements were launched and those beyond them are
    the ones missing."""
    from forgekit.tensors import poison

    blank = got.isnan() if got.is_floating_point() else got == poison(got.dtype)
    if not blank.any():
        return ""
    profile, _ = submission.counted(case)
    stores = profile["global_store_requests"] + profile["global_atomic_requests"]
    if not stores + profile["global_reduction_requests"]:
        behind = "st.global" in submission.compiled(case).ptx
        why = ", for the predicate of its stores is never true" if behind else ""
        return f"nothing is stored: no thread writes to global memory{why}."
    if not partly:
        return ""
    if got.dim() == 2 and len(profile.launches) == 1:
        return _box(~blank, profile.launches[0])
    threads = sum(math.prod(x.grid) * math.prod(x.block) for x in profile.launches)
    missing = blank.reshape(-1).nonzero().reshape(-1)
    if got.dim() == 1 and threads < got.numel() and int(missing[0]) == threads:
        return (
            f"{threads:,} threads are launched for {got.numel():,} elements, and what is missing "
            "begins where they end."
        )
    return ""


def _box(written: Any, launch: Any) -> str:
    """Of a matrix whose first rows and columns alone are written."""
    rows, columns = (int(written.any(dim).sum()) for dim in (1, 0))
    if not rows or not written[:rows, :columns].all() or rows * columns != written.sum():
        return ""
    (across, down), of = (launch.grid[k] * launch.block[k] for k in (0, 1)), written.shape
    return (
        f"what is written is the first {rows:,} of {of[0]:,} rows and {columns:,} of {of[1]:,} "
        f"columns; the launch has {across:,} threads in x and {down:,} in y."
    )


def _changed_input(args: dict[int, Any], case: Case) -> int | None:
    """The position of an argument that is only to be read and holds something else afterwards."""
    import torch

    for position, after in args.items():
        before = case.args[position]
        if position in case.expected or not isinstance(before, torch.Tensor):
            continue
        pair = after.cpu(), before
        if not torch.equal(*pair) and not torch.equal(*map(torch.nan_to_num, pair)):
            return position
    return None
