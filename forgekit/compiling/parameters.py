"""Match example arguments to a host function's parameters, and check a call's arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from forgekit.compiling.specs import TensorSpec, spec
from forgekit.devices import Target
from forgekit.diagnosing.sources import unwrap
from forgekit.errors import ArgumentMismatchError, brief, got_needed, usage_error
from forgekit.text import plural
from forgekit.vgpu import HOST

_real_device = HOST.real_device
_RETURNS_NOTHING = "pass a tensor, because a kernel writes to its arguments and returns nothing"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a compiled function.

    kind: "tensor" (`value` is its TensorSpec), "scalar" (`value` is its CuTe DSL type), "constant"
    (`value` is compiled in), or "stream" (forgekit passes the argument).
    """

    name: str
    kind: str
    value: Any

    def key(self) -> tuple[object, ...]:
        value = self.value.key() if isinstance(self.value, TensorSpec) else self.value
        return (self.name, self.kind, value)


@dataclass(frozen=True)
class Job:
    """A function to compile, with its parameters, the target, and options for CuTe DSL's
    compiler."""

    fn: Any
    parameters: tuple[Parameter, ...]
    target: Target
    options: str = ""
    name: str = ""  # for display

    @functools.cached_property
    def runtime(self) -> tuple[Parameter, ...]:
        """Return the parameters whose arguments a call passes: tensors and scalars."""
        return tuple(p for p in self.parameters if p.kind in ("tensor", "scalar"))

    @functools.cached_property
    def _device(self) -> str:
        return self.target.torch_device.type

    def check_arguments(self, args: tuple[Any, ...]) -> None:
        """Raise ArgumentMismatchError, which names the first argument that does not fit."""
        if not isinstance(args, tuple | list) or len(args) != len(self.runtime):
            needed = f"a tuple of {len(self.runtime)}, one value per tensor or scalar"
            raise _mismatch("check_arguments", brief(args), needed, "pass exactly these values")
        sizes: dict[str, tuple[int, str]] = {}
        for p, value in zip(self.runtime, args, strict=True):
            check_argument(p, value, self._device, sizes)


def function_name(fn: Any) -> str:
    """Return the name to display: a function's name, or the name of an object's class."""
    if inspect.isroutine(fn) or hasattr(fn, "__wrapped__"):
        return str(getattr(fn, "__name__", "kernel"))
    return type(fn).__name__


def match_parameters(fn: Any, args: tuple[Any, ...]) -> tuple[Parameter, ...]:
    """Return the parameters of `fn`; determine their kinds from example arguments and annotations.

    Raises:
        UsageError: `fn` is not a function, or there are too many or too few arguments.
    """
    function = unwrap(fn)
    if function is None or not callable(fn):
        needed = "a @cute.jit function, or an object with a @cute.jit method __call__"
        raise usage_error("compile", brief(fn), needed, "pass the host function")
    what, counted = f"compile({function_name(fn)}, …)", plural(len(args), "argument")
    annotations = _annotations(function)
    result, remaining = [], list(args)
    for p in inspect.signature(function).parameters.values():
        annotation = annotations.get(p.name)
        if p.name == "self":
            continue
        if p.name == "stream" or "CUstream" in str(annotation):
            result.append(Parameter(p.name, "stream", None))
            continue
        if remaining:
            value = remaining.pop(0)
            _refuse_no_tensor(p.name, annotation, value, p.default is not p.empty)
        elif p.default is not p.empty:
            value = p.default
        else:
            remedy = "pass an example tensor, a TensorSpec or a value per parameter"
            raise usage_error(what, counted, f"an argument for parameter {p.name!r}", remedy)
        result.append(_parameter(p.name, annotation, value))
    if remaining:
        remedy = f"remove the last {len(remaining)}"
        raise usage_error(what, counted, f"{len(args) - len(remaining)}", remedy)
    return tuple(result)


def _annotations(function: Any) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception:  # an annotation cannot be evaluated; use the text
        return inspect.get_annotations(function)


