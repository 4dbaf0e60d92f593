"""Check the arguments of calls against a compiled function's signature.

Without TVM-FFI, a compiled function accepts any argument, so a kernel might use wrong sizes or
types. On the virtual GPU, every call is therefore compared with the compiled signature.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forgekit.vgpu import plugins
from forgekit.vgpu.errors import ArgumentMismatchError
from forgekit.vgpu.host.arguments import SOURCE_ATTRIBUTE, TensorView, describe, is_tensor
from forgekit.vgpu.wording import brief, got_needed

# Maps the id of a symbol to its value in a call and a description of its first occurrence.
Bound = dict[int, tuple[int, str]]


@dataclass(frozen=True)
class TensorParameter:
    """A tensor parameter. A size or stride of None is dynamic: the call passes it.

    size_bits, stride_bits: widths of the dynamic sizes and strides, in order. symbols: for each
    size and then each stride, its `sym_int()`, or None. on_gpu: True if the tensor is compiled as
    GPU memory.
    """

    dtype: str
    itemsize: int
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    align: int
    size_bits: tuple[int, ...]
    stride_bits: tuple[int, ...]
    symbols: tuple[Any, ...] = ()
    on_gpu: bool = True

    @classmethod
    def of(cls, value: Any) -> TensorParameter | None:
        """Return the parameter for a runtime, fake or plain tensor that was passed to the compiler;
        None for any other argument."""
        if is_tensor(value) and not hasattr(value, "dynamic_shapes_mask"):
            from cutlass.cute.runtime import from_dlpack

            value = from_dlpack(value).mark_layout_dynamic()
        if not hasattr(value, "dynamic_shapes_mask"):
            return None
        str(value)  # so that the DSL updates its mask of strides after mark_…
        from cutlass.cute.typing import AddressSpace

        short = 32 if getattr(value, "_use_32bit_stride", False) else 64
        shape, strides = tuple(value.shape), tuple(value.stride)
        if not all(isinstance(n, int) or hasattr(n, "width") for n in (*shape, *strides)):
            return None  # a nested layout
        dynamic = value.dynamic_shapes_mask, value.dynamic_strides_mask
        itemsize = max(value.element_type.width // 8, 1)
        return cls(
            value.element_type.__name__,
            itemsize,
            tuple(None if d else n for n, d in zip(shape, dynamic[0], strict=True)),
            tuple(None if d else n for n, d in zip(strides, dynamic[1], strict=True)),
            getattr(value, "_assumed_align", None) or itemsize,
            tuple(getattr(n, "width", 32) for n, d in zip(shape, dynamic[0], strict=True) if d),
            tuple(
                getattr(n, "width", short) for n, d in zip(strides, dynamic[1], strict=True) if d
            ),
            tuple(n if hasattr(n, "divisibility") else None for n in (*shape, *strides)),
            value.memspace is not AddressSpace.generic,
        )

    def check(self, name: str, view: TensorView) -> None:
        """Raise ArgumentMismatchError if a tensor does not fit the parameter."""
        self.check_width(name, view)
        known = view.dtype.replace("_", "").lower() in _CUTE_NAMES
        wanted = _SAME_BITS.get(self.dtype.lower(), self.dtype.lower())
        if (known and wanted in _CUTE_NAMES and view.dtype.replace("_", "").lower() != wanted) or (
            view.itemsize != self.itemsize
        ):
            raise _mismatch(name, f"dtype {view.dtype}", self.dtype, "convert the tensor")
        if len(view.shape) != len(self.shape):
            raise _mismatch(
                name, f"rank {len(view.shape)} (shape {view.shape})", f"rank {len(self.shape)}",
                "reshape the tensor",
            )  # fmt: skip
        for what, numbers, compiled, remedy in (
            ("size", view.shape, self.shape,
             "compile with mark_layout_dynamic() or sym_int() for sizes that change"),
            ("stride", view.strides, self.strides,
             "pass x.contiguous(), or compile for this layout"),
        ):  # fmt: skip
            for mode, (got, fixed) in enumerate(zip(numbers, compiled, strict=True)):
                counts = what == "size" or view.shape[mode] > 1
                if fixed is not None and got != fixed and counts:
                    needed = f"{fixed}, the compiled-in value"
                    raise _mismatch(name, f"{what} {got} in mode {mode}", needed, remedy)
        if view.align_offset % self.align and all(view.shape):
            raise _mismatch(
                name, f"an address {view.align_offset % self.align} bytes past an aligned address",
                f"a multiple of {self.align} bytes",
                "pass a tensor with an aligned address, or compile with a smaller assumed_align",
            )  # fmt: skip

    def bind(self, name: str, view: TensorView, bound: Bound) -> None:
        """Raise ArgumentMismatchError if a symbol has two values in the call, or a value that is
        not a multiple of its divisibility. Like TVM-FFI, ignore the stride of a mode of size 1."""
        numbers = [(n, f"size {n} in mode {i}") for i, n in enumerate(view.shape)]
        numbers += [(n, f"stride {n} in mode {i}") for i, n in enumerate(view.strides)]
        free = (*(False for _ in view.shape), *(n == 1 for n in view.shape))
        for symbol, (number, got), any_fits in zip(self.symbols, numbers, free, strict=True):
            if symbol is None:
                continue
            first, where = bound.setdefault(id(symbol), (number, f"`{name}` has {got}"))
            if number != first and not any_fits:
                raise _mismatch(
                    name, got,
                    f"{first}, because {where} and both were compiled with the same symbol",
                    "pass tensors whose values agree, or compile each with its own sym_int()",
                )  # fmt: skip
            if number % symbol.divisibility and not any_fits:
                raise _mismatch(
                    name, got, f"a multiple of {symbol.divisibility}, its symbol's divisibility",
                    "pad the tensor, or compile with a smaller divisibility",
                )  # fmt: skip

    def check_width(self, name: str, view: TensorView) -> None:
        """Raise ArgumentMismatchError if a layout overflows a kernel's 32-bit numbers."""
        if len(view.shape) != len(self.shape):
            return
        bits = iter(self.stride_bits)
        widths = [None if fixed is not None else next(bits) for fixed in self.strides]
        dynamic = [fixed is None for fixed in self.shape]
        if (problem := beyond_32_bits(view.shape, view.strides, dynamic, widths)) is not None:
            raise _mismatch(name, *problem)

    def pack(self, view: TensorView) -> PackedTensor:
        """Pack the tensor's pointer, dynamic sizes and dynamic strides for the host code."""
        sizes = [n for n, fixed in zip(view.shape, self.shape, strict=True) if fixed is None]
        steps = [n for n, fixed in zip(view.strides, self.strides, strict=True) if fixed is None]
        fields = [(64, view.pointer), *zip(self.size_bits, sizes, strict=True)]
        return PackedTensor(view.owner, [*fields, *zip(self.stride_bits, steps, strict=True)])


