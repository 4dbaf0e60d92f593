"""Define the gate on values, which compares results at many small sizes, especially awkward ones,
in several types."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.checking.hints import EITHER, of_places
from forgekit.errors import KernelError
from forgekit.lessons.gates.gate import (
    LOOKS_LIKE,
    Evidence,
    GateError,
    Misconception,
    UnconfirmedError,
    UnexplainedError,
    explained,
)
from forgekit.lessons.gates.overrun import overrun_diagnosis
from forgekit.lessons.gates.submission import (
    Case,
    Elsewhere,
    Group,
    MakeCase,
    Submission,
    WarpShares,
    case_of,
    secret,
    stopped,
)
from forgekit.text import Table, plural

if TYPE_CHECKING:
    from forgekit.checking.check_report import CheckReport

_SMALL = 64  # maximum number of elements in the smallest wrong result
_WIDTH = 90  # maximum line width in a report, before indentation

_FAR = (131_072, 65_536, 32_768, 8_192, 4_096, 1_024)  # a call exceeds one in each mode
_FAR_SUM = 32_768  # the largest in a mode that the outputs lack: longer float32 sums are inaccurate
_FAR_S = 0.3  # the longest estimated time of such a call, in seconds
_LONG = 20_000  # larger modes in `beyond` are ignored, because such calls would take too long
_FEW = 2  # a mistake that this many wrong elements suggest must also explain another wrong call,
_CONFIRMING = 4  # if one of this many further calls is wrong
_LARGE = 10_000  # a call with a larger tensor may take long
SHOW = "{failed}.show() runs this call again and draws the wrong elements."


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
    names: Sequence[str] = (),
    **tolerances: float,
) -> Group:
    """Return a group that calls the kernel at each size, in one of the types, and compares the
    results.

    If another group runs a size in adversarial orders, those results are compared instead. The size
    runs in the usual order only if one of them is wrong.

    On a machine with a GPU, each call that is right on the virtual GPU also runs on the GPU. The
    virtual GPU comes first, because an invalid access on a GPU can end the notebook's process.

    Args:
        make: `make(*size, dtype=)` returns a Case; dtype is a torch dtype. sizes: the sizes,
            beginning with those that are easiest to read, because the report explains the first
            failure. dtypes: names of dtypes, such as "float16".
        misconceptions: the misconceptions to recognise. look_at: the call to suggest if none is
            recognised.
        drawn: the number of further sizes to draw, up to the largest given size, seeded with
            `Submission.seed`; if it is not 0, the group also runs one `secret_size` per mode, in
            every type. legal: converts a drawn size to one that the task allows. beyond: as in
            `secret_size`. names: the names of the modes, if `make` takes `*size`.
        tolerances: the rtol and atol for `fk.check`.
    """

    def one(
        submission: Submission,
        case: Case,
        device: str,
        misconceptions: Sequence[Misconception] = misconceptions,
    ) -> None:
        try:
            args = submission.run(case, device)
        except KernelError as error:
            evidence = Evidence(kinds=(error.kind or "",), text=str(error), case=case, error=error)
            happened = stopped(case, error)
            likely = _written(submission) or explained(
                misconceptions, evidence,
                otherwise=_of_another(submission, case, error.overrun)
                or overrun_diagnosis(error.overrun),
            )  # fmt: skip
            raise GateError(happened, likely, "" if look_at == SHOW else look_at) from None
        check_values(submission, case, args, device, misconceptions, look_at, tolerances)

    def run(submission: Submission) -> str:
        from forgekit.devices import current_target

        devices = ["virtual"] + (["gpu"] if current_target().kind == "gpu" else [])
        more = drawn_sizes(sizes, drawn, submission.seed, legal)
        modes = range(len(sizes[0]) if drawn else 0)
        secrets = [secret_size(sizes, legal, mode, beyond) for mode in modes]
        least = tuple(map(min, zip(*sizes, strict=True)))
        # a drawn size may equal a listed one
        every = list(dict.fromkeys([*sizes, *more, *secrets]))
        ordered = {size: dtype for of, size, dtype in submission.orders if of is make}
        calls = [*shared_out(every, dtypes, ordered), *itertools.product(dtypes, secrets)]
        far: list[tuple[int, ...]] = []
        compared: list[Case] = []

        def all_calls() -> Iterator[tuple[str, tuple[int, ...]]]:
            yield from dict.fromkeys(calls)
            for mode, size in enumerate(secrets):  # after all other calls are right
                found = _far_size(submission, make, mode, size, dtypes[0], least, legal)
                if found:
                    far.append(found)
                    yield dtypes[0], found

        waits = True
        for dtype, size in (every_call := all_calls()):
            case = submission.case(make, size, dtype)
            compared.append(case)
            if waits and any(hasattr(x, "numel") and x.numel() > _LARGE for x in case.args):
                waits = False
                submission.check_early()
            for device in devices:
                if device != "gpu" and right_in_other_orders(submission, case, tolerances):
                    continue
                try:
                    one(submission, case, device)
                except UnconfirmedError as failure:
                    same = [m for m in misconceptions if m.says == failure.likely]
                    told = set()
                    for dtype, size in itertools.islice(every_call, _CONFIRMING):
                        try:
                            one(submission, submission.case(make, size, dtype), device, same)
                        except GateError as other:
                            told.add(other.likely)
                            if failure.likely in told:
                                break
                    if told and failure.likely not in told:
                        failure.likely = ""
                    submission.last = case
                    raise
                except UnexplainedError as failure:
                    if not drawn or device == "gpu":
                        raise
                    small = _smallest(submission, make, size, dtype, legal, tolerances)
                    if small is case:
                        raise
                    try:
                        args = submission.run(small)
                        check_values(
                            submission, small, args, device, (), look_at, tolerances, explain=False
                        )
                    except GateError as smaller:
                        smaller.happened += f"\nThe result with {case.label} is also wrong."
                        raise smaller from None
                    raise failure from None
        types = f"{len(dtypes)} types" if len(dtypes) > 1 else dtypes[0]
        on_gpu = ", on the virtual GPU and on this GPU" if "gpu" in devices else ""
        known = names or [*inspect.signature(make).parameters][: len(sizes[0])]
        largest = map(max, zip(*every, *far, strict=True))
        limits = ", ".join(f"{k} = {n:,}" for k, n in zip(known, largest, strict=True))
        number = plural(len(every) + len(far), "size")
        return f"{number} in {types}{on_gpu}, up to {limits}{_inputs(submission, compared)}"

    return Group("Values", run, misconceptions=misconceptions)


def _inputs(submission: Submission, cases: Sequence[Case]) -> str:
    """Return the ranges of the inputs as text, such as `; tensors from -4.2 to 5.1, -inf; t from
    0.5 to 2`."""
    import torch

    tensors, numbers = [], dict[str, list[float]]()
    for case in cases:
        for k, x in enumerate(case.args):
            if isinstance(x, float):
                name = submission.compiled(case).parameters[k].name
                numbers.setdefault(name, []).append(x)
            elif torch.is_tensor(x) and not (k in case.expected and _is_blank(x)):
                tensors.append(x.flatten().double())
    text = ""
    if tensors:
        every = torch.cat(tensors)
        finite = every[every.isfinite()]
        special = {"inf": every == torch.inf, "-inf": every == -torch.inf, "NaN": every.isnan()}
        found = "".join(f", {name}" for name, where in special.items() if where.any())
        text = f"; tensors from {finite.min():.3g} to {finite.max():.3g}{found}"
    for name, passed in numbers.items():
        text += f"; {name} from {min(passed):.3g} to {max(passed):.3g}"
    return text


def _is_blank(x: Any) -> bool:
    """Return True if a tensor has the content of a new output of `fk.empty`."""
    from forgekit.tensors import poison

    return bool(((x == poison(x.dtype)) | (x != x)).all())


def shared_out(
    sizes: Sequence[tuple[int, ...]], dtypes: Sequence[str], given: dict[tuple[int, ...], str]
) -> list[tuple[str, tuple[int, ...]]]:
    """Assign types to sizes; return the (type, size) pair of each call. The first sizes get the
    first type.

    given: maps some of the sizes to their types. If fewer than two other sizes per type remain,
    every size runs in every type.
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
    """Draw sizes whose modes are between 1 and the largest in `sizes`, distributed evenly on a
    logarithmic scale."""
    draw, largest = random.Random(seed), [max(mode) for mode in zip(*sizes, strict=True)]
    found = [tuple(max(1, round(m ** draw.random())) for m in largest) for _ in range(count)]
    return [legal(*size) for size in found] if legal else found


