"""Call every public function and method of forgekit with arguments that it does not accept.

`attempts` makes the calls from the signatures: it takes a correct call and replaces one argument at
a time with each value in `BAD`. The outcome may be a result, a ForgekitError with a readable
message, or one of two errors that are not forgekit's:

- TypeError if Python itself rejects the call, before any forgekit code runs;
- torch's own RuntimeError if an operator's result does not fit into memory.

Constructors of results (Footprint, Profile, Sweep) are not meant for users and are omitted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import signal
import traceback
import types
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import torch

import forgekit as fk

SECONDS = 10.0  # a call takes milliseconds, but the machine may be busy


class Odd:
    """An object of a type unknown to forgekit."""

    def __repr__(self) -> str:
        return "<odd>"


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = (value,)
    return value


BAD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "...": lambda: ...,
    "''": lambda: "",
    "'abc'": lambda: "abc",
    "'sm_1'": lambda: "sm_1",
    "long text": lambda: "x" * 5000,
    "NUL text": lambda: "a\0b",
    "surrogate": lambda: "\udcff",
    "bytes": lambda: b"abc",
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "10**30": lambda: 10**30,
    "-10**30": lambda: -(10**30),
    "True": lambda: True,
    "0.5": lambda: 0.5,
    "1e30": lambda: 1e30,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "1j": lambda: 1j,
    "Fraction": lambda: Fraction(1, 3),
    "np.int64": lambda: np.int64(2),
    "np.float32": lambda: np.float32(2.5),
    "()": lambda: (),
    "[]": list,
    "{}": dict,
    "(-1, 2)": lambda: (-1, 2),
    "(0, 0)": lambda: (0, 0),
    "(1, 2, 3)": lambda: (1, 2, 3),
    "(1, 'a')": lambda: (1, "a"),
    "[None]": lambda: [None],
    "[nan]": lambda: [float("nan")],
    "10**30 each": lambda: (10**30, 10**30),
    "ragged": lambda: [[1, 2], [3]],
    "deep": lambda: nested(2000),
    "{1: 2}": lambda: {1: 2},
    "{'a': None}": lambda: {"a": None},
    "set": lambda: {1, 2},
    "range": lambda: range(3),
    "iterator": lambda: iter([1, 2]),
    "odd object": Odd,
    "no repr": Unprintable,
    "a class": lambda: int,
    "a function": lambda: lambda: None,
    "a module": lambda: np,
    "torch.float32": lambda: torch.float32,
    "torch.complex64": lambda: torch.complex64,
    "0-d tensor": lambda: torch.tensor(1.0),
    "empty tensor": lambda: torch.empty(0, 3),
    "matrix": lambda: torch.ones(4, 3),
    "NaN tensor": lambda: torch.full((4,), float("nan")),
    "int64 tensor": lambda: torch.arange(4),
    "complex tensor": lambda: torch.ones(4, dtype=torch.complex64),
    "conj tensor": lambda: torch.ones(4, dtype=torch.complex64).conj(),
    "meta tensor": lambda: torch.empty(4, device="meta"),
    "sparse tensor": lambda: torch.eye(4).to_sparse(),
    "csr tensor": lambda: torch.eye(4).to_sparse_csr(),
    "quantized tensor": lambda: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8),
    "grad tensor": lambda: torch.ones(4, requires_grad=True),
    "expanded tensor": lambda: torch.ones(1).expand(4),
    "1e9 × 1e9 expanded": lambda: torch.ones(1, 1).expand(10**9, 10**9),
    "nested tensor": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "fp8 tensor": lambda: torch.ones(4).to(torch.float8_e4m3fn),
    "np array": lambda: np.ones((2, 3)),
    "np 0-d": lambda: np.array(1.5),
    "np object": lambda: np.array([object(), None]),
    "np text": lambda: np.array(["a", "b"]),
    "np record": lambda: np.zeros(2, dtype=[("a", int), ("b", float)]),
    "np date": lambda: np.datetime64("2026-01-01"),
    "layout": lambda: fk.Layout((4, 8), (8, 1)),
    "swizzle": lambda: fk.Swizzle(3, 4, 3),
    "spec": lambda: fk.TensorSpec(torch.float32, (None,)),
}


@dataclasses.dataclass(frozen=True)
class Right:
    """A correct call. of: the called function; skip: the parameters that are not replaced (the
    reason is next to the entry). functions: the parameters that take a user's function, whose
    errors forgekit does not catch."""

    name: str
    of: Callable[..., Any]
    args: tuple[Any, ...] = ()
    named: dict[str, Any] = dataclasses.field(default_factory=dict)
    skip: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A call with one wrong argument, or with too many or too few arguments."""

    name: str
    of: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]