MOST = 2**31 - 1  # the largest signed 32-bit number


def beyond_32_bits(
    shape: Sequence[int],
    strides: Sequence[int],
    dynamic: Sequence[bool],
    stride_bits: Sequence[int | None],
) -> tuple[str, str, str] | None:
    """Describe the part of a tensor's layout that would overflow in a kernel, as (got, needed,
    remedy). Return None if the layout fits.

    CuTe DSL passes dynamic sizes as 32-bit numbers. It computes an offset in 32 bits if the strides
    are compiled in (and less than 2**31) or passed in 32 bits. dynamic: True for sizes that the
    call passes; stride_bits: the widths of strides that the call passes, and None for compiled-in
    strides.
    """
    reach = 0
    for mode, (size, step, bits) in enumerate(zip(shape, strides, stride_bits, strict=True)):
        if dynamic[mode] and size > MOST:
            return (
                f"size {size:,} in mode {mode}",
                f"at most {MOST:,}, because CuTe DSL passes sizes as 32-bit numbers",
                f"launch once per piece, such as x.narrow({mode}, start, length)",
            )
        if bits == 32 and size > 1 and abs(step) > MOST:
            return (
                f"stride {step:,} in mode {mode}",
                f"at most {MOST:,}, because this stride is passed as a 32-bit number",
                "leave out use_32bit_stride, or use sym_int64() for the stride",
            )
        if size > 1 and bits != 64 and abs(step) <= MOST:
            reach += (size - 1) * abs(step)
    if reach <= MOST or 0 in shape:
        return None
    return (
        f"an offset of {reach:,} elements, with 32-bit strides",
        f"at most {MOST:,}, because the kernel computes such offsets in 32 bits",
        "compile with dynamic strides, which have 64 bits: use forgekit.spec(x) without "
        "static, or mark_layout_dynamic() without use_32bit_stride",
    )