def _refuse_no_tensor(name: str, annotation: Any, value: Any, optional: bool) -> None:
    """Raise UsageError if an array, a list or None is passed for a tensor."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    wants_tensor = text.rpartition(".")[2] == "Tensor"
    if value is None and wants_tensor and not optional:
        got, remedy = "None", _RETURNS_NOTHING
    elif isinstance(value, list) and wants_tensor:
        got, remedy = "a list", "pass torch.tensor(values)"
    elif isinstance(value, np.ndarray) and "Constexpr" not in str(annotation):
        got, remedy = "a NumPy array", "pass torch.from_numpy(array)"
    else:
        return
    needed = "a torch tensor or a TensorSpec"
    raise usage_error(f"argument {name}", got, needed, remedy)


def _parameter(name: str, annotation: Any, value: Any) -> Parameter:
    import cutlass

    if isinstance(value, torch.Tensor | TensorSpec):
        return Parameter(name, "tensor", spec(value))
    if "Constexpr" in str(annotation) or value is None:
        return Parameter(name, "constant", value)
    by_python_type = {bool: cutlass.Boolean, int: cutlass.Int32, float: cutlass.Float32}
    for kind in (annotation, type(value), value, by_python_type.get(type(value))):
        if isinstance(kind, type) and issubclass(kind, cutlass.Numeric):
            return Parameter(name, "scalar", kind)
    return Parameter(name, "constant", value)


# -- calls -----------------------------------------------------------------------------------
def bind_call(
    name: str, parameters: Sequence[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return a call's run-time arguments in order. A call may also pass constants that equal the
    compiled-in values.

    Raises:
        ArgumentMismatchError: arguments are missing, superfluous or unknown, or a constant differs.
    """
    visible = {p.name: p for p in parameters if p.kind != "stream"}
    needed = [p.name for p in visible.values() if p.kind != "constant"]
    if unknown := [repr(given) for given in kwargs if given not in visible]:
        raise _mismatch(
            f"arguments of {name}",
            f"the unknown name{'s' * (len(unknown) > 1)} {', '.join(unknown)}",
            f"one of {', '.join(visible)}",
            "use the names in the function's `def`, or pass positional arguments",
        )  # fmt: skip
    order = list(visible) if len(args) + len(kwargs) > len(needed) else needed
    given = dict(zip(order, args, strict=False)) | kwargs
    for constant in [n for n in given if visible[n].kind == "constant"]:
        value, known = given.pop(constant), visible[constant].value
        if value is not known and not _same(value, known):
            compiled_in = f"{brief(known)}, the compiled-in value"
            remedy = "compile again for the new value"
            raise _mismatch(f"argument {constant}", brief(value), compiled_in, remedy)
    if len(args) > len(order) or set(given) != set(needed):
        expected = f"{len(needed)}: {', '.join(needed)}"
        counted = f"{len(args) + len(kwargs)}"
        raise _mismatch(f"arguments of {name}", counted, expected, "pass exactly these arguments")
    return tuple(given[n] for n in needed)


def _mismatch(what: str, got: str, needed: str, remedy: str) -> ArgumentMismatchError:
    return ArgumentMismatchError(got_needed(what, got, needed, remedy))


def _same(one: Any, other: Any) -> bool:
    if getattr(one, "is_meta", False):
        return False  # `==` on meta tensors takes seconds
    try:
        return bool(one == other)
    except Exception:  # an array with several elements, or an object that cannot be compared
        return False


def check_argument(
    p: Parameter, value: Any, device: str, sizes: dict[str, tuple[int, str]]
) -> None:
    """Raise ArgumentMismatchError if a call's argument does not fit its parameter.

    device: torch's device type. sizes: the named sizes found so far in this call; this function
    adds to them.
    """
    if p.kind == "scalar":
        _check_scalar(p, value)
        return
    if not isinstance(value, torch.Tensor):
        got = brief(value)
        remedy = "convert it with torch.from_numpy or torch.from_dlpack"
        if value is None:
            got, remedy = "None", _RETURNS_NOTHING
        raise _mismatch(f"argument {p.name}", got, f"a torch tensor that matches {p.value}", remedy)
    if _real_device(value) != device:
        got, remedy = f"a tensor on {value.device}", f'move it with .to("{device}")'
        raise _mismatch(f"argument {p.name}", got, f"a tensor on {device}", remedy)
    p.value.check(p.name, value, sizes)


def _check_scalar(p: Parameter, value: Any) -> None:
    import cutlass

    kind: Any = p.value
    if isinstance(value, kind):
        return
    if issubclass(kind, cutlass.Integer) and kind is not cutlass.Boolean:
        low = -(2 ** (kind.width - 1)) if kind.signed else 0
        high = 2 ** (kind.width - kind.signed) - 1
        needed = f"a whole number from {low:,} to {high:,} ({kind.__name__})"
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    else:
        needed = f"a number ({kind.__name__})"
        fits = isinstance(value, int | float)
    if not fits:
        raise _mismatch(f"argument {p.name}", brief(value), needed, "convert the value first")
