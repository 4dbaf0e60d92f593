"""Define a submission, the calls that gates make, and the groups of gates."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import secrets
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.errors import CompileError, ForgekitError, KernelError, LaunchError, UsageError
from forgekit.lessons.gates.gate import GateError, Misconception
from forgekit.text import plural
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    import torch

    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.profiling.profile import Profile
    from forgekit.vgpu import Finding, Moment

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Case:
    """A call of a student's function and its expected results.

    args: the arguments in order: CPU tensors (created with `device="virtual"`), numbers, and values
    for parameters annotated Constexpr. expected: maps each output's position to the content
    expected after the call. specs: maps an argument's position to the `fk.spec` to compile for, if
    the tensor does not determine it. label: the case's description, such as "33×65 float16".
    tolerances: the rtol and atol for `fk.check`.
    """

    args: tuple[Any, ...]
    expected: dict[int, torch.Tensor]
    label: str
    specs: dict[int, Any] = field(default_factory=dict)
    tile: tuple[int, ...] | None = None
    tolerances: dict[str, Any] = field(default_factory=dict)

    @property
    def itemsize(self) -> int:
        """Return the element size of the first tensor, in bytes."""
        return next(x.element_size() for x in self.args if hasattr(x, "element_size"))

    def arguments(self, kernel: CompiledKernel) -> dict[int, Any]:
        """Return copies of the call's run-time arguments, by their positions in `args`."""
        from forgekit.compiling.replay import copied

        kinds = [p.kind for p in kernel.parameters if p.kind != "stream"]
        pairs = zip(kinds, copied(self.args), strict=False)
        return {k: v for k, (kind, v) in enumerate(pairs) if kind in ("tensor", "scalar")}


_SECRET = secrets.randbits(60)  # unknown to submissions
MakeCase = Callable[..., Case]  # make(*size, dtype=) returns a Case
CallKey = tuple[MakeCase, tuple[int, ...], str]


def secret() -> int:
    """Return the secret number that determines the drawn sizes: the judge's secret when a class is
    graded, otherwise this process's."""
    from forgekit.tensors import shifted

    return shifted(0) or _SECRET


def case_of(make: MakeCase, size: tuple[int, ...], dtype: str) -> Case:
    """Return the case for a size. dtype: the name of a torch dtype."""
    import torch

    return make(*size, dtype=getattr(torch, dtype))


def stopped(case: Case, error: BaseException) -> str:
    """Return a report on a call whose launch was refused or whose kernel was stopped."""
    what = "launch was refused" if isinstance(error, LaunchError) else "kernel was stopped"
    return f"With {case.label}, the {what}.\n{error}"


class Elsewhere(ABC):
    """The base class of proxies for a function in another process. text: the source text of the
    function's cell."""

    text = ""

    @abstractmethod
    def compiled(self, example: list[Any], arch: str | None) -> CompiledKernel:
        """Compile the function for the virtual GPU."""

    @abstractmethod
    def mistakes(self) -> list[str]:
        """Return the mistakes that `find_mistakes` reports for the function."""