class PackedTensor:
    """A packed tensor argument. It keeps a reference to the tensor to whose memory it points."""

    def __init__(self, tensor: object, fields: Sequence[tuple[int, int]]) -> None:
        setattr(self, SOURCE_ATTRIBUTE, tensor)
        packed = bytearray()
        for bits, value in fields:
            packed += bytes(-len(packed) % (bits // 8))
            packed += (value % (1 << bits)).to_bytes(bits // 8, "little")
        self._buffer = ctypes.create_string_buffer(bytes(packed), len(packed) + 8)

    def __c_pointers__(self) -> list[int]:
        return [ctypes.addressof(self._buffer)]


# Element types whose names in torch, NumPy and CuTe agree.
_CUTE_NAMES = frozenset(
    {
        *("float64", "float32", "float16", "bfloat16", "float8e4m3fn", "float8e5m2", "bool"),
        *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
    }
)
_SAME_BITS = {"tfloat32": "float32", "boolean": "bool"}


@dataclass(frozen=True)
class Scalar:
    """A parameter that is not a tensor. integer: CuTe DSL's type of an integer parameter, otherwise
    None."""

    integer: Any


@dataclass(frozen=True)
class CallSignature:
    """The runtime parameters of a compiled function.

    parameters: maps each name to a `TensorParameter`, a `Scalar`, None if unchecked, or a tuple of
    these. Within a tuple, a number is described by its CuTe DSL type, and an address by the pointer
    that was passed to the compiler, because TVM-FFI accepts Python numbers there, but CuTe DSL's
    own calls would drop them. env_streams: the stream parameters that TVM-FFI omits from the call;
    packs: True if tensors are packed according to the compiled signature, as in TVM-FFI, regardless
    of the marks on the caller's tensors.
    """

    parameters: Mapping[str, Any]
    env_streams: frozenset[str]
    packs: bool

    @classmethod
    def of(
        cls, arguments: Mapping[str, Any], annotations: Mapping[str, Any], wants_tvm_ffi: bool
    ) -> CallSignature:
        parameters, streams = {}, set()
        for name, value in arguments.items():
            if isinstance(value, list | tuple | Mapping):
                parameters[name] = _members(value) if wants_tvm_ffi else None
            else:
                scalar = Scalar(integer_type(annotations.get(name), value))
                parameters[name] = TensorParameter.of(value) or scalar
            if wants_tvm_ffi and getattr(value, "use_tvm_ffi_env_stream", False):
                streams.add(name)
        return cls(parameters, frozenset(streams), wants_tvm_ffi)

    def complete(
        self, names: Sequence[str], args: tuple, kwargs: Mapping[str, Any]
    ) -> tuple[tuple, Mapping[str, Any]]:
        """Return the arguments, with the current stream added if TVM-FFI omits it."""
        missing = {n for n in names if n in self.env_streams and n not in kwargs}
        if not missing or len(args) + len(kwargs) + len(missing) != len(names):
            return args, kwargs
        given, stream = iter(args), plugins.active.current_stream()
        values = (
            kwargs[n] if n in kwargs else stream if n in missing else next(given) for n in names
        )
        return tuple(values), {}

    def check_count(self, call: inspect.Signature, args: tuple, kwargs: Mapping[str, Any]) -> None:
        """Raise ArgumentMismatchError for missing or extra arguments, counted as TVM-FFI counts
        them."""
        if not self.packs or len(args) + len(kwargs) == len(call.parameters):
            return
        needed = [p for n, p in call.parameters.items() if n not in self.env_streams]
        try:
            call.replace(parameters=needed).bind(*args, **kwargs)
        except TypeError as error:
            got, names = f"{len(args) + len(kwargs)} ({error})", ", ".join(p.name for p in needed)
            raise ArgumentMismatchError(got_needed("arguments", got, names, _COMPARE)) from None

    def fit(self, named: Iterable[tuple[str, Any]]) -> Iterator[Any]:
        """Return the values in the form that the host code expects.

        Raises:
            ArgumentMismatchError: an argument does not fit the compiled signature.
        """
        bound: Bound = {}
        return (self._fit(name, self.parameters.get(name), value, bound) for name, value in named)

    def _fit(self, name: str, parameter: Any, value: Any, bound: Bound) -> Any:
        match parameter:
            case None:
                return value
            case TensorParameter():
                return self._fit_tensor(name, parameter, value, bound)
            case Scalar(integer):
                if is_tensor(value):
                    raise _mismatch(name, "a tensor", "a value that is not a tensor", _COMPARE)
                check_integer(name, value, integer)
                return value
            case tuple():
                if not isinstance(value, tuple | list) or len(value) != len(parameter):
                    raise _mismatch(name, brief(value), f"{len(parameter)} values", _COMPARE)
                names = getattr(value, "_fields", range(len(value)))
                fitted = [
                    self._fit(f"{name}.{n}", p, v, bound)
                    for n, p, v in zip(names, parameter, value, strict=True)
                ]
                return type(value)(*fitted) if hasattr(value, "_fields") else type(value)(fitted)
        if type(value) not in (int, float, bool):
            return value
        if hasattr(parameter, "_pointer"):  # an address, such as x.data_ptr()
            like = parameter
            return type(like)(value, like._dtype, like._addr_space, like._assumed_align)
        check_integer(name, value, integer_type(parameter, value))
        return parameter(value)

    def _fit_tensor(self, name: str, parameter: TensorParameter, value: Any, bound: Bound) -> Any:
        if hasattr(value, SOURCE_ATTRIBUTE) and not hasattr(value, "dynamic_shapes_mask"):
            return value  # forgekit.compile has already packed it
        if not is_tensor(value):
            raise _mismatch(name, brief(value), "a tensor", _COMPARE)
        view = describe(name, value)
        parameter.check(name, view)
        if self.packs:
            if parameter.on_gpu and plugins.active.on_host(view.owner):
                raise _mismatch(
                    name,
                    "a tensor on the CPU",
                    'a tensor on "cuda"',
                    f'move it with {name}.to("cuda")',
                )
            parameter.bind(name, view, bound)
            return parameter.pack(view)
        given = TensorParameter.of(value)
        if given is not None and _marks(given) != _marks(parameter):
            raise _mismatch(
                name, f"a tensor with {_spell(given)}", f"the compiled-in {_spell(parameter)}",
                "prepare it as for cute.compile, with from_dlpack(x) and the same mark_… calls",
            )  # fmt: skip
        return value


def _members(value: Any) -> Any:
    """Return the descriptions of a tuple's members for `CallSignature`, or None if no member is
    checked."""
    import cutlass

    if isinstance(value, tuple | list):
        found = tuple(map(_members, value))
        return None if all(member is None for member in found) else found
    if (tensor := TensorParameter.of(value)) is not None:
        return tensor
    if hasattr(value, "_pointer"):
        return value
    return type(value) if isinstance(value, cutlass.Numeric) else None


def check_uncompiled(name: str, value: Any, annotation: Any) -> None:
    """Raise ArgumentMismatchError for an argument that would overflow under any compiled
    signature."""
    if is_tensor(value):
        if hasattr(value, "dynamic_shapes_mask") and (p := TensorParameter.of(value)) is not None:
            p.check_width(name, describe(name, value))
    elif type(value) is int:
        check_integer(name, value, integer_type(annotation, value))


def integer_type(annotation: Any, value: Any) -> Any:
    """Return the CuTe DSL type of an integer scalar parameter, or None for any other parameter."""
    import cutlass

    if isinstance(annotation, str):
        annotation = getattr(cutlass, annotation.rpartition(".")[2], None)
    if "Constexpr" in str(annotation):
        return None
    for kind in (annotation, value, type(value)):
        if isinstance(kind, type) and issubclass(kind, cutlass.Numeric):
            whole = issubclass(kind, cutlass.Integer) and kind is not cutlass.Boolean
            return kind if whole else None
    return cutlass.Int32 if type(value) is int else None


def check_integer(name: str, value: Any, kind: Any) -> None:
    """Raise ArgumentMismatchError for a Python number that CuTe DSL's type would truncate."""
    if kind is None or type(value) is not int:
        return
    low = -(2 ** (kind.width - 1)) if kind.signed else 0
    high = 2 ** (kind.width - kind.signed) - 1
    if not low <= value <= high:
        raise _mismatch(
            name, f"{value:,}", f"{low:,} to {high:,} ({kind.__name__})",
            "annotate the parameter with a wider type, such as Int64",
        )  # fmt: skip


_COMPARE = "compare the call with the function's parameters"


def _marks(p: TensorParameter) -> tuple:
    dynamic = [tuple(n is None for n in sizes) for sizes in (p.shape, p.strides)]
    return *dynamic, p.size_bits, p.stride_bits


def _spell(p: TensorParameter) -> str:
    def text(sizes: Iterable[int | None]) -> str:
        return "(" + ", ".join("?" if n is None else str(n) for n in sizes) + ")"

    return f"layout {text(p.shape)}:{text(p.strides)}"


def _mismatch(name: str, got: str, needed: str, remedy: str) -> ArgumentMismatchError:
    return ArgumentMismatchError(got_needed(f"argument `{name}`", got, needed, remedy))
