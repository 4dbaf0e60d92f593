"""Describe the tensors for which a kernel is compiled: element type, static sizes, strides and
alignment.

A `TensorSpec` made from a tensor leaves all sizes dynamic, so that one compiled kernel works for
all sizes, and fixes only the memory order: the mode with stride 1. `spec(x, static=…, divisible=…)`
fixes more values, for code that needs them at compile time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from forgekit.arguments import checked, dense, integer_or_none
from forgekit.dtypes import cute_type, dtype_info
from forgekit.errors import ArgumentMismatchError, brief, got_needed, usage_error
from forgekit.text import plural
from forgekit.vgpu import HARDWARE, HOST

Mode = int | str | None  # a static size, the name of a dynamic size, or None
Problem = tuple[str, object, object, str]  # subject, got, needed, remedy
# maps names to their sizes in a call, with the tensor and mode that have the size
Sizes = dict[str, tuple[int, str]]

_MAX_ALIGN = 16  # bytes in a thread's widest access


@dataclass(frozen=True)
class TensorSpec:
    """The description of a tensor argument of a compiled kernel.

    dtype: the torch dtype. shape: one entry per mode: an int is a static size; None is a dynamic
    size; a string names a dynamic size, which must be equal wherever the name is used. stride: the
    strides in elements, in the same form; None instead of a tuple means row-major. align: the
    alignment of the first element in bytes. divisible: maps modes with dynamic sizes to divisors of
    these sizes. read_only: True if the kernel must not write to the tensor (checked on the virtual
    GPU).
    """

    dtype: torch.dtype
    shape: tuple[Mode, ...]
    stride: tuple[Mode, ...] | None = None
    align: int | None = None
    divisible: Mapping[int, int] = field(default_factory=dict)
    read_only: bool = False

    def __post_init__(self) -> None:
        element_bytes = dtype_info(self.dtype).bytes
        rank = len(_modes("shape", self.shape))
        stride = _modes("stride", _row_major(self.shape) if self.stride is None else self.stride)
        if len(stride) != rank:
            got, remedy = plural(len(stride), "entry"), "leave it out for row-major order"
            raise usage_error("stride", got, f"{rank}, one per mode", remedy)
        align = element_bytes if self.align is None else _whole("align", self.align)
        if align < element_bytes or align & (align - 1):
            needed = f"a power of two that is at least {element_bytes} bytes"
            raise usage_error("align", align, needed, "try 16")
        divisible = _divisors(self.divisible)
        for mode, divisor in divisible.items():
            if not 0 <= mode < rank or divisor < 1:
                got = f"{{{mode}: {divisor}}}"
                needed = f"a mode from 0 to {rank - 1} and a divisor of at least 1"
                raise usage_error("divisible", got, needed, "correct the entry")
        if not isinstance(self.read_only, bool):
            raise usage_error("read_only", self.read_only, "True or False", "leave it out")
        object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "align", align)
        object.__setattr__(self, "divisible", divisible)

    @property
    def strides(self) -> tuple[Mode, ...]:
        return self.stride or ()

    @property
    def alignment(self) -> int:
        return self.align or 1

    def _row_divisor(self) -> int:
        """Return the fastest mode's divisor, which all dynamic strides must also be multiples of,
        because each row must start at a multiple of it."""
        unit = next((m for m, s in enumerate(self.strides) if s == 1), None)
        return 1 if unit is None else self.divisible.get(unit, 1)

    def key(self) -> tuple[object, ...]:
        """Return plain data that identifies this spec."""
        divisible = tuple(sorted(self.divisible.items()))
        return (str(self.dtype), self.shape, self.stride, self.align, divisible, self.read_only)

    def __str__(self) -> str:
        name = str(self.dtype).removeprefix("torch.")
        divisors = [self.divisible.get(mode, 1) for mode in range(len(self.shape))]
        shape = ", ".join(
            ("?" if size is None else str(size)) + (f"{{div={divisor}}}" if divisor > 1 else "")
            for size, divisor in zip(self.shape, divisors, strict=True)
        )
        strides = ", ".join("?" if m is None else str(m) for m in self.strides)
        return f"{name} ({shape}):({strides}) align {self.align}"

    # -- for the compiler ---------------------------------------------------------------------
    def fake(self, symbols: dict[str, Any]) -> Any:
        """Return CuTe DSL's placeholder for a tensor with this spec. symbols: maps named sizes to
        CuTe DSL's symbols; this function adds to it."""
        import cutlass.cute as cute
        from cutlass.cute.runtime import make_fake_tensor

        def size(mode: int, value: Mode) -> Any:
            if isinstance(value, int):
                return value
            symbol = cute.sym_int(divisibility=self.divisible.get(mode, 1))
            return symbol if value is None else symbols.setdefault(value, symbol)

        def step(value: Mode) -> Any:
            return value if isinstance(value, int) else cute.sym_int64(divisibility=row_divisor)

        row_divisor = self._row_divisor()
        shape = tuple(size(m, v) for m, v in enumerate(self.shape))
        stride = tuple(step(v) for v in self.strides)
        return make_fake_tensor(cute_type(self.dtype), shape, stride, assumed_align=self.align)

    # -- for calls ----------------------------------------------------------------------------
    def check(self, name: str, tensor: torch.Tensor, sizes: Sizes) -> None:
        """Raise an error if a tensor does not fit this spec.

        sizes: the named sizes found so far in this call, with their tensors and modes; this
        function adds to them.

        Raises:
            ArgumentMismatchError: the tensor does not fit; the message names the argument, the
                passed value, the requirement and a remedy.
        """
        is_tensor = isinstance(tensor, torch.Tensor)
        if not is_tensor or tensor.is_nested or tensor.layout is not torch.strided:
            dense(f"argument {name}", tensor)
        for what, got, needed, remedy in self._problems(name, tensor, sizes):
            raise ArgumentMismatchError(got_needed(f"argument {name}, {what}", got, needed, remedy))

    def _problems(self, name: str, tensor: torch.Tensor, sizes: Sizes) -> Iterator[Problem]:
        """Yield the ways in which a tensor does not fit this spec; only the first is reported."""
        if tensor.dtype != self.dtype:
            remedy = f"convert with .to({self.dtype}) or compile for {tensor.dtype}"
            yield "dtype", tensor.dtype, self.dtype, remedy
        if tensor.dim() != len(self.shape):
            got = f"{tensor.dim()} (shape {tuple(tensor.shape)})"
            yield "rank", got, len(self.shape), "reshape the tensor or compile for this rank"
        for mode, (size, want) in enumerate(zip(tensor.shape, self.shape, strict=True)):
            what = f"size of mode {mode}"
            if isinstance(want, int) and size != want:
                remedy = "compile for this size, or leave the mode dynamic"
                yield what, size, f"{want}, the compiled-in value", remedy
            if isinstance(want, str):
                known, where = sizes.setdefault(want, (size, f"mode {mode} of {name}"))
                if known != size:
                    needed = f"{known} ({want}, from {where})"
                    yield what, size, needed, "pass tensors with matching sizes"
        yield from self.broken_promises(tensor)
        if (problem := self.size_problem(tensor)) is not None:
            yield problem
        for mode, (step, want) in enumerate(zip(tensor.stride(), self.strides, strict=True)):
            # The stride of a mode with a single element does not matter.
            if isinstance(want, int) and step != want and tensor.shape[mode] > 1:
                remedy = "compile for this tensor"
                if not tensor.is_contiguous():
                    remedy = f"pass {name}.contiguous(), or {remedy}"
                yield f"stride of mode {mode}", step, f"{want}, the compiled-in value", remedy
        if tensor.numel() and tensor.data_ptr() % self.alignment:
            got = f"an address that is not a multiple of {self.alignment} bytes"
            needed = f"the compiled-in alignment of {self.alignment} bytes"
            yield "alignment", got, needed, f"pass {name}.clone(), or compile for this tensor"

    def broken_promises(self, tensor: torch.Tensor) -> Iterator[Problem]:
        """Yield the sizes and dynamic strides that are not multiples of their divisor in
        `divisible`."""
        for mode, divisor in self.divisible.items():
            if (size := tensor.shape[mode]) % divisor:
                remedy = f"pad it to {-(-size // divisor) * divisor}, or compile without divisible"
                yield f"size of mode {mode}", size, f"a multiple of {divisor}", remedy
        divisor = self._row_divisor()
        for mode, (step, known) in enumerate(zip(tensor.stride(), self.strides, strict=True)):
            if not isinstance(known, int) and step % divisor and tensor.shape[mode] > 1:
                needed = f"a multiple of {divisor}, like the start of every row"
                remedy = "make the tensor contiguous with .contiguous(), or pad the rows"
                yield f"stride of mode {mode}", step, needed, remedy

    def size_problem(self, tensor: torch.Tensor) -> Problem | None:
        """Describe the size or offset of a tensor that exceeds a kernel's 32-bit integers; None if
        there is none."""
        dynamic = [not isinstance(size, int) for size in self.shape]
        stride_bits = [None if isinstance(step, int) else 64 for step in self.strides]
        found = HOST.beyond_32_bits(tensor.shape, tensor.stride(), dynamic, stride_bits)
        return found and ("layout", *found)

    @functools.cached_property
    def safe_sizes(self) -> tuple[tuple[int, int], ...]:
        """Return the modes whose sizes can make an offset exceed 32 bits, each with the largest
        size for which this cannot happen; check larger sizes with `size_problem`. Return () if
        there are no such modes."""
        fixed = [
            (m, n, abs(s))
            for m, (n, s) in enumerate(zip(self.shape, self.strides, strict=True))
            if isinstance(s, int) and 0 < abs(s) <= HARDWARE.LARGEST_INDEX
        ]
        room = HARDWARE.LARGEST_INDEX - sum(
            (n - 1) * step for _, n, step in fixed if isinstance(n, int) and n > 1
        )
        open_ = [(m, step) for m, n, step in fixed if not isinstance(n, int)]
        if not open_:
            return ((0, -1),) if room < 0 else ()
        shares = ((m, room // len(open_) // step + 1) for m, step in open_)
        return tuple((m, most) for m, most in shares if most <= HARDWARE.LARGEST_INDEX)


@checked()
def spec(
    tensor: torch.Tensor | TensorSpec,
    *,
    static: bool | Iterable[int] = False,
    divisible: Mapping[int, int] | None = None,
    align: int | None = None,
    names: Iterable[str | None] | None = None,
    read_only: bool = False,
) -> TensorSpec:
    """Return a spec for tensors like this one.

    static: the modes whose sizes to compile in; True compiles in all sizes and strides. divisible:
    maps modes with dynamic sizes to divisors of these sizes. align: the alignment in bytes; by
    default, the alignment of this tensor's address, at most 16. names: the names of dynamic modes;
    modes with the same name must have the same size in a call. read_only: True to make the virtual
    GPU stop a kernel that writes to the tensor; a GPU does not.

    Raises:
        UsageError: the tensor lacks a mode, a size or stride is not a multiple of its divisor, or a
            number is not an integer.
    """
    if isinstance(tensor, TensorSpec):
        return tensor
    dense("tensor", tensor)
    rank = tensor.dim()
    fixed = range(rank if static else 0) if isinstance(static, bool) else _listed("static", static)
    if not all(integer_or_none(mode) in range(rank) for mode in fixed):
        needed, remedy = f"modes from 0 to {rank - 1}", "count modes from 0, or pass True for all"
        raise usage_error("static", static, needed, remedy)
    labels = [None] * rank if names is None else _listed("names", names)
    if len(labels) != rank or not all(m is None or isinstance(m, str) for m in labels):
        raise usage_error(
            "names", brief(labels), f"{rank}, one per mode", "use None for an unnamed mode"
        )
    shape = tuple(int(n) if m in fixed else labels[m] for m, n in enumerate(tensor.shape))
    strides = _known_strides(tensor, shape)
    align = _alignment(tensor) if align is None else align
    made = TensorSpec(tensor.dtype, shape, strides, align, divisible or {}, read_only)
    for problem in made.broken_promises(tensor):
        raise usage_error(*problem)
    return made


def _alignment(tensor: torch.Tensor) -> int:
    """Return the alignment of a tensor's address in bytes, at most 16."""
    address = tensor.data_ptr() if tensor.numel() else 0
    return max(min(_MAX_ALIGN, address & -address or _MAX_ALIGN), tensor.element_size())


def _known_strides(tensor: torch.Tensor, shape: tuple[Mode, ...]) -> tuple[Mode, ...]:
    """Return the strides to compile in: 1 for the fastest mode, and the strides that follow from
    static sizes."""
    if all(isinstance(size, int) for size in shape):
        return tuple(map(int, tensor.stride()))
    unit = _unit_mode(tensor)
    known = _row_major(shape) if tensor.is_contiguous() else (None,) * tensor.dim()
    return tuple(1 if m == unit else step for m, step in enumerate(known))


def _row_major(shape: tuple[Mode, ...]) -> tuple[Mode, ...]:
    strides: list[Mode] = []
    step: int | None = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size if isinstance(size, int) and step is not None else None
    return tuple(reversed(strides))


def _unit_mode(tensor: torch.Tensor) -> int | None:
    """Return the mode with stride 1, or the last such mode; None if there is none. A one-column
    matrix, whose strides are both 1, is row-major, as in torch."""
    ones = [m for m, step in enumerate(tensor.stride()) if step == 1]
    longer = [m for m in ones if tensor.shape[m] > 1]
    last = tensor.dim() - 1
    if tensor.is_contiguous() and (last in ones or not longer):
        return last
    return next(reversed(longer or ones), None)


# -- input from users ----------------------------------------------------------------------------
def _modes(what: str, modes: object) -> tuple[Mode, ...]:
    if isinstance(modes, tuple) and all(
        m is None or isinstance(m, str) or (type(m) is int and m >= 0) for m in modes
    ):
        return modes
    needed, remedy = "a tuple of numbers, names and None", "use None for dynamic entries"
    raise usage_error(f"TensorSpec, {what}", brief(modes), needed, remedy)


def _divisors(divisible: object) -> dict[int, int]:
    """Convert and validate the promised divisors."""
    if not isinstance(divisible, Mapping):
        needed, remedy = "{mode: divisor}, such as {1: 4}", "specify the mode"
        raise usage_error("divisible", divisible, needed, remedy)
    return {
        _whole("divisible", mode): _whole("divisible", divisor, f" for mode {mode}")
        for mode, divisor in divisible.items()
    }


def _listed(what: str, values: Any) -> list[Any]:
    if hasattr(values, "ndim"):  # a tensor or an array
        needed, remedy = "a Python list", "write the entries in brackets"
        raise usage_error(what, brief(values), needed, remedy)
    return list(values)


def _whole(what: str, value: object, where: str = "") -> int:
    number = integer_or_none(value)
    if number is None:
        remedy = "use `//`" if isinstance(value, float) else "pass an int"
        raise usage_error(what, brief(value) + where, "a whole number", remedy)
    return number