@dataclass
class Submission:
    """A student's submission and what the gates need to run it.

    Attributes:
        value: a `@cute.jit` function, a Python function, or an answer. arch: the virtual GPU's
            architecture, or None for the default. solution, given: return the function from the
            solution and from the skeleton, for comparison. groups: the groups that the submission
            must pass, which request calls. last: the case of the latest call or, after a failure,
            of the call that failed. compiles: False after a failed compilation.
    """

    value: Any
    arch: str | None = None
    solution: Callable[[], Any] | None = None
    groups: Sequence[Group] = ()
    given: Callable[[], Any] | None = None
    last: Case | None = None
    compiles: bool = True
    _cases: dict[CallKey, Case] = field(default_factory=dict)
    _keys: dict[int, CallKey] = field(default_factory=dict)  # id of a case -> its call
    _kernels: dict[tuple[int, str], tuple[Case, CompiledKernel]] = field(default_factory=dict)
    _ordered: dict[int, list[dict[int, Any]]] = field(default_factory=dict)

    @functools.cached_property
    def seed(self) -> int:
        """Return a number derived from the function's source text and the `secret`."""
        text = file_text(self.value).encode(errors="replace")
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "little") ^ secret()

    def case(self, make: MakeCase, size: tuple[int, ...], dtype: str) -> Case:
        """Return the case for a size; all gates receive the same object."""
        key = make, size, dtype
        if key not in self._cases:
            self._cases[key] = case_of(*key)
            self._keys[id(self._cases[key])] = key
        return self._cases[key]

    def types(self, make: MakeCase) -> list[str]:
        """Return the dtypes of the cases that `make` has made, or float32 if there are none."""
        return [*dict.fromkeys(dtype for of, _, dtype in self._cases if of is make)] or ["float32"]

    @functools.cached_property
    def orders(self) -> dict[CallKey, Sequence[int]]:
        """Map each call to the seeds of the adversarial orders that the groups request for it."""
        return {call: seeds for group in self.groups for call, seeds in group.orders().items()}

    @functools.cached_property
    def misconceptions(self) -> list[Misconception]:
        """Return the groups' misconceptions."""
        return [each for group in self.groups for each in group.misconceptions]

    @functools.cached_property
    def _counts(self) -> set[CallKey]:
        return {call for group in self.groups for call in group.counts()}

    def check_early(self) -> None:
        """Raise the GateError of the first group whose early check fails."""
        for group in self.groups:
            try:
                if group.early is not None:
                    group.early(self)
            except GateError as failure:
                failure.group = group.name
                raise

    def counted(self, case: Case, *more: Listener) -> tuple[Profile, dict[int, Any]]:
        """Run a call on the virtual GPU; return its profile, and the arguments after the call by
        position.

        more: listeners that receive the call's events.

        Raises:
            GateError: the kernel does not compile, or was stopped.
        """
        from forgekit.profiling.profile import of_call
        from forgekit.tracing.recordings import recorded

        args = self.arguments(case)
        makes = [lambda listener=listener: listener for listener in more]
        call = recorded(self.compiled(case), tuple(args.values()), *makes)
        if call.error is not None:
            raise GateError(stopped(case, call.error))
        for make in makes:
            call.read(make)
        return of_call(call), dict(zip(args, call.after, strict=True))

    def sampled(
        self, case: Case, blocks: int, args: dict[int, Any] | None = None
    ) -> tuple[Profile, dict[int, Any]]:
        """Run a sample of a call's blocks, as in `fk.profile(…, blocks=)`; return the profile, and
        the arguments after the call.

        args: the arguments by position; by default, the case's.

        Raises:
            GateError: the kernel does not compile, or was stopped.
        """
        from forgekit.profiling.profile import of_recording
        from forgekit.tracing.recordings import sampled

        run, args = self.compiled(case), args or self.arguments(case)
        try:
            after, recording = sampled(run, tuple(args.values()), blocks)
        except KernelError as error:
            raise GateError(stopped(case, error)) from None
        profile = of_recording(run.name, recording, pace=True)
        return profile, dict(zip(args, after, strict=True))

    def compiled(self, case: Case, device: str = "virtual") -> CompiledKernel:
        """Compile the submission for a case; cases with equal specs share the kernel.

        Raises:
            GateError: the submission is not a `@cute.jit` function, does not take these arguments,
                or CuTe DSL finds a mistake in it.
        """
        from forgekit.compiling.compiled import compile

        self.last, known = case, (id(case), device)
        if known in self._kernels:
            return self._kernels[known][1]
        self._check_function(len(case.args))
        example = [case.specs.get(k, a) for k, a in enumerate(case.args)]
        arch = self.arch if device == "virtual" else None
        try:
            if isinstance(self.value, Elsewhere):
                kernel = self.value.compiled(example, arch)
            else:
                with _quiet():
                    kernel = compile(self.value, *example, device=device, arch=arch)
        except CompileError as error:
            self.compiles = False
            raise GateError(f"The kernel does not compile for {case.label}.\n{error}") from None
        except UsageError as error:
            raise GateError(f"The kernel cannot be compiled for {case.label}.\n{error}") from None
        self._check_numbers(case, kernel)
        self._kernels[known] = case, kernel  # stores the case, so its id stays unique
        return kernel

    def _check_numbers(self, case: Case, kernel: CompiledKernel) -> None:
        """Raise GateError if the kernel is compiled for one value of a number that the solution
        receives at each call."""
        from forgekit.compiling.parameters import match_parameters

        fixed = [k for k, p in enumerate(kernel.parameters) if p.kind == "constant"]
        if not fixed or self.solution is None:
            return
        passed = match_parameters(self.solution(), case.args)
        for k in fixed:
            if k < len(passed) and passed[k].kind == "scalar":
                name = kernel.parameters[k].name
                raise GateError(
                    f"{name} is a constant in the compiled kernel, so each value of {name} "
                    "compiles another kernel. The skeleton passes it at each call, as "
                    f"`{name}: {passed[k].value.__name__}`.",
                    look_at="Keep the skeleton's signature.",
                )

    def _check_function(self, arguments: int) -> None:
        value = self.value
        if isinstance(value, type) or not callable(value):
            raise GateError(
                f"Expected a @cute.jit function, got {value!r:.200}.",
                look_at="Submit the @cute.jit function itself, without calling or compiling it.",
            )
        if type(value).__name__ == "CompiledKernel":
            raise GateError(
                f"Expected a @cute.jit function, got the compiled kernel {value.name}.",
                look_at="Submit the @cute.jit function; the grader compiles it for several types.",
            )
        try:
            parameters = inspect.signature(value)
        except (TypeError, ValueError):
            return
        try:
            parameters.bind(*range(arguments))
        except TypeError:
            name = getattr(value, "__name__", "it")
            names = ", ".join(parameters.parameters)
            raise GateError(
                f"The grader passes {plural(arguments, 'argument')}, but the function is defined "
                f"as {name}({names}).",
                look_at="Keep the skeleton's signature.",
            ) from None

    def arguments(self, case: Case, device: str = "virtual") -> dict[int, Any]:
        """Return new copies of a call's arguments, by their positions in the case."""
        from forgekit.devices import current_target

        where = current_target(device).torch_device
        args = case.arguments(self.compiled(case, device))
        return {k: _moved(value, where) for k, value in args.items()}

    def run(self, case: Case, device: str = "virtual") -> dict[int, Any]:
        """Call the submission with copies of a case's arguments; return the copies after the call.

        Raises:
            GateError: the kernel does not compile or rejects the arguments. KernelError: the
                virtual GPU stopped it.
        """
        from forgekit.compiling.replay import run_again
        from forgekit.tracing.recordings import recorded

        run, args = self.compiled(case, device), self.arguments(case, device)
        given = tuple(args.values())
        try:
            if device != "virtual":
                run(*given)
                return args
            key = self._keys.get(id(case))
            if key in self.orders or key in self._counts:
                after = recorded(run, given, findings=key in self.orders).result()
            else:  # the launches are not needed again
                after = run_again(run, given)
        except KernelError:
            raise
        except ForgekitError as error:
            raise GateError(f"The kernel cannot be called with {case.label}.\n{error}") from None
        return dict(zip(args, after, strict=True))

    def in_other_orders(self, case: Case) -> list[dict[int, Any]]:
        """Run a case under the sanitizer, once in each adversarial order that a gate requests.

        Returns:
            The arguments after each run; an empty list if the sanitizer reports anything.

        Raises:
            GateError: the kernel does not compile.
        """
        from forgekit.checking.sanitize import in_another_order

        if id(case) not in self._ordered:
            findings: list[Finding] = []
            results = []
            try:
                for seed in self.orders.get(self._keys[id(case)], ()):
                    run, args = self.compiled(case), self.arguments(case)
                    after, _ = in_another_order(run, tuple(args.values()), findings, seed)
                    results.append(dict(zip(args, after, strict=False)))  # {} if stopped
            except ForgekitError:
                results = []
            wrong = any(f.severity == "error" for f in findings)
            self._ordered[id(case)] = [] if wrong else results
        return self._ordered[id(case)]


