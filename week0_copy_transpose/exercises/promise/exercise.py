"""Exercise week0/promise: promise enough for loads of 128 bits, and no more."""

from __future__ import annotations

import re
from typing import Any

import torch

import forgekit as fk
from forgekit.compiling.compiled import CompiledKernel
from forgekit.compiling.specs import TensorSpec
from forgekit.errors import ForgekitError
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

__all__ = ["EXERCISE"]

_LOAD = re.compile(r"\bld\.global\S*?(?:\.v(\d))?\.[bfsu](\d+)\b")
_DTYPES = (torch.float32, torch.float16)
_ROWS = "mode 0 counts the rows. Along which mode does a vector lie?"


def _pair(m: int, n: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    x = fk.randn(m, n, dtype=dtype, device="virtual")
    return x, fk.empty(m, n, dtype=dtype, device="virtual")


def _compiled(submission: Submission, *tensors: torch.Tensor) -> CompiledKernel:
    from .kernels import by_vectors  # which imports CuTe DSL

    promise = python_function(submission, "promise(x)")
    specs: list[Any] = []
    for t in tensors:
        try:
            specs.append(promise(t))
        except Exception as error:
            likely = _ROWS if "size of mode 0" in str(error) else ""
            raise GateError(
                f"promise raised for a tensor of {_name(t)}.\n{error}", likely
            ) from None
    wrong = next((s for s in specs if not isinstance(s, TensorSpec)), None)
    if wrong is not None or not all(isinstance(s, TensorSpec) for s in specs):
        raise GateError(f"promise returned {wrong!r:.100}; return the result of fk.spec(x, …).")
    return fk.compile(by_vectors, *specs, device="virtual", arch=submission.arch)


def _name(t: torch.Tensor) -> str:
    return f"{tuple(t.shape)} {str(t.dtype).removeprefix('torch.')}"


def _one_load(submission: Submission) -> str:
    for dtype in _DTYPES:
        x, y = _pair(6, 64, dtype)
        kernel = _compiled(submission, x, y)
        bits = [int(v or 1) * int(b) for v, b in _LOAD.findall(kernel.ptx)]
        if bits != [128]:
            raise GateError(
                f"For {_name(x)}, a thread makes {len(bits)} loads of {bits[0] if bits else 0} bits, but it must "
                "make one load of 128 bits.",
                _too_little(bits, dtype, kernel.specs["mX"]),
                "How many elements of this type make up 16 bytes, and along which mode do they "
                "lie?",
            )
    return "in two types"


def _too_little(bits: list[int], dtype: torch.dtype, spec: TensorSpec) -> str:
    if 0 in spec.divisible and 1 not in spec.divisible:
        return _ROWS
    if spec.align < 16:
        return f"the spec promises an alignment of only {spec.align} bytes. A load of 16 bytes needs 16."
    if dtype != torch.float32:
        return "16 bytes are four elements of float32, but eight of float16."
    if (multiple := spec.divisible.get(1, 1)) > 1:
        return f"the spec promises a multiple of {multiple} elements, but 16 bytes are four elements of float32."
    return "the spec promises nothing about the rows, so the second row may start at any address."


def _serves(
    submission: Submission, cases: list[tuple[int, int]], dtype: torch.dtype, start: int = 0
) -> None:
    """Check that the kernel accepts these cases. start: bytes from a multiple of 64 to the first
    element of x."""
    from forgekit.checking.compare import compare

    kernel = _compiled(submission, *_pair(6, 64, dtype))
    for m, n in cases:
        x, y = _pair(m, n, dtype)
        if start:
            begin = start // x.element_size()
            x = fk.randn(begin + m * n, dtype=dtype, device="virtual")[begin:].view(m, n)
        try:
            kernel(x, y)
        except ForgekitError as error:
            happened = f"The kernel compiled for (6, 64) must also take {_name(x)}.\n{error}"
            raise GateError(happened, _too_much(str(error))) from None
        report = compare(y, x, name="y", max_shown=3)
        if not report.ok:
            raise GateError(f"With {_name(x)}, the result is wrong.\n{report}")


def _too_much(text: str) -> str:
    if "alignment" in text:
        return "16 bytes is the widest load, so no load needs more alignment."
    if "dtype" in text:
        return "the spec describes a tensor of a different type from `x`."
    if "size of mode 0" in text and "compiled-in" in text:
        return "M is compiled in, but the kernel must accept any number of rows. `static=True` fixes every size."
    if "size of mode 0" in text:
        return (
            "this promises something about the number of rows, mode 0, but a vector lies along "
            "mode 1."
        )
    if "read_only" in text:
        return "read_only promises that the kernel does not write to this tensor."
    if "compiled-in" in text:
        return (
            "N is compiled in, which requires one kernel per N. A promise serves many values of N."
        )
    return "the spec promises more than a load of 128 bits needs, so fewer tensors fit."


def _odd_rows(submission: Submission) -> str:
    for dtype in _DTYPES:
        _serves(submission, [(1, 64), (5, 64), (33, 64)], dtype)
    return "1, 5 and 33 rows"


def _other_widths(submission: Submission) -> str:
    _serves(submission, [(3, 4), (3, 12), (7, 100), (2, 256)], torch.float32)
    _serves(submission, [(3, 8), (7, 104), (2, 256)], torch.float16)
    for dtype in _DTYPES:
        _serves(submission, [(3, 64)], dtype, start=16)
    return "every multiple of 16 bytes"


def _refuses(submission: Submission) -> str:
    """Check that the kernel refuses every tensor that the promise excludes."""
    kernel = _compiled(submission, *_pair(6, 64, torch.float32))
    flat = fk.randn(6 * 64 + 1, device="virtual")
    for x, words in (
        (fk.randn(6, 66, device="virtual"), "66 columns"),
        (flat[1:].view(6, 64), "a start 4 bytes after a multiple of 16"),
    ):
        try:
            kernel(x, fk.empty(*x.shape, device="virtual"))
        except ForgekitError:
            continue
        raise GateError(
            f"The kernel accepted a matrix with {words}, and a load would be misaligned."
        )
    return "66 columns, and a misaligned start"


EXERCISE = Exercise(
    title="make the promises for 128-bit loads",
    task="""
Write `promise(x)`, which returns a spec for `scale_by_vectors`. If you compile with this spec, the
kernel must load each vector with one 128-bit load, for `float32` *and* for `float16`. It must
accept any number of rows and every number of columns that allows such loads, so promise no more
than these loads need.
""",
    hints=(
        "The promise is `divisible={mode: number}`. Along which mode does a vector lie?",
        "How many elements make up 16 bytes? `x.element_size()` is the size of one element in "
        "bytes.",
        "One argument of `fk.spec` is enough. It promises that the size of the mode along which a "
        "vector lies is a multiple of the number of elements in 16 bytes.",
    ),
    analysis="""
The promise about mode 1 has two effects. First, each row consists of whole vectors. Second, since
the rows of a contiguous matrix are N elements apart, every row starts at a multiple of 16 bytes if
the first row does. The first row does, because `fk.spec` derives the alignment from the address of
`x`; `align=16` only makes that explicit. The number of rows needs no promise, because no vector
extends from one row into the next.
""",
    entry="promise",
    groups=(
        Group("One load of 128 bits", _one_load),
        Group("Any number of rows", _odd_rows),
        Group("No more than is needed", _other_widths),
        Group("A promise that is kept", _refuses),
    ),
)