def attempts(right: Right, one_in: int = 1) -> Iterator[Attempt]:
    """Yield wrong calls made from a correct call: for each parameter, one in `one_in` bad values,
    and calls with too many or too few arguments."""
    parameters = list(inspect.signature(right.of).parameters.values())
    for number, p in enumerate(parameters):
        if p.name in right.skip or p.kind is p.VAR_KEYWORD:
            continue
        turn = zlib.crc32(f"{right.name} {p.name}".encode())
        for label, make in [*BAD.items()][turn % one_in :: one_in]:
            if p.name in right.functions and callable(make()):
                continue
            args, named = list(right.args), dict(right.named)
            if p.kind is p.VAR_POSITIONAL:
                for k in range(number, max(len(args), number + 1)):
                    changed = [*args[:k], make(), *args[k + 1 :]]
                    yield Attempt(f"{right.name}(*{p.name}[{k - number}]={label})", right.of,
                                  tuple(changed), named)  # fmt: skip
                continue
            if number < len(args) and p.kind is not p.KEYWORD_ONLY:
                args[number] = make()
            elif p.kind is p.POSITIONAL_ONLY:
                args.append(make())
            else:
                named[p.name] = make()
            yield Attempt(f"{right.name}({p.name}={label})", right.of, tuple(args), named)
    if not right.skip:
        yield Attempt(f"{right.name}() without arguments", right.of, (), {})
        yield Attempt(f"{right.name}(…, 1)", right.of, (*right.args, 1), right.named)
        yield Attempt(
            f"{right.name}(no_such=1)", right.of, right.args, {**right.named, "no_such": 1}
        )


class TookTooLong(BaseException):
    pass


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Stop the main thread's work after the given time."""

    def stop(*_: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def problem(attempt: Attempt) -> str:
    """Describe a call's outcome if it is not allowed; otherwise, return an empty string."""
    try:
        with limit(SECONDS), contextlib.redirect_stdout(io.StringIO()):
            shown(attempt.of(*attempt.args, **attempt.named))
    except fk.ForgekitError as error:
        # The compiler's own messages, which quote its input, are not shortened.
        words = str(error)
        return wording(words[:1000] if isinstance(error, fk.CompileError) else words)
    except TookTooLong as error:
        return f"did not return in {SECONDS} s{inside(error.__traceback__)}"
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        by_python = all(f.filename.endswith("contextlib.py") for f in frames)
        if isinstance(error, TypeError) and by_python:
            return ""
        if isinstance(error, RuntimeError) and "can't allocate memory" in repr(error):
            return ""
        text = ""
        with contextlib.suppress(Exception):
            text = str(error)[:90]
        return f"{type(error).__name__}: {text!r}{inside(error.__traceback__)}"
    return ""


def shown(result: Any) -> None:
    """Show a value as a notebook shows the last value of a cell."""
    if isinstance(result, types.GeneratorType) or hasattr(result, "__enter__"):
        with result:
            return
    if type(result).__module__.startswith("forgekit"):
        repr(result)


def wording(message: str) -> str:
    if not message.strip():
        return "a message without a word"
    if "object at 0x" in message:
        return f"an address in the message: {message[:120]}"
    if len(message) > 3000:
        return f"a message of {len(message)} characters: {message[:80]}"
    return ""


def inside(trace: types.TracebackType | None) -> str:
    frames = [f for f in traceback.extract_tb(trace) if "/forgekit/" in f.filename]
    return "".join(f" [{f.filename.split('/forgekit/')[-1]}:{f.lineno}]" for f in frames[-1:])
