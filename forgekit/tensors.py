"""Create torch tensors on the device on which kernels run, with the same values on every device.

A shape is passed as separate numbers or as a tuple. Random values come from a separate generator on
the CPU, seeded with `seed`, never from torch's global generator. Two calls with the same seed,
shape and dtype return the same values, so pass seed=1 for a second tensor.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence

import torch

from forgekit.arguments import checked, integer_or_none
from forgekit.devices import current_target
from forgekit.errors import PlatformError, brief, got_needed, usage_error
from forgekit.vgpu import HOST

Shape = int | Sequence[int]

_INT64, _SEEDS = (-(2**63), 2**63 - 1), (-(2**63), 2**64 - 1)
_MOST = 2**59  # the maximum number of addressable 8-byte elements


def _shape(shape: tuple[Shape, ...]) -> tuple[int, ...]:
    sizes: Sequence[object] = shape
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        sizes = tuple(shape[0])
    whole = []
    for size in sizes:
        number = integer_or_none(size)
        if number is None or number < 0:
            remedy = "write randn(4, 8) or randn((4, 8)); pass dtype= and seed= as keywords"
            raise usage_error("shape", brief(size), "sizes that are integers >= 0", remedy)
        whole.append(number)
    if max((*whole, math.prod(whole))) > _MOST:
        got = f"{brief(tuple(whole))}, which is {math.prod(whole):.3g} elements"
        raise usage_error("shape", got, f"at most {_MOST:.3g}", "choose smaller sizes")
    return tuple(whole)


@contextlib.contextmanager
def _in_memory(dtype: torch.dtype, count: int) -> Iterator[None]:
    """Raise PlatformError if the block cannot allocate a tensor of `count` elements."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        size = f"{count * dtype.itemsize / 2**30:,.1f} GiB"
        message = got_needed(
            "tensor", f"{size} of {dtype}", "enough free memory", "choose smaller sizes"
        )
        raise PlatformError(message) from None


def _check_dtype(dtype: object) -> None:
    if isinstance(dtype, torch.dtype):
        return
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", "")
    found = isinstance(getattr(torch, name, None), torch.dtype)
    remedy = f"write dtype=torch.{name if found else 'float32'}"
    raise usage_error("dtype", brief(dtype), "a torch dtype", remedy)


_shift = 0  # a number added to every seed


@contextlib.contextmanager
def reseeded(secret: int) -> Iterator[None]:
    """Make all seeds draw different values, which depend on `secret`; for 0, draw the usual
    values."""
    global _shift
    before, _shift = _shift, secret
    try:
        yield
    finally:
        _shift = before


def shifted(seed: int) -> int:
    """Return the seed to use: `seed`, or a different seed within `reseeded`."""
    return (seed + _shift) % 2**64 if _shift else seed


def _generator(seed: int) -> torch.Generator:
    return torch.Generator("cpu").manual_seed(shifted(seed))


def _place(tensor: torch.Tensor, dtype: torch.dtype, device: str | None) -> torch.Tensor:
    return tensor.to(dtype).to(current_target(device).torch_device)


