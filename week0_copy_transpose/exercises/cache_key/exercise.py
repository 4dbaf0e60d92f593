"""Exercise week0/cache_key: separate the facts about a tensor that determine its code from all
others."""

from __future__ import annotations

import ast
import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from unittest import mock

import torch

import forgekit as fk
from forgekit.compiling.specs import TensorSpec
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Pair, Submission, key_of, keys
from forgekit.lessons.gates.submission import source_of

__all__ = ["EXERCISE"]


def _matrix(
    rows: int,
    cols: int,
    dtype: torch.dtype = torch.float32,
    start: int = 0,
    pitch: int = 0,
) -> torch.Tensor:
    """Return a row-major matrix, its first element `start` elements beyond a 256-byte boundary."""
    pitch = pitch or cols
    flat = fk.randn(256 + start + rows * pitch, dtype=dtype, device="virtual")
    start += -flat.data_ptr() % 256 // flat.element_size()
    return flat[start : start + rows * pitch].view(rows, pitch)[:, :cols]


def _at(byte: int, dtype: str) -> torch.Tensor:
    """Return a matrix (4, 8) whose first element is `byte` bytes beyond a 256-byte boundary."""
    data = _matrix(5, 32).numpy().reshape(-1).view("uint8")[byte:]
    of = data[: 32 * int(dtype[-1])].view(dtype)
    return torch.from_numpy(of).view(4, 8)


