"""Exercise week0/one_kernel_per_n: a cache in front of kernels that know N and not M."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

import forgekit as fk
from forgekit.compiling.compiled import CompiledKernel
from forgekit.errors import ArgumentMismatchError, ForgekitError, KernelError
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

__all__ = ["EXERCISE"]

_Call = tuple[torch.Tensor, torch.Tensor]
_ONE_SIDED = (  # without an earlier call in which both tensors have this alignment
    "5×48, only y 4 bytes after a multiple of 16",
    "5×48, x 4 bytes after a multiple of 16 instead of y",
)
_EVEN_FIRST = [(16, 48), (5, 48)]
_BOTH = [(5, 48), (1, 48), (300, 48), (1, 33), (7, 33), (9, 48)]


@dataclass
class _Compiler:
    """The object that the student's function receives as `compile`. made: its kernels; launches:
    the addresses of their arguments; y: the output of the call; after: per kernel that has run, a copy
    of y and its version then; latest: among all compilers, the one whose kernel was launched last."""

    arch: str | None
    made: list[CompiledKernel] = field(default_factory=list)
    launches: list[tuple[int, ...]] = field(default_factory=list)
    y: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    after: list[tuple[torch.Tensor, int]] = field(default_factory=list)
    latest: ClassVar[_Compiler | None] = None

    def __call__(self, fn: Any, *args: Any, **options: Any) -> Callable[..., None]:
        options |= {"device": "virtual", "arch": self.arch}
        kernel = fk.compile(fn, *args, **options)
        self.made.append(kernel)

        @functools.wraps(kernel.__call__)
        def launch(*args: Any, **kwargs: Any) -> None:
            _Compiler.latest = self
            given = (*args, *kwargs.values())
            self.launches.append(tuple(t.data_ptr() for t in given if isinstance(t, torch.Tensor)))
            kernel(*args, **kwargs)
            self.after.append((self.y.clone(), self.y._version))

        return launch


@dataclass
class _Trial:
    """A trial of the student's function. factor: `fn` multiplies by it. seen: tensors kept alive, so
    that no address occurs twice."""

    compiler: _Compiler
    call: Callable[..., Any]
    factor: int
    seen: list[_Call] = field(default_factory=list)

    @classmethod
    def of(cls, submission: Submission, factor: int = 2) -> _Trial:
        from .kernels import double, triple  # which imports CuTe DSL

        make = python_function(submission, "one_kernel_per_n(compile, fn)")
        compiler = _Compiler(submission.arch)
        try:
            call = make(compiler, double if factor == 2 else triple)
        except Exception as error:
            inner = "<locals>" in getattr(make, "__qualname__", "")
            look_at = "Grade one_kernel_per_n itself, without calling it." if inner else ""
            raise GateError(
                f"{'The submitted function' if inner else 'one_kernel_per_n'} raised "
                f"{type(error).__name__}: {error}\n"
                "when it was called as one_kernel_per_n(compile, fn).",
                look_at=look_at,
            ) from None
        if not callable(call):
            raise GateError(
                f"one_kernel_per_n returned {call!r:.100}. Return a function of (x, y)."
            )
        return cls(compiler, call, factor)

    def run(self, x: torch.Tensor, y: torch.Tensor, label: str) -> None:
        """Call the function once, and compare the values.

        Raises:
            GateError: the function raised, or the values are wrong.
        """
        from forgekit.checking.compare import compare

        self.seen.append((x, y))
        self.compiler.launches, self.compiler.y, _Compiler.latest = [], y, None
        self.compiler.after = []
        before = len(self.compiler.made)
        try:
            self.call(x, y)
        except ArgumentMismatchError as error:
            happened = f"With {label}, `run` chose a kernel that does not fit.\n{error}"
            compiled = len(self.compiler.made) > before
            raise GateError(happened, _misfit(str(error), label, compiled)) from None
        except KernelError as error:
            happened = f"With {label}, the kernel was stopped.\n{error}"
            raise GateError(
                happened, "the kernel was launched with tensors other than (x, y)."
            ) from None
        except ForgekitError as error:
            raise GateError(f"With {label}: {error}") from None
        except Exception as error:
            if type(error).__module__.startswith("cutlass."):
                raise _of_the_compiler(error, label) from None
            raise GateError(f"With {label}, it raised {type(error).__name__}: {error}") from None
        if _Compiler.latest not in (None, self.compiler):
            happened = f"With {label}, a kernel from an earlier call of one_kernel_per_n ran."
            likely = (
                "`kernels` is outside one_kernel_per_n, so all functions that it returns share it."
            )
            raise GateError(happened, likely, "Make the dict in one_kernel_per_n, before `run`.")
        report = compare(y, (self.factor * x).to(y.dtype), name="y", max_shown=3)
        if not report.ok:
            likely = (
                "" if self.compiler.launches else "`run` launched no kernel that `compile` made."
            )
            if self.factor != 2 and compare(y, (2 * x).to(y.dtype)).ok:
                likely = "y holds 2 * x, but fn computes something else in this call."
            raise GateError(f"With {label}, the result is wrong.\n{report}", likely)
        if self.compiler.made and not self.compiler.launches:
            happened = f"With {label}, y is correct, but no compiled kernel has written it."
            raise GateError(happened, look_at="Call what `compile` returned.")
        if self.compiler.made and (x.data_ptr(), y.data_ptr()) not in self.compiler.launches:
            happened = f"With {label}, y is correct, but no kernel was launched with x and y."
            likely = "a kernel was launched with other tensors, such as a copy."
            raise GateError(happened, likely, "Call what `compile` returned with x and y.")
        if self.compiler.after:
            written, version = self.compiler.after[-1]
            if y._version != version or not torch.equal(written, y):
                happened = f"With {label}, `run` writes to y after the kernel's launch."
                raise GateError(happened, look_at="Only the kernel may write to y.")
        if len(self.compiler.after) > 1:
            happened = f"Launches: {len(self.compiler.after)} for {label}; needed 1."
            raise GateError(
                happened, look_at="If fn added x to y, a second launch would add x again."
            )


def _of_the_compiler(error: Exception, label: str) -> GateError:
    """Return the failure for an error of CuTe DSL; calling the bare function raises one."""
    from forgekit.diagnosing.diagnosis import explain_compile_error

    diagnosis, _, _ = str(explain_compile_error(error)).partition("\n\nRemedy:")
    look_at = "fn takes CuTe tensors; call what `compile` returned."
    return GateError(f"With {label}, it raised a CuTe DSL error.\n{diagnosis}", look_at=look_at)


def _misfit(text: str, label: str, compiled: bool) -> str:
    """Return the fault in the key or the spec that a refused argument reveals. label: if only x or y is
    unusual, both were unusual in an earlier call, and had their own key; if x is unusual instead of y, so were
    only y and only x. compiled: True if this call compiled the kernel."""
    if compiled:
        return "`run` has just compiled this kernel, so the specs do not describe x and y."
    if "instead of" in label:
        return "the key contains this fact, but not whether it is a fact of x or of y."
    for one, other in (("y", "x"), ("x", "y")):
        if f"argument m{one.upper()}" in text and f"only {one}" in label:
            return f"the key contains this fact of {other}, but not of {one}."
    if "size of mode 0" in text and "a multiple of" in text:
        return "a divisor of M is compiled in, but only mode 1 must be static."
    reasons = {
        "size of mode 0": "M is compiled in, but only mode 1 must be static.",
        "size of mode 1": "N is compiled in, but the key lacks it.",
        "dtype": "the key lacks the element type of x or of y.",
        "stride of mode": "the key lacks this stride; with N fixed, the strides are compiled in as "
        "well.",
        "alignment": "the key is the same for two alignments of the first element. A kernel for the "
        "larger one does not fit the smaller one.",
    }
    return next((says for what, says in reasons.items() if what in text), "")


def _tensors(
    m: int, n: int, dtype: torch.dtype = torch.float32, pitch: int = 0, start: int = 0
) -> _Call:
    """Return x and an output full of NaN; pitch, start: the distance between rows and the position
    of the first element, in elements."""

    def laid(flat: torch.Tensor) -> torch.Tensor:
        return flat[start:].view(m, pitch or n)[:, :n]

    elements = start + m * (pitch or n)
    return (
        laid(fk.randn(elements, dtype=dtype, device="virtual")),
        laid(fk.empty(elements, dtype=dtype, device="virtual")),
    )


def _values(submission: Submission) -> str:
    trial = _Trial.of(submission)
    for m, n in _BOTH:
        trial.run(*_tensors(m, n), f"{m}×{n}")
    triple = _Trial.of(submission, 3)
    for m, n in _EVEN_FIRST:
        triple.run(*_tensors(m, n), f"{m}×{n} and fn that computes 3 * x")
    return f"{len(_BOTH) + len(_EVEN_FIRST)} calls of two functions"


def _compilations(submission: Submission) -> str:
    trial = _Trial.of(submission)
    for m, n in _BOTH:
        trial.run(*_tensors(m, n), f"{m}×{n}")
    count, shapes = len(trial.compiler.made), ", ".join(f"{m}×{n}" for m, n in _BOTH)
    if count != 2:
        reasons = {
            0: "one_kernel_per_n does not use its argument `compile`.",
            1: "one kernel serves every N, so the spec leaves N open.",
            len(
                _BOTH
            ): "`run` called `compile` in each of these calls. Either two calls with the same N have different keys, as with M in the key, or `run` compiles although it has the kernel.",
        }
        raise GateError(
            f"Compilations: {count} for {shapes}; needed 2, one for N = 48 and one for N = 33.",
            reasons.get(count, ""),
            "Count how often one call of `run` calls `compile`, and compare the keys of two calls.",
        )
    for start in (4, 12):
        tensors = _tensors(5, 48, start=start // 4)
        trial.run(*tensors, f"5×48 that starts {start} bytes after a multiple of 16")
    count = len(trial.compiler.made) - 2
    if count != 1:
        raise GateError(
            f"Compilations: {count} for 5×48 tensors that start 4 and 12 bytes after a multiple of 16; "
            "needed 1, because both are aligned to 4 bytes.",
            "the key tells apart two addresses with the same alignment."
            if count
            else "an earlier kernel serves them, so its specs promise a smaller alignment than its "
            "tensors had.",
            "Compute the largest power of two up to 16 that divides the address.",
        )
    trial.run(*_tensors(5, 48, start=4), "5×48 that starts 16 bytes after a multiple of 64")
    if len(trial.compiler.made) > 3:
        raise GateError(
            "Compilations: 1 for 5×48 that starts 16 bytes after a multiple of 64; needed 0, because "
            "the kernel for 5×48 serves it.",
            "the key tells apart two addresses that are multiples of 16.",
            "Compute the largest power of two up to 16 that divides the address.",
        )
    return f"{len(_BOTH) + 3} calls, 3 compilations"


def _unlike() -> Sequence[tuple[str, _Call]]:
    """Return calls with various element types, strides and alignments."""
    plain = _tensors(5, 48)
    padded, half = _tensors(5, 48, pitch=64), _tensors(5, 48, torch.float16)
    brain, narrow = _tensors(5, 48, torch.bfloat16), _tensors(5, 40, pitch=64)
    by_eight, by_four = _tensors(5, 48, start=2), _tensors(5, 48, start=1)
    wide, gaps = _tensors(5, 48, pitch=96), [t[:, ::2] for t in _tensors(5, 96)]
    halved = [(2 * k, _tensors(5, 48, torch.float16, start=k)) for k in (4, 2, 1)]
    whole = [t.to(torch.int32) for t in _tensors(5, 48)]
    square, other = _tensors(48, 48), _tensors(48, 48)
    own = [torch.from_numpy(t.numpy()) for t in _tensors(5, 48, start=1)]  # starts its storage
    return (
        ("5×48 float32", plain),
        ("5×48 float16", half),
        ("5×48 bfloat16", brain),
        ("5×48 int32", (whole[0], whole[1])),
        *((f"5×48 float16 that starts {k} bytes after a multiple of 16", t) for k, t in halved),
        ("5×48 with rows 64 elements apart", padded),
        ("5×40 with rows 64 elements apart", narrow),
        ("5×48 with rows 96 elements apart", wide),
        ("5×48, every second column of a 96-column matrix", (gaps[0], gaps[1])),
        ("5×4 with rows 848 elements apart", _tensors(5, 4, pitch=848)),
        ("5×48 that starts 8 bytes after a multiple of 16", by_eight),
        ("5×48 that starts 4 bytes after a multiple of 16", by_four),
        ("5×48 whose storage starts 4 bytes after a multiple of 16", (own[0], own[1])),
        ("48×48", square),
        ("48×48, both transposed", (other[0].T, other[1].T)),
        ("48×48, only x transposed", (other[0].T, square[1])),
        ("5×48, only y with rows 64 elements apart", (plain[0], padded[1])),
        ("5×48, only y 4 bytes after a multiple of 16", (plain[0], by_four[1])),
        ("5×48, only y float16", (plain[0], half[1])),
        ("5×48, only x with rows 96 elements apart", (wide[0], plain[1])),
        ("5×48, only x 8 bytes after a multiple of 16", (by_eight[0], plain[1])),
        ("5×48, only x bfloat16", (brain[0], plain[1])),
        ("5×48, x with rows 64 elements apart instead of y", (padded[0], plain[1])),
        ("5×48, x 4 bytes after a multiple of 16 instead of y", (by_four[0], plain[1])),
        ("5×48, x float16 instead of y", (half[0], plain[1])),
        ("5×48, x every second column, y the first half of 96", (gaps[0], wide[1])),
        ("5×48, x the first half, y every second column of 96", (wide[0], gaps[1])),
    )


def _rest_of_key(submission: Submission) -> str:
    """Check that calls with the same N find the right kernels, and find them again."""
    trial = _Trial.of(submission)
    first = _unlike()
    calls = (*first, *((f"{label} again", call) for label, call in _unlike()))
    for k, (label, (x, y)) in enumerate(calls):
        y.fill_(float("nan") if y.is_floating_point() else -1)
        before = len(trial.compiler.made)
        trial.run(x, y, label)
        if k >= len(first) and (count := len(trial.compiler.made) - before):
            raise GateError(
                f"Compilations: {count} for {label}; needed 0, because such a call was made before.",
                look_at="Keep every kernel in `kernels`, and find it by the same key.",
            )
    fresh, unlike = _Trial.of(submission), dict(_unlike())
    for label in _ONE_SIDED:
        fresh.run(*unlike[label], label)
    return f"{len(calls) + len(_ONE_SIDED)} calls"


def _knows_n(submission: Submission) -> str:
    trial = _Trial.of(submission)
    for m, n in ((5, 48), (7, 33)):
        trial.run(*_tensors(m, n), f"{m}×{n}")
        for name, spec in trial.compiler.made[-1].specs.items():
            if isinstance(spec.shape[0], int) or spec.shape[1] != n:
                modes = ", ".join("?" if s is None else str(s) for s in spec.shape)
                raise GateError(
                    f"For N = {n}, the kernel was compiled with {name} of shape ({modes}); "
                    f"it must be (?, {n}).",
                    "" if spec.shape[1] == n else "each call still passes N to this kernel.",
                    "fk.spec(t, static=[1]) for both tensors.",
                )
            if spec.align < 16:
                raise GateError(
                    f"For N = {n}, the kernel was compiled with {name} aligned to {spec.align} bytes; "
                    "in this call, its address is a multiple of 16.",
                    look_at="Let the spec keep the alignment of the tensor.",
                )
    return "(?, 48) and (?, 33)"


EXERCISE = Exercise(
    title="compile one kernel per N",
    task="""