@dataclass(frozen=True)
class Group:
    """A named group of gates, which a report shows as one line.

    name: the group's idea, such as "Values" or "Bank conflicts". run: raises GateError, or returns
    a summary of the pass, such as "8 shapes in 3 types". separate: True to run the group even after
    an earlier group has failed, as for one of several answers. orders: returns a dict that maps the
    calls that the group runs in adversarial orders to the seeds of these orders. counts: returns
    the calls that the group profiles. Earlier groups may use the results of these runs. early:
    raises GateError if a small call shows that a slow submission fails; runs before large calls.
    misconceptions: the misconceptions to recognise in wrong values, in later groups too.
    """

    name: str
    run: Callable[[Submission], str]
    separate: bool = False
    orders: Callable[[], Mapping[CallKey, Sequence[int]]] = dict
    counts: Callable[[], Collection[CallKey]] = tuple
    early: Callable[[Submission], None] | None = None
    misconceptions: Sequence[Misconception] = ()


class WarpShares(Listener):
    """Counts the instructions that each warp executes."""

    def __init__(self) -> None:
        self._batches: list[Array] = []

    def on_batch(self, m: Moment) -> None:
        self._batches.append(np.zeros(len(m.lanes(None)), np.int64))
        self._warps: dict[int, tuple[Array | None, Array]] = {}

    def on_run(self, m: Moment, start: int, stop: int, mask: Array | None) -> None:
        if id(mask) not in self._warps:  # masks are stored, so their ids stay unique
            self._warps[id(mask)] = (mask, np.asarray(m.lanes(mask).any(axis=1)))
        self._batches[-1][self._warps[id(mask)][1]] += stop - start

    @property
    def each(self) -> Array:
        return np.concatenate(self._batches) if self._batches else np.ones(1)

    @property
    def unevenness(self) -> float:
        """Return the number of instructions of the busiest warp, divided by the average over all
        warps."""
        return float(self.each.max() / max(self.each.mean(), 1.0))