def _randn(sizes: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Return normally distributed float32 values that are the same on every CPU.

    PyTorch's normally distributed float32 values depend on the CPU's vector instructions. Its
    float64 values depend on them only in the last bit, which rounding to float32 removes.
    """
    return torch.randn(sizes, dtype=torch.float64, generator=generator).float()


def _rand(sizes: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Return uniformly distributed float32 values, multiples of 2⁻²⁴ that are the same on every
    CPU."""
    return torch.rand(sizes, dtype=torch.float32, generator=generator)


def _drawn(
    draw: Callable[[tuple[int, ...], torch.Generator], torch.Tensor],
    shape: tuple[Shape, ...],
    dtype: torch.dtype,
    seed: int,
    device: str | None,
) -> torch.Tensor:
    """Draw random float32 values and convert them to `dtype`."""
    _check_dtype(dtype)
    if not dtype.is_floating_point:
        needed, remedy = "a floating-point dtype", "use randint(low, high, ...) for integers"
        raise usage_error(f"{draw.__name__[1:]} dtype", dtype, needed, remedy)
    sizes = _shape(shape)
    with _in_memory(torch.float64, math.prod(sizes)):
        return _place(draw(sizes, _generator(seed)), dtype, device)


@checked(seed=_SEEDS)
def randn(
    *shape: Shape, dtype: torch.dtype = torch.float32, seed: int = 0, device: str | None = None
) -> torch.Tensor:
    """Return normally distributed values with mean 0 and standard deviation 1.

    The same seed gives the same values on every machine, with float32's precision in every dtype.
    Pass seed=1 for a second tensor of the same shape, otherwise it will equal the first. Raise
    UsageError for integer dtypes.
    """
    return _drawn(_randn, shape, dtype, seed, device)


@checked(seed=_SEEDS)
def rand(
    *shape: Shape, dtype: torch.dtype = torch.float32, seed: int = 0, device: str | None = None
) -> torch.Tensor:
    """Return values uniformly distributed in [0, 1), with float32's precision in every dtype.

    The same seed gives the same values on every machine. Pass seed=1 for a second tensor. In dtypes
    narrower than float32, a value may round to 1. Raise UsageError for integer dtypes.
    """
    return _drawn(_rand, shape, dtype, seed, device)


@checked(seed=_SEEDS, low=_INT64, high=_INT64)
def randint(
    low: int,
    high: int,
    *shape: Shape,
    dtype: torch.dtype = torch.int32,
    seed: int = 0,
    device: str | None = None,
) -> torch.Tensor:
    """Return random integers from `low` (inclusive) to `high` (exclusive), in any dtype. The same
    seed gives the same values."""
    _check_dtype(dtype)
    if low >= high:
        remedy = "write randint(low, high, *shape) with low < high"
        raise usage_error("randint", f"low={low}, high={high}", "low < high", remedy)
    sizes = _shape(shape)
    with _in_memory(torch.int64, math.prod(sizes)):
        values = torch.randint(low, high, sizes, generator=_generator(seed))
        return _place(values, dtype, device)


@checked()
def full(
    shape: Shape,
    value: float | int | bool,
    *,
    dtype: torch.dtype = torch.float32,
    device: str | None = None,
) -> torch.Tensor:
    """Return a tensor whose elements all equal `value`."""
    _check_dtype(dtype)
    where = current_target(device).torch_device
    sizes = _shape((shape,))
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        value = float(value)
    else:
        _fits("value", value, dtype)
    with _in_memory(dtype, math.prod(sizes)):
        return torch.full(sizes, value, dtype=dtype, device=where)


def _fits(what: str, value: float, dtype: torch.dtype) -> None:
    info = torch.iinfo(dtype)
    if not info.min <= value <= info.max:  # also rejects NaN
        needed = f"a number from {info.min:,} to {info.max:,} ({dtype})"
        raise usage_error(what, brief(value), needed, "use a wider dtype")


@checked()
def zeros(
    *shape: Shape, dtype: torch.dtype = torch.float32, device: str | None = None
) -> torch.Tensor:
    """Return a tensor of zeros."""
    return full(_shape(shape), 0, dtype=dtype, device=device)


@checked()
def ones(
    *shape: Shape, dtype: torch.dtype = torch.float32, device: str | None = None
) -> torch.Tensor:
    """Return a tensor of ones."""
    return full(_shape(shape), 1, dtype=dtype, device=device)


def poison(dtype: torch.dtype) -> float | int | bool:
    """Return the value with which `empty` fills, which a correct kernel is unlikely to store."""
    if dtype == torch.bool:
        return True
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    info = torch.iinfo(dtype)
    return info.min if info.min < 0 else info.max


@checked()
def empty(
    *shape: Shape, dtype: torch.dtype = torch.float32, device: str | None = None
) -> torch.Tensor:
    """Return a tensor for a kernel to write, filled with a value that reveals unwritten elements.

    The value is NaN for floats, the type's minimum for signed integers, its maximum for unsigned
    integers, and True for booleans. Because True is also a common result, use uint8 instead of bool
    to reveal unwritten elements.
    """
    _check_dtype(dtype)
    made = full(_shape(shape), poison(dtype), dtype=dtype, device=device)
    if made.device.type == "cpu":
        HOST.mark_blank(made)  # for the sanitizer, the memory is unwritten
    return made


@checked()
def arange(
    *limits: float, dtype: torch.dtype = torch.float32, device: str | None = None
) -> torch.Tensor:
    """Like `torch.arange(end)`, `(start, end)` or `(start, end, step)`, but in float32 by
    default."""
    if not 1 <= len(limits) <= 3:
        remedy = "write arange(end) or arange(start, end, step)"
        raise usage_error("arange", f"{len(limits)} limits", "1 to 3", remedy)
    _check_dtype(dtype)
    start, end, step = (0, limits[0], 1) if len(limits) == 1 else (*limits, 1)[:3]
    wide = torch.float64 if dtype.is_floating_point or dtype.is_complex else torch.int64
    for limit in limits:
        if not math.isfinite(limit):
            raise usage_error("arange", brief(limit), "finite limits", "pass a number")
        _fits("arange", limit, torch.int64)
    if step == 0 or (end - start) * step < 0:
        got = f"start={start}, end={end}, step={step}"
        raise usage_error("arange", got, "a step toward end", "change the sign of step")
    count = _shape((math.ceil((end - start) / step),))[0]
    with _in_memory(wide, count):
        return _place(torch.arange(start, end, step, dtype=wide), dtype, device)