Complete `one_kernel_per_n(compile, fn)`, which returns a function of `(x, y)` that runs `fn` on
them. Compile the number of columns N of both tensors into the kernel, but not the number of rows M.
Call `compile` as you would call `fk.compile`, once per kernel, and keep its results in `kernels`. N
is not the only compiled-in fact. The others are the element type, the strides (which differ for a
matrix cut out of a wider one) and the alignment of *both* tensors.
""",
    hints=(
        "`fk.spec(t, static=[1])` describes a tensor like `t` whose number of columns is compiled "
        "in.",
        "First build the key from the dtype, N, the strides and the alignment of x and y. If "
        "`kernels` does not contain the key, compile the kernel and keep it. Then call it.",
        "The key contains the same four facts for `x` and for `y`. Three of them are properties "
        "of a tensor. The fourth is the alignment, the largest power of two up to 16 that divides "
        "the address, which Python's `math.gcd` computes.",
    ),
    analysis="""
If N is static, the distance between the rows of a contiguous matrix is N, so this stride is a
constant in the code as well. That is why a matrix cut out of a wider one needs its own kernel. The
specs contain all these facts, so `tuple(spec.key() for spec in specs)` is also a good key, but
creating specs at every call takes time. `fk.compile` also caches kernels, but it reads the source
at each call to detect changes. A program that keeps the kernel itself saves that time.
""",
    entry="one_kernel_per_n",
    groups=(
        Group("Values", _values),
        Group("One compilation for each N", _compilations),
        Group("The rest of the key", _rest_of_key),
        Group("N is in the code", _knows_n),
    ),
    praise="Two kernels serve six calls.",
)