def secret_size(
    sizes: Sequence[tuple[int, ...]],
    legal: Callable[..., tuple[int, ...]] | None = None,
    mode: int = -1,
    beyond: Sequence[tuple[int, ...]] = (),
) -> tuple[int, ...]:
    """Return the size with the largest value in a mode, with this value increased by 25 to 50 %.

    The `secret` determines the amount.

    beyond: further sizes that the result must also exceed in this mode.
    """
    draw = random.Random(secret())
    size = [*max(sizes, key=lambda s: s[mode])]
    if mode % len(size):  # enough rows for all row patterns of `Draw.extremes`
        size[0] = max(size[0], 8)
    size[mode] = max(s[mode] for s in (*sizes, *beyond) if s[mode] <= max(_LONG, size[mode]))
    size[mode] += draw.randint(size[mode] // 4 + 1, size[mode] // 2 + 8)
    return legal(*size) if legal else tuple(size)


def _far_size(
    submission: Submission,
    make: MakeCase,
    mode: int,
    known: tuple[int, ...],
    dtype: str,
    least: tuple[int, ...],
    legal: Callable[..., tuple[int, ...]] | None,
) -> tuple[int, ...] | None:
    """Return a size beyond a multiple of 1,024 in a mode, and beyond `known`; None if the task
    allows no such size or its calls take long.

    The instructions of the solution and of the submission in a small call show which of the sizes
    takes at most about 0.3 s in the solution, and four times as long in the submission.

    least: the smallest size of each mode.
    """

    def of(number: int) -> tuple[int, ...]:
        size = [*least]
        size[0] = max(size[0], 8 if mode % len(size) else 1)
        size[mode] = number
        return legal(*size) if legal else tuple(size)

    first = of(_FAR[-1])
    if submission.solution is None or first[mode] < 1024:
        return None
    best = seconds_of(submission.solution, submission.arch, make, first, dtype)
    slowest = max(best, seconds(submission, submission.case(make, first, dtype)) / 4)
    draw = random.Random(secret())
    one, two = (case_of(make, of(n), dtype).expected.values() for n in (1024, 2048))
    grows = sum(x.numel() for x in two) > 1.5 * sum(x.numel() for x in one)
    for number in _FAR:
        size = of(number + draw.randint(1, number // 20))
        if number > _FAR_SUM and not grows:
            continue
        if known[mode] < size[mode] and slowest * size[mode] / first[mode] < _FAR_S:
            return size
    return None


@functools.lru_cache(maxsize=512)
def seconds_of(
    solution: Callable[[], Any], arch: str | None, make: MakeCase, size: tuple[int, ...], dtype: str
) -> float:
    return seconds(Submission(solution(), arch), case_of(make, size, dtype))


def seconds(submission: Submission, case: Case) -> float:
    """Estimate the time of a call on the virtual GPU from its instructions."""
    shares = WarpShares()
    submission.counted(case, shares)
    return float(32 * 10e-9 * shares.each.sum() + 4e-6 * shares.each.max())


def unknown_size(
    sizes: Sequence[tuple[int, ...]], legal: Callable[..., tuple[int, ...]] | None = None
) -> tuple[int, ...]:
    """Return a size that the `secret` determines. Its first mode is up to 25 % larger than the
    largest in `sizes`. Its other modes, which a task may limit, are between half the largest in
    `sizes` and the largest."""
    draw, largest = random.Random(secret()), [max(mode) for mode in zip(*sizes, strict=True)]
    size = [draw.randint(-(-most // 2), most) for most in largest]
    size[0] = largest[0] + draw.randint(1, max(8, largest[0] // 4))
    return legal(*size) if legal else tuple(size)


def right_in_other_orders(
    submission: Submission, case: Case, tolerances: Mapping[str, Any] | None = None
) -> bool:
    """Return True if a gate runs the case in adversarial orders and all results in these orders are
    right."""
    from forgekit.checking.compare import compare

    results = submission.in_other_orders(case)
    chosen = case.tolerances | dict(tolerances or {})
    return bool(results) and all(
        _changed_input(args, case) is None
        and _stored_between(args, case) is None
        and all(compare(args[k], want, **chosen).ok for k, want in case.expected.items())
        for args in results
    )


def check_values(
    submission: Submission,
    case: Case,
    args: dict[int, Any],
    device: str = "virtual",
    misconceptions: Sequence[Misconception] | None = None,
    look_at: str = SHOW,
    tolerances: dict[str, Any] | None = None,
    *,
    explain: bool = True,
) -> None:
    """Compare the arguments after a call with the expected values.

    misconceptions: the misconceptions to recognise; by default, the submission's. explain: False
    omits all explanations, for very small calls, in which many mistakes look alike.

    Raises:
        GateError: an output is wrong, or an input has changed.
    """
    import torch

    from forgekit.checking.check_report import MISSING
    from forgekit.checking.compare import compare

    names = [p.name for p in submission.compiled(case, device).parameters]
    changed = _changed_input(args, case)
    if changed is not None:
        change = _changed_error(names[changed], case.args[changed], args[changed].cpu(), case.label)
        if case.args[changed].is_floating_point():  # an atomic counter's outputs reveal more
            raise change
    for position, want in case.expected.items():
        report = compare(
            args[position].cpu(), want, name=names[position], max_shown=3, tile=case.tile,
            **(case.tolerances | (tolerances or {})),
        )  # fmt: skip
        if report.ok:
            continue
        got = {k: args[k].cpu() for k in case.expected}
        where = " on the GPU but right on the virtual GPU" if device == "gpu" else ""
        never = None if device == "gpu" else _never_stored(submission, case, position, report.codes)
        shown = str(report)
        if never is not None:
            left, bad = int(never[torch.from_numpy(report.codes != 0)].sum()), report.wrong
            some = f"{left:,} of them never stored" if left < bad else "never stored"
            shown = shown.replace(EITHER, f" ({some if left else 'stored by threads'})")
        kinds, found = _findings(submission, case) if device == "virtual" else ((), "")
        blank = None if never is None else never & torch.from_numpy(report.codes >= MISSING)
        evidence = Evidence(kinds, report.hints, shown, got, case, never=blank)
        known = submission.misconceptions if misconceptions is None else misconceptions
        likely = explained(known if explain else (), evidence)
        if likely and not likely.startswith(LOOKS_LIKE):
            likely = _unread(submission, case, of_several=False) or likely
        likely = _written(submission) or likely
        if not likely and not found and explain:
            likely = _unstored(submission, case, position, never)
            likely = likely or _unread(submission, case)
        if not likely:
            shown = shown.partition("\n  first mismatches")[0] + _sketch(
                got[position], want, report
            )
        happened = f"With {case.label}, the result is wrong{where}.\n{shown}"
        if changed is not None:
            happened += f"\nThe call also changed the input {names[changed]}."
        if found:
            happened += f"\n\nSanitizer report for this call:\n{found}"
        kind = GateError if likely or found else UnexplainedError
        if report.wrong <= _FEW and likely.startswith(LOOKS_LIKE):
            kind = UnconfirmedError
        raise kind(happened, likely, look_at)
    if changed is not None:
        raise change
    between = _stored_between(args, case) if device == "virtual" else None
    if between is not None:
        position, number, first = between
        name = names[position]
        place = f"{name}[{', '.join(f'{k:,}' for k in first)}]"
        raise GateError(
            f"With {case.label}, the kernel stores {plural(number, 'element')} between the rows of "
            f"{name}. The first is where {place} would be.",
            f"{name} may be a part of a larger tensor, whose other elements must not change.",
            look_at,
        )


def _smallest(
    submission: Submission,
    make: MakeCase,
    size: tuple[int, ...],
    dtype: str,
    legal: Callable[..., tuple[int, ...]] | None,
    tolerances: dict[str, float],
) -> Case:
    """Reduce each mode of the size by bisection; return the smallest case found with a wrong
    result. Cases of at most 64 elements are not reduced."""
    from forgekit.checking.compare import compare

    if max(v.numel() for v in submission.case(make, size, dtype).expected.values()) <= _SMALL:
        return submission.case(make, size, dtype)

    def wrong(of: tuple[int, ...]) -> bool:
        try:
            case = submission.case(make, of, dtype)
            args = submission.run(case)
        except Exception:  # a different problem: the kernel was stopped, or the size is not allowed
            return False
        chosen = case.tolerances | tolerances
        return not all(compare(args[k], v, **chosen).ok for k, v in case.expected.items())

    for mode in range(len(size)):
        low = 0
        while size[mode] - low > 1:
            middle = (low + size[mode]) // 2
            tried = (*size[:mode], middle, *size[mode + 1 :])
            tried = legal(*tried) if legal else tried
            if tried[mode] < size[mode] and wrong(tried):
                size = tried
            else:
                low = middle
    return submission.case(make, size, dtype)


def _sketch(got: Any, want: Any, report: CheckReport) -> str:
    """Return up to 3 rows and 6 columns of the result, each row above its expected values, with
    wrong elements marked `*`."""
    wrong = np.atleast_2d(report.codes != 0).reshape(-1, report.shape[-1] if report.shape else 1)
    first, shown = np.argwhere(wrong)[0].tolist(), [""]
    for most in range(6, 0, -1):  # show the largest number of columns that fits
        rows, columns = (
            range(max(0, min(at - (limit > 1), length - limit)), min(length, at + limit))[:limit]
            for at, length, limit in zip(first, wrong.shape, (3, most), strict=True)
        )
        lines: list[tuple[str, ...]] = []
        for row in rows:
            place = f"row {row} " if len(wrong) > 1 else ""
            for name, values in (("got", got), ("expected", want)):
                of = values.reshape(wrong.shape)[row]
                marks = ("*" if name == "got" and wrong[row, c] else " " for c in columns)
                cells = (f"{of[c].item():.7g}{m}" for c, m in zip(columns, marks, strict=True))
                lines.append((place + name, *cells))
        heads = (report.name or "", *(f"[{c}] " for c in columns))
        shown = Table(heads, lines).lines()
        if max(map(len, shown)) <= _WIDTH:
            break
    return "".join(f"\n  {line.rstrip()}" for line in shown)


def _changed_error(name: str, before: Any, after: Any, label: str) -> GateError:
    """Return the error for an input that a call has changed."""
    at = tuple((after.nan_to_num() != before.nan_to_num()).nonzero()[0].tolist())
    place = f"{name}[{', '.join(map(str, at))}]"
    return GateError(
        f"With {label}, the kernel changed its input {name}: {place} was "
        f"{before[at].item():.7g} before the call and is {after[at].item():.7g} after it.",
        look_at=f"Store only to the outputs. If the kernel uses {name} temporarily, it has to "
        "restore the old values before it ends.",
    )


def _never_stored(submission: Submission, case: Case, position: int, codes: Any) -> Any:
    """Return a mask of the elements of an output that no thread stores, without those updated in
    place that are right; None if a tensor is too large to inspect."""
    import torch

    from forgekit.tracing.footprint import MOST_ELEMENTS, footprint

    run = submission.compiled(case)
    if max(v.numel() for v in case.args if hasattr(v, "numel")) > MOST_ELEMENTS:
        return None
    name = run.parameters[position].name
    found = footprint(run, *submission.arguments(case).values(), tensor=name, kind="store")
    given = case.args[position]
    blank = (given != given).numpy()  # NaN, as in a fresh output, even where NaN is expected
    return torch.from_numpy((found.touched[name]["count"] == 0) & ((codes != 0) | blank))


def _findings(submission: Submission, case: Case) -> tuple[tuple[str, ...], str]:
    """Run a call under the sanitizer; return the types of its findings other than notes, and the
    text of the first error."""
    from forgekit.checking.sanitize import sanitize

    report = sanitize(submission.compiled(case), *submission.arguments(case).values())
    found = report.errors
    kinds = tuple(f.kind for f in report.findings if not f.note)
    return kinds, found[0].counted if found else ""


def _of_another(submission: Submission, case: Case, overrun: Any) -> str:
    """Return a sentence about a store outside an input or a load outside an output without values;
    "" for other accesses. overrun: a KernelError's `overrun`."""
    if overrun is None:
        return ""
    names = [p.name for p in submission.compiled(case).parameters]
    if overrun.tensor not in names:
        return ""
    position = names.index(overrun.tensor)
    given, is_output = case.args[position], position in case.expected
    if overrun.writes == is_output or (is_output and bool((given == given).any())):
        return ""
    does, role = ("stores to", "an input") if overrun.writes else ("reads", "an output")
    return (
        f"this line {does} {overrun.tensor} of the host function, which is {role}. Compare the "
        "order of the arguments in the kernel's call with the order of its parameters."
    )


def _written(submission: Submission) -> str:
    """Return the first mistake in the source code that the compiler does not report."""
    from forgekit.diagnosing.lint import find_mistakes

    value = submission.value
    found = value.mistakes() if isinstance(value, Elsewhere) else find_mistakes(value)
    return next(iter(found), "")


def _unread(submission: Submission, case: Case, *, of_several: bool = True) -> str:
    """Return a sentence that names the inputs that no thread reads, although the solution does;
    otherwise "". of_several: False to return "" unless no input is read."""
    from forgekit.tracing.footprint import MOST_ELEMENTS, footprint

    def read(of: Submission) -> set[int]:
        """Return the positions of the tensors that threads read."""
        kernel = of.compiled(case)
        touched = footprint(kernel, *of.arguments(case).values()).touched
        loaded = {name for name, at in touched.items() if (at["loads"] + at["atomics"]).any()}
        return {k for k in sizes if kernel.parameters[k].name in loaded}

    run = submission.compiled(case)
    sizes = {k: value.numel() for k, value in enumerate(case.args) if hasattr(value, "numel")}
    if max(sizes.values()) > MOST_ELEMENTS:
        return ""
    inputs = [k for k, n in sizes.items() if n and k not in case.expected]
    mine = read(submission)
    unread = [k for k in inputs if k not in mine]
    if unread and submission.solution is not None:
        best = read(Submission(submission.solution(), submission.arch))
        unread = [k for k in unread if k in best]
    if not unread or (len(unread) < len(inputs) and not of_several):
        return ""
    never = [run.parameters[k].name for k in unread]
    it = "it" if len(never) == 1 else "them"
    dropped = f" If your code reads {it}, no thread gets there, or nothing depends on the values."
    if len(never) == len(inputs):
        profile, _ = submission.counted(case)
        if not re.search(r"\bld\S*\.global|\bcp\.async\.(c[ag]|bulk)", run.ptx):
            dropped = (
                f" If your code reads {it}, the compiler removed the loads: either nothing depends "
                "on the values, or the result comes from registers that were never written, so it "
                "is undefined."
            )
        elif not profile["global_load_requests"]:
            dropped = " The PTX contains loads, but each thread's `if` or loop skips them."
    return f"no thread reads {' or '.join(never)}.{dropped}"


def _unstored(submission: Submission, case: Case, position: int, never: Any) -> str:
    """Return a sentence that names the elements that no thread stores, with the reason if the
    launch or the PTX proves it; "" if all elements are stored."""
    if never is None or not never.any():
        return ""
    profile, _ = submission.counted(case)
    if not profile.launches:
        return "no kernel is launched: the host function ends without calling `.launch(…)`."
    stores = profile["global_store_requests"] + profile["global_atomic_requests"]
    if not stores + profile["global_reduction_requests"]:
        behind = "st.global" in submission.compiled(case).ptx
        why = ". The PTX contains stores, but each thread's `if` or loop skips them"
        if not behind:
            why = (". The PTX contains no store either. If your code has one, the compiler removed "
                   "it, because its condition is always false, or its condition or value is "
                   "undefined")  # fmt: skip
        return f"nothing is stored: no thread writes to global memory{why}."
    name, given = submission.compiled(case).parameters[position].name, case.args[position]
    if never.all():
        return f"no thread stores to {name}."
    at = ", ".join(map(str, never.nonzero()[0].tolist()))
    lie = "all mismatches are"
    which = "".join(x.replace(lie, ", all") for x in of_places(never.numpy()) if lie in x)
    every = plural(never.numel(), "element")
    if bool((given == given).all()) and given.is_floating_point():  # updated in place
        every = "wrong elements"
    count = int(never.sum())
    which = (
        f"no thread stores {count:,} of the {every} of {name}{which}; the first of them is "
        f"{name}[{at}]."
    )
    if count == 1:
        which = f"no thread stores {name}[{at}]."
    threads = sum(math.prod(x.grid) * math.prod(x.block) for x in profile.launches)
    first = int(never.reshape(-1).nonzero()[0])
    if never.dim() == 1 and threads < never.numel() and first == threads:
        of = plural(never.numel(), "element")
        which += f" The launch has only {plural(threads, 'thread')} for {of}."
    return which


def _stored_between(args: dict[int, Any], case: Case) -> tuple[int, int, tuple[int, ...]] | None:
    """Return the position of an output, the number of changed elements of its memory that belong to
    no argument, and the first one's index; None if there are none."""
    import torch

    tensors = [x for x in case.args if isinstance(x, torch.Tensor)]
    for position in case.expected:
        before, storage = case.args[position], case.args[position].untyped_storage()
        sharing = [x for x in tensors if x.untyped_storage().data_ptr() == storage.data_ptr()]
        dense = storage.nbytes() == before.numel() * before.element_size()
        if dense or any(x.dtype != before.dtype for x in sharing):
            continue
        one, other = (
            torch.empty(0, dtype=torch.uint8).set_(of).view(-1, before.element_size())
            for of in (storage, args[position].untyped_storage())
        )
        changed = (one != other).any(1)
        for x in sharing:
            changed.as_strided(x.shape, x.stride(), x.storage_offset()).fill_(False)
        if changed.any():
            left, place = int(changed.nonzero()[0]) - before.storage_offset(), [0] * before.dim()
            for mode in sorted(range(before.dim()), key=before.stride, reverse=True):
                place[mode], left = divmod(left, max(before.stride(mode), 1))
            return position, int(changed.sum()), tuple(place)
    return None


def _changed_input(args: dict[int, Any], case: Case) -> int | None:
    """Return the position of an input that the call changed; None if there is none."""
    import torch

    for position, after in args.items():
        before = case.args[position]
        if position in case.expected or not isinstance(before, torch.Tensor):
            continue
        pair = after.cpu(), before
        if not torch.equal(*pair) and not torch.equal(*map(torch.nan_to_num, pair)):
            return position
    return None
