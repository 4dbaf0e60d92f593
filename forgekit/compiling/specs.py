"""What a kernel is compiled for: element type, which sizes are fixed, strides, alignment.

A `TensorSpec` stands for every tensor it fits. Made from a tensor it leaves all sizes dynamic (one
compiled kernel serves them all) and fixes only what the tensor's memory order says: which mode
has stride 1. `spec(x, static=…, divisible=…)` fixes more, for code that needs it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forgekit.arguments import dense
from forgekit.errors import ArgumentMismatchError, UsageError, brief, got_needed
from forgekit.vgpu.host.signature import MOST, beyond_32_bits

if TYPE_CHECKING:
    import torch

__all__ = ["TensorSpec", "spec"]

Mode = int | str | None  # a fixed size, a named dynamic size (equal names, equal sizes), dynamic

_MAX_ALIGN = 16  # the widest access of one thread, in bytes


@dataclass(frozen=True)
class TensorSpec:
    """A tensor argument of a compiled kernel.

    dtype: torch dtype. shape: one entry a mode, an int is static, None dynamic, a string dynamic
    and equal wherever it is used. stride: in elements, likewise; None for the whole means
    row-major. align: bytes the first element's address is a multiple of. divisible: mode ->
    divisor of its (dynamic) size. read_only: the kernel must not write to it (checked on the
    virtual GPU).
    """

    dtype: torch.dtype
    shape: tuple[Mode, ...]
    stride: tuple[Mode, ...] | None = None
    align: int | None = None
    divisible: Mapping[int, int] = field(default_factory=dict)
    read_only: bool = False

    def __post_init__(self) -> None:
        from forgekit.dtypes import dtype_info

        info = dtype_info(self.dtype)
        for what, modes in (
            ("shape", self.shape),
            ("stride", () if self.stride is None else self.stride),
        ):
            if not isinstance(modes, tuple) or not all(map(_is_mode, modes)):
                remedy = "None stands for a dynamic one"
                needed = "a tuple of numbers, names and None"
                raise UsageError(got_needed(f"TensorSpec, {what}", brief(modes), needed, remedy))
        rank = len(self.shape)
        if self.stride is not None and len(self.stride) != rank:
            raise UsageError(
                got_needed("stride", f"{len(self.stride)} entries", f"{rank}, one a mode",
                           "leave it out for row-major")
            )  # fmt: skip
        item = max(info.bits // 8, 1)
        align = item if self.align is None else _whole("align", "", self.align)
        if align < item or align & (align - 1):
            raise UsageError(
                got_needed("align", align, f"a power of two of at least {item} bytes", "try 16")
            )
        divisible = _divisors(self.divisible)
        for mode, divisor in divisible.items():
            if not 0 <= mode < rank or divisor < 1:
                raise UsageError(
                    got_needed("divisible", f"{{{mode}: {divisor}}}",
                               f"a mode of 0 to {rank - 1} and a divisor of at least 1", "fix it")
                )  # fmt: skip
        if not isinstance(self.read_only, bool):
            got = brief(self.read_only)
            raise UsageError(got_needed("read_only", got, "True or False", "leave it out"))
        object.__setattr__(self, "align", align)
        object.__setattr__(self, "stride", self.stride or self._row_major())
        object.__setattr__(self, "divisible", divisible)

    @property
    def strides(self) -> tuple[Mode, ...]:
        return self.stride or ()

    @property
    def alignment(self) -> int:
        return self.align or 1

    def _row_divisor(self) -> int:
        """What dynamic strides are multiples of: rows start where the fastest mode divides."""
        unit = next((m for m, s in enumerate(self.strides) if s == 1), None)
        return 1 if unit is None else self.divisible.get(unit, 1)

    def _row_major(self) -> tuple[Mode, ...]:
        strides: list[Mode] = []
        step: int | None = 1
        for size in reversed(self.shape):
            strides.append(step)
            step = step * size if isinstance(size, int) and step is not None else None
        return tuple(reversed(strides))

    def key(self) -> tuple[object, ...]:
        """What tells this spec from others, as plain data."""
        return (str(self.dtype), self.shape, self.stride, self.align,
                tuple(sorted(self.divisible.items())), self.read_only)  # fmt: skip

    def __str__(self) -> str:
        name = str(self.dtype).removeprefix("torch.")
        modes = ", ".join(
            ("?" if m is None else str(m))
            + (f"{{div={self.divisible[k]}}}" if self.divisible.get(k, 1) > 1 else "")
            for k, m in enumerate(self.shape)
        )
        strides = ", ".join("?" if m is None else str(m) for m in self.strides)
        return f"{name} ({modes}):({strides}) align {self.align}"

    # -- for the compiler ---------------------------------------------------------------------
    def fake(self, symbols: dict[str, Any]) -> Any:
        """CuTe DSL's stand-in for such a tensor; `symbols` ties named modes together."""
        import cutlass.cute as cute
        from cutlass.cute.runtime import make_fake_tensor

        from forgekit.dtypes import cute_type

        def size(mode: int, value: Mode) -> Any:
            divisor = self.divisible.get(mode, 1)
            if isinstance(value, int):
                return value
            if value is None:
                return cute.sym_int(divisibility=divisor)
            return symbols.setdefault(value, cute.sym_int(divisibility=divisor))

        row_divisor = self._row_divisor()

        def step(value: Mode) -> Any:
            return value if isinstance(value, int) else cute.sym_int64(divisibility=row_divisor)

        shape = tuple(size(m, v) for m, v in enumerate(self.shape))
        stride = tuple(step(v) for v in self.strides)
        return make_fake_tensor(cute_type(self.dtype), shape, stride, assumed_align=self.align)

    # -- for calls ----------------------------------------------------------------------------
    def check(self, name: str, tensor: torch.Tensor, sizes: dict[str, tuple[int, str]]) -> None:
        """Refuse a tensor that was not compiled for.

        sizes: named sizes seen so far in this call and where; updated.

        Raises:
            ArgumentMismatchError: which argument, got, needed, remedy.
        """
        if not hasattr(tensor, "is_nested") or tensor.is_nested:
            dense(f"argument {name}", tensor)
        problem = self._problem(name, tensor, sizes)
        if problem is not None:
            what, got, needed, remedy = problem
            raise ArgumentMismatchError(got_needed(f"argument {name}, {what}", got, needed, remedy))

    def _problem(
        self, name: str, tensor: torch.Tensor, sizes: dict[str, tuple[int, str]]
    ) -> tuple[str, object, object, str] | None:
        """The first thing that does not fit: what, got, needed, remedy."""
        if tensor.dtype != self.dtype:
            remedy = f"convert with .to({self.dtype}) or compile for {tensor.dtype}"
            return "dtype", tensor.dtype, self.dtype, remedy
        if tensor.dim() != len(self.shape):
            got = f"{tensor.dim()} (shape {tuple(tensor.shape)})"
            return "rank", got, len(self.shape), "reshape the tensor or compile for this rank"
        for mode, (size, want) in enumerate(zip(tensor.shape, self.shape, strict=True)):
            what = f"size of mode {mode}"
            if isinstance(want, int) and size != want:
                remedy = "compile for this size, or leave the mode dynamic"
                return what, size, f"{want}, which was compiled in", remedy
            if isinstance(want, str):
                known, where = sizes.setdefault(want, (size, f"{name} mode {mode}"))
                if known != size:
                    needed = f"{known} ({want}, as in {where})"
                    return what, size, needed, "pass tensors of matching sizes"
            divisor = self.divisible.get(mode, 1)
            if size % divisor:
                remedy = f"pad it to {-(-size // divisor) * divisor} or compile without divisible"
                return what, size, f"a multiple of {divisor}", remedy
        return self.size_problem(tensor) or self._stride_problem(tensor)

    def size_problem(self, tensor: torch.Tensor) -> tuple[str, object, object, str] | None:
        """What of a tensor's layout is beyond a kernel's 32-bit numbers: as `_problem`."""
        found = beyond_32_bits(
            tensor.shape,
            tensor.stride(),
            [not isinstance(size, int) for size in self.shape],
            [None if isinstance(step, int) else 64 for step in self.strides],
        )
        return found and ("layout", *found)

    @functools.cached_property
    def safe_sizes(self) -> tuple[tuple[int, int], ...]:
        """(mode, size) up to which no offset in a tensor that fits can exceed 32 bits; empty where
        none ever can. A longer mode is a matter for `size_problem`.
        """
        fixed = [
            (m, n, abs(s))
            for m, (n, s) in enumerate(zip(self.shape, self.strides, strict=True))
            if isinstance(s, int) and 0 < abs(s) <= MOST
        ]
        room = MOST - sum((n - 1) * step for _, n, step in fixed if isinstance(n, int) and n > 1)
        open_ = [(m, step) for m, n, step in fixed if not isinstance(n, int)]
        if not open_:
            return ((0, -1),) if room < 0 else ()
        shares = ((m, room // len(open_) // step + 1) for m, step in open_)
        return tuple((m, most) for m, most in shares if most <= MOST)

    def _stride_problem(self, tensor: torch.Tensor) -> tuple[str, object, object, str] | None:
        divisor = self._row_divisor()
        for mode, (step, want) in enumerate(zip(tensor.stride(), self.strides, strict=True)):
            what = f"stride of mode {mode}"
            if tensor.shape[mode] <= 1:
                continue  # never multiplied by anything but 0
            if isinstance(want, int) and step != want:
                remedy = "pass .contiguous(), or compile for this tensor"
                return what, step, f"{want}, which was compiled in", remedy
            if not isinstance(want, int) and step % divisor:
                remedy = "pass .contiguous(), or compile without divisible"
                return what, step, f"a multiple of {divisor}", remedy
        if tensor.numel() and tensor.data_ptr() % self.alignment:
            got = f"an address that is not a multiple of {self.alignment}"
            needed = f"{self.alignment} bytes, which was compiled in"
            return "alignment", got, needed, "pass .clone(), or compile for this tensor"
        return None


def spec(
    tensor: torch.Tensor | TensorSpec,
    *,
    static: bool | Iterable[int] = False,
    divisible: Mapping[int, int] | None = None,
    align: int | None = None,
    names: Iterable[str | None] | None = None,
    read_only: bool = False,
) -> TensorSpec:
    """The spec of tensors like this one.

    static: modes whose size is compiled in (True: all, and the strides with them). divisible:
    mode -> divisor of its dynamic size. align: bytes; by default what the tensor's own address
    gives, at most 16. names: names for dynamic modes; equal names must have equal sizes in a call.
    read_only: the virtual GPU stops a kernel that writes to such a tensor; a GPU does not.

    Raises:
        UsageError: a mode that the tensor does not have, a size or a stride that its divisor does
            not divide, a number that is not whole.
    """
    if isinstance(tensor, TensorSpec):
        return tensor
    dense("tensor", tensor)
    rank = tensor.dim()
    fixed = set(range(rank)) if static is True else set() if static is False else _modes(static)
    divisors = _divisors({} if divisible is None else divisible)
    for mode in fixed:
        if not 0 <= mode < rank:
            raise UsageError(got_needed("static", mode, f"modes 0 to {rank - 1}", "fix the number"))
    labels = [None] * rank if names is None else _listed("names", names)
    if not all(label is None or isinstance(label, str) for label in labels):
        raise UsageError(got_needed("names", brief(labels), "names or None", "use None"))
    if len(labels) != rank:
        raise UsageError(got_needed("names", f"{len(labels)}", f"{rank}, one a mode", "use None"))
    shape = tuple(int(n) if m in fixed else labels[m] for m, n in enumerate(tensor.shape))
    unit = _unit_mode(tensor)
    strides: list[Mode] = [1 if m == unit else None for m in range(rank)]
    if len(fixed) == rank:
        strides = [int(s) for s in tensor.stride()]
    elif tensor.is_contiguous():  # a stride that the fixed sizes alone decide is fixed, too
        step: int | None = 1
        for m in reversed(range(rank)):
            if step is not None and m != unit:
                strides[m] = step
            step = step * int(tensor.shape[m]) if step is not None and m in fixed else None
            if m == unit and m not in fixed:
                step = None
    for mode, divisor in divisors.items():
        if 0 <= mode < rank and divisor > 0 and tensor.shape[mode] % divisor:
            raise UsageError(
                got_needed(f"size of mode {mode}", int(tensor.shape[mode]),
                           f"a multiple of {divisor}", "choose a divisor that divides it")
            )  # fmt: skip
    row_divisor = 1 if unit is None else divisors.get(unit, 1)
    for mode, stride in enumerate(strides):
        if stride is None and tensor.shape[mode] > 1 and tensor.stride(mode) % row_divisor:
            needed = f"a multiple of {row_divisor}, for every row has to begin at one"
            remedy = "pass .contiguous(), or pad the rows"
            raise UsageError(
                got_needed(f"stride of mode {mode}", tensor.stride(mode), needed, remedy)
            )
    if align is None:
        address = tensor.data_ptr() if tensor.numel() else 0
        align = min(_MAX_ALIGN, address & -address) if address else _MAX_ALIGN
        align = max(align, tensor.element_size())
    return TensorSpec(tensor.dtype, shape, tuple(strides), align, divisors, read_only)


def _is_mode(mode: object) -> bool:
    return mode is None or isinstance(mode, str) or (type(mode) is int and mode >= 0)


def _divisors(divisible: object) -> dict[int, int]:
    """The promise about sizes, as plain numbers.

    Raises:
        UsageError: it is no mapping, or holds something that is no whole number.
    """
    if not isinstance(divisible, Mapping):
        raise UsageError(
            got_needed("divisible", divisible, "{mode: number}, such as {1: 4}", "name the mode")
        )
    return {
        _whole("divisible", " as a mode", mode): _whole("divisible", f" for mode {mode}", divisor)
        for mode, divisor in divisible.items()
    }


def _modes(static: object) -> set[int]:
    if not isinstance(static, Iterable) or isinstance(static, str):
        needed = "True, or a list of modes such as [1]"
        raise UsageError(got_needed("static", brief(static), needed, "write the mode in brackets"))
    return {_whole("static", " as a mode", mode) for mode in _listed("static", static)}


def _listed(what: str, values: Any) -> list[Any]:
    if not isinstance(values, Iterable) or hasattr(values, "ndim"):
        needed = "a list, one entry a mode"
        raise UsageError(got_needed(what, brief(values), needed, "write it in brackets"))
    return list(values)


def _whole(what: str, where: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        remedy = "use `//`" if isinstance(value, float) else "pass an int"
        got = f"{brief(value)}{where}"
        raise UsageError(got_needed(what, got, "a whole number", remedy)) from None


def _unit_mode(tensor: torch.Tensor) -> int | None:
    """The mode with stride 1: the fastest one; the last of several. A matrix of one column, whose
    strides are both 1, is row-major like any other that torch makes.
    """
    ones = [m for m, s in enumerate(tensor.stride()) if s == 1]
    if tensor.is_contiguous() and ones and ones[-1] == tensor.dim() - 1:
        return ones[-1]
    longer = [m for m in ones if tensor.shape[m] > 1]
    if longer:
        return longer[-1]
    if tensor.is_contiguous() and tensor.dim():
        return tensor.dim() - 1
    return ones[-1] if ones else None