def file_text(function: Any) -> str:
    """Return a function's `source_of` text without white space."""
    return "".join(source_of(function).split())


def source_of(function: Any) -> str:
    """Return the text of the cell or file that defines a function; "" if there is none."""
    if isinstance(function, Elsewhere):
        return function.text
    try:
        file = inspect.getsourcefile(inspect.unwrap(function)) or ""
    except TypeError:
        return ""
    return "".join(linecache.getlines(file))


@contextmanager
def _quiet() -> Iterator[None]:
    """Discard this thread's output to stdout during compilation, but not other threads' output."""
    from forgekit.vgpu import HOST

    with HOST.lock:  # CuTe DSL also replaces sys.stdout
        before = sys.stdout
        sys.stdout = aside = _OthersOnly(before)
        try:
            yield
        finally:
            aside.quiet = False  # other code may have stored a reference to `aside`
            if sys.stdout is aside:
                sys.stdout = before


class _OthersOnly:
    """A replacement for stdout that discards the output of the thread that created it."""

    def __init__(self, real: Any) -> None:
        self._real, self._thread, self.quiet = real, threading.get_ident(), True

    def write(self, text: str) -> int:
        if self.quiet and threading.get_ident() == self._thread:
            return len(text)
        return int(self._real.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _moved(value: Any, device: torch.device) -> Any:
    """Copy a tensor to another device, with its strides and offset."""
    import torch

    if not isinstance(value, torch.Tensor) or device.type == "cpu":
        return value
    storage = value.untyped_storage().to(device=device)
    layout = value.storage_offset(), value.size(), value.stride()
    return torch.empty(0, dtype=value.dtype, device=device).set_(storage, *layout)