def _strided(shape: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    return _matrix(8, 64).as_strided(shape, strides)


class _Elsewhere(torch.Tensor):
    """A float32 matrix (4, 8) with the address of one here that claims to be on another device."""

    def __new__(cls, device: str) -> _Elsewhere:
        x = _matrix(4, 8).as_subclass(cls)
        x.on = torch.device(device)
        return x

    device = property(lambda self: self.on)
    is_cpu = property(lambda self: self.on.type == "cpu")
    is_cuda = property(lambda self: self.on.type == "cuda")
    is_mps = property(lambda self: self.on.type == "mps")
    is_xpu = property(lambda self: self.on.type == "xpu")
    is_meta = property(lambda self: self.on.type == "meta")

    def get_device(self) -> int:
        return -1 if self.on.index is None else self.on.index


def _different() -> Iterator[Pair]:
    x, half = _matrix(4, 8), _matrix(4, 8, torch.float16)
    columns, gaps = _matrix(8, 4).T, _matrix(4, 16)[:, ::2]
    yield Pair(
        x,
        half,
        "a float32 and a float16 matrix",
        "the key lacks the element type. The same instructions would read different bytes.",
    )
    yield Pair(
        half,
        half.to(torch.bfloat16),
        "a float16 and a bfloat16 matrix",
        "the size of an element does not determine its type; both types have two bytes.",
    )
    yield Pair(
        x,
        _matrix(4, 8).to(torch.int32),
        "a float32 and an int32 matrix",
        "the size of an element does not determine its type; both types have four bytes.",
    )
    for one, other in (
        (torch.int8, torch.uint8),
        (torch.uint8, torch.bool),
        (torch.float8_e4m3fn, torch.float8_e5m2),
        (torch.float64, torch.int64),
    ):
        yield Pair(
            x.to(one),
            x.to(other),
            f"a matrix of {one} and one of {other}".replace("torch.", ""),
            "the element type itself must be in the key. Its size, and whether it is a "
            "floating-point type, are not enough.",
        )
    yield Pair(
        x,
        _matrix(8, 8).view(2, 4, 8),
        "a matrix and a tensor of three dimensions",
        "the key lacks the number of dimensions.",
    )
    yield Pair(
        x,
        _matrix(8, 8).view(2, 4, 8).transpose(1, 2),
        "strides (8, 1) and strides (32, 1, 8)",
        "the key lacks the number of dimensions; here one tensor has two, and the other has three.",
    )
    yield Pair(
        x,
        columns,
        "strides (8, 1) and strides (1, 4)",
        "the key lacks the memory order, but the code depends on which mode has stride 1.",
    )
    yield Pair(
        x,
        gaps,
        "strides (8, 1) and strides (16, 2)",
        "in x[:, ::2], no mode has stride 1, and neighbouring elements are two positions apart.",
    )
    yield Pair(
        columns,
        gaps,
        "strides (1, 4) and strides (16, 2)",
        "in the first of them, mode 0 has stride 1, and in the second, none. Which mode has stride 1?",
    )
    yield Pair(
        _matrix(8, 8).view(2, 4, 8).transpose(1, 2),
        _matrix(8, 16)[:, ::2].view(2, 4, 8),
        "strides (32, 1, 8) and strides (64, 16, 2)",
        "any mode can have stride 1, not only the first or the last.",
    )
    for other, strides in ((columns, "(1, 4)"), (x, "(8, 1)")):
        yield Pair(
            _matrix(4, 1),
            other,
            f"strides (1, 1) and strides {strides}",
            "in a matrix with one column, both modes have stride 1. The key must contain the *set* "
            "of modes with stride 1.",
        )
    for one, two in (
        ((1, 1, 4), (8, 4, 1)),
        ((1, 4, 1), (1, 1, 1)),
        ((1, 1, 4), (1, 4, 1)),
        ((1, 8, 4), (8, 1, 4)),
    ):
        yield Pair(
            _strided((4, 1, 1), one),
            _strided((4, 1, 1), two),
            f"strides {one} and strides {two}",
            "the *set* of modes with stride 1 differs. Its size, its sum, and its first and last "
            "members are not enough.",
        )
    yield Pair(
        x,
        _matrix(4, 8, start=1),
        "a tensor that starts at a multiple of 16 bytes and one 4 bytes later",
        "the key lacks the alignment of the first element, which determines whether wide loads are "
        "possible.",
    )
    yield Pair(
        x,
        torch.from_numpy(_matrix(5, 8).numpy().reshape(-1)[1:33]).view(4, 8),
        "a tensor at a multiple of 16 bytes and one whose storage begins 4 bytes later",
        "the key lacks the alignment of the address, up to 16 bytes. `storage_offset()` does not give "
        "it: the storage itself may begin anywhere.",
    )
    yield Pair(
        _matrix(4, 8, start=2),
        _matrix(4, 8, start=1),
        "a tensor 8 bytes after a multiple of 16 and one 4 bytes after it",
        "alignment has steps. Code for a multiple of 8 bytes may load 8 bytes at once, which fails "
        'at an address that is only a multiple of 4. "16 or not" is not enough.',
    )
    yield Pair(
        x,
        _matrix(4, 8, start=2),
        "a tensor at a multiple of 16 bytes and one 8 bytes later",
        "alignment has steps, and 16 bytes is the highest of them; 8 bytes is a weaker promise.",
    )
    yield Pair(
        _matrix(4, 8, torch.float16, start=2),
        _matrix(4, 8, torch.float16, start=1),
        "a float16 tensor 4 bytes after a multiple of 16 and one 2 bytes after it",
        "alignment has steps, down to 1 byte; 4 bytes is a stronger promise than 2.",
    )
    yield Pair(
        half,
        _matrix(4, 8, torch.float16, start=4),
        "a float16 tensor at a multiple of 16 bytes and one 8 bytes later",
        "alignment has steps, in bytes, and 16 bytes is the highest of them for every type.",
    )
    yield Pair(
        _at(2, "i1"),
        _at(1, "i1"),
        "an int8 tensor 2 bytes after a multiple of 16 and one at an odd address",
        "code for a multiple of 2 bytes may load 2 bytes at once, which fails at an odd address.",
    )
    yield Pair(
        _at(4, "f4"),
        _at(2, "f4"),
        "a float32 tensor 4 bytes after a multiple of 16 and one 2 bytes after it",
        "the address determines the alignment, not the size of an element: the first element may "
        "begin at any byte.",
    )
    yield Pair(
        _at(0, "f4"),
        _at(2, "f4"),
        "a float32 tensor at a multiple of 16 bytes and one 2 bytes later",
        "the alignment counts bytes, not elements: the first element may begin at any byte.",
    )
    yield Pair(
        _at(2, "f4"),
        _at(1, "f4"),
        "a float32 tensor 2 bytes after a multiple of 16 and one 1 byte after it",
        "both alignments are below the size of an element, but they differ.",
    )
    yield Pair(
        _strided((2, 2, 2), (1, 4, 20)),
        _strided((2, 2, 2), (2, 8, 40)),
        "strides (1, 4, 20) and strides (2, 8, 40)",
        "only in the first of them, mode 0 has stride 1.",
    )
    yield Pair(
        gaps,
        _strided((2, 4, 8), (64, 16, 2)),
        "strides (16, 2) and strides (64, 16, 2)",
        "the key lacks the number of dimensions if no mode has stride 1.",
    )
    yield Pair(
        _strided((2, 2, 2, 2), (32, 16, 8, 4)),
        _strided((2, 2, 2, 2, 2), (32, 16, 8, 4, 1)),
        "a tensor of four and one of five dimensions",
        "the key lacks the number of dimensions, or the fifth of them.",
    )
    for one, other in (
        ("cpu", "cuda:0"),
        ("cpu", "meta"),
        ("cpu", "xpu:0"),
        ("cuda:0", "meta"),
        ("cuda:0", "xpu:0"),
        ("meta", "xpu:0"),
        ("mps:0", "xpu:0"),
    ):
        yield Pair(
            _Elsewhere(one),
            _Elsewhere(other),
            f"a tensor on device {one} and one on {other}",
            "the key does not tell these two devices apart; code for one kind does not run on another.",
        )


def _alike() -> Iterator[Pair]:
    x = _matrix(4, 8)
    yield Pair(
        x, x, "the same tensor in two calls", "the key of one tensor must be the same each time."
    )
    yield Pair(
        x,
        _matrix(4, 8).add_(1),
        "two tensors that differ only in their values",
        "values, addresses and identity change with every call; the code does not.",
    )
    yield Pair(
        x,
        _matrix(4, 8, start=4),
        "a tensor at a multiple of 256 bytes and one 16 bytes later",
        "16 bytes is the widest access of a thread; more alignment changes nothing.",
    )
    yield Pair(
        x,
        _matrix(31, 8),
        "4 × 8 and 31 × 8",
        "the sizes are in the key, but each call passes them.",
    )
    yield Pair(
        x,
        _matrix(4, 12),
        "rows of 8 elements and rows of 12",
        "a stride other than 1 follows from a size, and each call passes it.",
    )
    yield Pair(
        x,
        _matrix(4, 8, pitch=11),
        "rows 8 elements apart and rows 11 elements apart",
        "only *which* stride is 1 is compiled in; each call passes the other stride.",
    )
    yield Pair(
        _matrix(4, 8, start=1),
        _matrix(4, 8, start=3),
        "a tensor 4 bytes after a multiple of 16 and one 12 bytes after it",
        "both are multiples of 4 but not of 8, so the promise is the same. The remainder itself, "
        "`% 16`, distinguishes tensors that run the same code.",
    )
    yield Pair(
        x,
        _matrix(1, 8),
        "4 × 8 and 1 × 8, both with strides (8, 1)",
        "the sizes are in the key: a mode of size 1 has a stride as well.",
    )
    yield Pair(
        _strided((2, 4, 8), (32, 8, 1)),
        _strided((4, 2, 8), (8, 32, 1)),
        "strides (32, 8, 1) and strides (8, 32, 1)",
        "only *which* stride is 1 is compiled in; each call passes the others, in any order.",
    )
    yield Pair(
        x,
        x[:, :1],
        "4 × 8 and 4 × 1, both with strides (8, 1)",
        "the sizes are in the key: a mode of size 1 has a stride as well.",
    )
    yield Pair(
        x,
        x[:0],
        "4 × 8 and 0 × 8",
        "the sizes are in the key, or the address 0 of an empty tensor, which is a multiple of 16.",
    )
    yield Pair(
        _strided((4, 8), (0, 1)),
        _matrix(1, 8).expand(1 << 40, 8),
        "4 × 8 and 2^40 × 8, both with strides (0, 1)",
        "the sizes are in the key, but each call passes them, however large.",
    )
    yield Pair(
        x,
        _strided((1, 8), (1 << 40, 1)),
        "strides (8, 1) and strides (2^40, 1)",
        "only *which* stride is 1 is compiled in; each call passes the other stride, however large.",
    )
    yield Pair(
        x,
        torch.nn.Parameter(_matrix(4, 8), requires_grad=False),
        "a tensor and a `torch.nn.Parameter`",
        "the key contains more than the five facts; the class does not change the kernel.",
    )
    leaf = _matrix(4, 8).requires_grad_()
    yield Pair(
        leaf,
        leaf * 2,
        "a tensor and the result of an operation on it",
        "the key contains more than the five facts; autograd does not change the kernel.",
    )
    yield Pair(
        x,
        _strided((4, 8), (0, 1)),
        "strides (8, 1) and strides (0, 1)",
        "0 is one of the strides that are not 1, and each call passes these.",
    )
    yield Pair(
        x,
        _matrix(4, 8).requires_grad_(),
        "a tensor without and one with `requires_grad`",
        "the key contains more than the five facts; autograd does not change the kernel.",
    )
    yield Pair(
        _strided((), ()), _strided((), ()), "two tensors without dimensions", "neither has a mode."
    )


def _families() -> Sequence[Callable[[int, int], torch.Tensor]]:
    return (
        lambda m, n: _matrix(m, n),
        lambda m, n: _matrix(m, n, torch.float16),
        lambda m, n: _matrix(n, m, torch.float64).T,
        lambda m, n: _matrix(m, n, start=1),
        lambda m, n: _matrix(m, 3 * n)[:, ::3],
    )


def _own(submission: Submission) -> None:
    """Check that the key comes from the tensor's own properties, not from forgekit's spec."""
    asked: list[object] = []
    # An incomplete spec eventually raises an exception, inside the student's function.
    watch = mock.patch.object(TensorSpec, "__post_init__", lambda spec: asked.append(spec))
    with watch, contextlib.suppress(Exception):
        submission.value(_matrix(4, 8))
    if asked or _makes_spec(source_of(submission.value)):
        raise GateError(
            "This key comes from forgekit, because fk.spec(x) already contains it.",
            look_at="Build it from the dtype, device, stride() and data_ptr() of x.",
        )


def _makes_spec(text: str) -> bool:
    """Return True if code calls `spec(x)`; another process may have made the key."""
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except SyntaxError:  # such as a cell with a magic
        return False
    return any(ast.unparse(call).endswith("spec(x)") for call in calls)


def _distinguished(submission: Submission) -> str:
    _own(submission)
    return _DIFFERENT.run(submission)


def _hits(submission: Submission) -> str:
    """Check that many calls of many sizes need few kernels."""
    chance, families = random.Random(0), _families()
    calls = [
        (k, make(chance.randint(2, 40), chance.randint(2, 40)))
        for _ in range(20)
        for k, make in enumerate(families)
    ]
    found = {key_of(submission.value, x) for _, x in calls}
    if len(found) != len(families):
        raise GateError(
            f"{len(calls)} calls with {len(families)} kinds of tensors compiled {len(found)} kernels."
            "",
            "part of the key changes with the size, or does not change with the kind.",
        )
    return f"{len(calls)} calls, {len(found)} kernels, {len(calls) - len(found)} hits"


_DIFFERENT = keys("cache_key(x)", _different, same=False, name="Different code, different keys")

EXERCISE = Exercise(
    title="write the key",
    task="""
Write `cache_key(x)`, which returns a dict key for kernels that `fk.compile` has compiled. Each call
passes the sizes and every stride that is not 1. Five facts are compiled in: the element type, the
number of dimensions, the set of modes with stride 1 (if any), the device (`x.device` or only its
type), and the alignment. The alignment is the largest of 16, 8, 4, 2 and 1 bytes that divides the address of the
first element. Two tensors must have the same key if and only if these facts agree.
""",
    hints=(
        "Every fact is a property of `x`: `dtype`, `device`, `stride()`, and the address "
        "`data_ptr()`. You do not need `shape`.",
        "For the memory order, turn `x.stride()` into a tuple of True and False. Its length is the "
        "number of dimensions. For the alignment, ask whether the address is a multiple of 16, 8 "
        "or 4.",
        "Python's `math.gcd(a, b)` is the largest number that divides both a and b. For which two "
        "numbers is it the alignment? The rest is a `return` of four values, one of which is a "
        "tuple.",
    ),
    analysis="""
The key contains exactly the facts that are compiled in. If one is missing, a kernel that does not
fit may run and give wrong numbers or access memory out of bounds. If the key contains more, the
cache misses: with `x.shape` in the key, each new size costs a compilation. With `x.data_ptr() % 16`
in the key, float32 needs four kernels instead of three, although addresses 4 and 12 bytes after a
multiple of 16 have the same alignment, 4. A matrix with one column has stride 1 twice, so this key
gives it a separate kernel; `fk.compile` treats it as row-major and saves that kernel. A tensor
cannot supply the second half of a key, the *function* and the values that it captures. Section 3
shows what happens without this half.
""",
    entry="cache_key",
    groups=(
        Group(_DIFFERENT.name, _distinguished),
        keys("cache_key(x)", _alike, same=True, name="The same code, one key"),
        Group("A hundred calls", _hits),
    ),
    praise="The key contains exactly the compiled-in facts.",
)
