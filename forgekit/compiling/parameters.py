"""Match arguments to a host function's parameters, and check the arguments of a call."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from forgekit.arguments import dense
from forgekit.compiling.specs import TensorSpec, spec
from forgekit.diagnosing.sources import unwrap
from forgekit.errors import ArgumentMismatchError, UsageError, brief, got_needed

_RETURNS_NOTHING = "a compiled kernel returns nothing, it writes into its arguments"

__all__ = ["Parameter", "bind_call", "check_argument", "function_name", "match_parameters"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a compiled function.

    kind: "tensor" (value: its TensorSpec), "scalar" (value: CuTe DSL's type), "constant" (value:
    what was compiled in), "stream" (supplied by forgekit, never by the caller).
    """

    name: str
    kind: str
    value: Any

    def key(self) -> tuple[object, ...]:
        value = self.value.key() if isinstance(self.value, TensorSpec) else self.value
        return (self.name, self.kind, value)


def function_name(fn: Any) -> str:
    """The name to show: a function's own, or that of an object's class."""
    if inspect.isroutine(fn) or hasattr(fn, "__wrapped__"):
        return str(getattr(fn, "__name__", "kernel"))
    return type(fn).__name__


def match_parameters(fn: Any, args: tuple[Any, ...]) -> list[Parameter]:
    """What each parameter of `fn` is, from example arguments and annotations.

    Raises:
        UsageError: not a function, or more or fewer arguments than parameters.
    """
    function = unwrap(fn)
    if function is None or not callable(fn):
        raise UsageError(
            got_needed(
                "compile",
                brief(fn),
                "a function decorated with @cute.jit, or an object whose __call__ is",
                "pass the host function itself",
            )
        )
    declared = list(inspect.signature(function).parameters.values())
    if declared and declared[0].name == "self":
        declared = declared[1:]
    annotations = _annotations(function)
    result, remaining = [], list(args)
    for parameter in declared:
        annotation = annotations.get(parameter.name)
        if parameter.name == "stream" or "CUstream" in str(annotation):
            result.append(Parameter(parameter.name, "stream", None))
        elif remaining:
            value = remaining.pop(0)
            optional = parameter.default is not parameter.empty
            _refuse_no_tensor(parameter.name, annotation, value, optional)
            result.append(_parameter(parameter.name, annotation, value))
        elif parameter.default is not parameter.empty:
            result.append(_parameter(parameter.name, annotation, parameter.default))
        else:
            raise UsageError(
                got_needed(
                    f"compile({function_name(fn)}, …)",
                    f"{len(args)} arguments",
                    f"one for parameter {parameter.name!r} too",
                    "pass an example tensor, a TensorSpec or a value for each parameter",
                )
            )
    if remaining:
        raise UsageError(
            got_needed(
                f"compile({function_name(fn)}, …)",
                f"{len(args)} arguments",
                f"{len(args) - len(remaining)}",
                f"leave out the last {len(remaining)}",
            )
        )
    return result


def _annotations(function: Any) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception:  # an annotation that cannot be evaluated is taken as its text
        return inspect.get_annotations(function)


def _refuse_no_tensor(name: str, annotation: Any, value: Any, optional: bool) -> None:
    """Raise UsageError for an array, a list or None where a tensor is meant."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    wants_tensor = text.rpartition(".")[2] == "Tensor"
    needed = "a torch tensor or a TensorSpec"
    if value is None and wants_tensor and not optional:
        raise UsageError(got_needed(f"argument {name}", "None", needed, _RETURNS_NOTHING))
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        if "Constexpr" not in str(annotation):
            remedy = "pass torch.from_numpy(array)"
            raise UsageError(got_needed(f"argument {name}", "a NumPy array", needed, remedy))
    if isinstance(value, list) and wants_tensor:
        remedy = "pass torch.tensor(values)"
        raise UsageError(got_needed(f"argument {name}", "a list", needed, remedy))


def _parameter(name: str, annotation: Any, value: Any) -> Parameter:
    import cutlass
    import torch

    if isinstance(value, torch.Tensor | TensorSpec):
        return Parameter(name, "tensor", spec(value))
    if "Constexpr" in str(annotation) or value is None:
        return Parameter(name, "constant", value)
    if isinstance(annotation, type) and issubclass(annotation, cutlass.Numeric):
        return Parameter(name, "scalar", annotation)
    if isinstance(value, cutlass.Numeric):
        return Parameter(name, "scalar", type(value))
    if isinstance(value, type) and issubclass(value, cutlass.Numeric):
        return Parameter(name, "scalar", value)
    by_python_type = {bool: "Boolean", int: "Int32", float: "Float32"}
    if type(value) in by_python_type:
        return Parameter(name, "scalar", getattr(cutlass, by_python_type[type(value)]))
    return Parameter(name, "constant", value)


# -- calls -----------------------------------------------------------------------------------
def bind_call(
    name: str, parameters: list[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """The run-time arguments in order; constants may be passed again if they are the same.

    Raises:
        ArgumentMismatchError: missing, superfluous or unknown arguments, another constant.
    """
    visible = [p for p in parameters if p.kind != "stream"]
    unknown = [repr(given) for given in kwargs if given not in [p.name for p in visible]]
    if unknown:
        raise ArgumentMismatchError(
            got_needed(
                f"arguments of {name}",
                f"an unknown name, {', '.join(unknown)}",
                f"one of {', '.join(p.name for p in visible)}",
                "use the names in the function's `def`, or pass without names",
            )
        )
    needed = [p.name for p in visible if p.kind != "constant"]
    with_constants = len(args) + len(kwargs) > len(needed)
    order = [p.name for p in visible] if with_constants else needed
    given = dict(zip(order, args, strict=False)) | kwargs
    if with_constants:
        for p in visible:
            if p.kind == "constant" and p.name in given:
                value = given.pop(p.name)
                if value is not p.value and not _same(value, p.value):
                    raise ArgumentMismatchError(
                        got_needed(
                            f"argument {p.name}",
                            brief(value),
                            f"{brief(p.value)}, which was compiled in",
                            "compile again for the new value",
                        )
                    )
    if len(args) > len(order) or set(given) != set(needed):
        raise ArgumentMismatchError(
            got_needed(
                f"arguments of {name}",
                f"{len(args) + len(kwargs)}",
                f"{len(needed)}: {', '.join(needed)}",
                "pass exactly these",
            )
        )
    return tuple(given[n] for n in needed)


def _same(one: Any, other: Any) -> bool:
    if getattr(one, "is_meta", False):
        return False  # without numbers, and torch takes seconds to say so
    try:
        return bool(one == other)
    except Exception:  # arrays and tensors of several elements, objects that refuse
        return False


def check_argument(
    p: Parameter, value: Any, device: str, sizes: dict[str, tuple[int, str]]
) -> None:
    """Raise ArgumentMismatchError if a call's argument is not what was compiled for.

    device: torch's device type. sizes: named sizes seen so far in this call (updated).
    """
    import torch

    if p.kind == "scalar":
        _check_scalar(p, value)
        return
    if value is None:
        raise ArgumentMismatchError(
            got_needed(f"argument {p.name}", "None", f"a torch tensor, {p.value}", _RETURNS_NOTHING)
        )
    if not isinstance(value, torch.Tensor):
        raise ArgumentMismatchError(
            got_needed(
                f"argument {p.name}",
                type(value).__name__,
                f"a torch tensor, {p.value}",
                "torch.from_numpy and torch.from_dlpack make one",
            )
        )
    if value.is_nested or value.layout is not torch.strided:
        dense(f"argument {p.name}", value)
    if value.device.type != device:
        raise ArgumentMismatchError(
            got_needed(
                f"argument {p.name}",
                f"a tensor on {value.device}",
                f"one on {device}",
                f'move it with .to("{device}")',
            )
        )
    p.value.check(p.name, value, sizes)


def _check_scalar(p: Parameter, value: Any) -> None:
    import cutlass

    kind: Any = p.value
    if isinstance(value, kind):
        return
    if issubclass(kind, cutlass.Integer) and kind is not cutlass.Boolean:
        low = -(2 ** (kind.width - 1)) if kind.signed else 0
        high = 2 ** (kind.width - kind.signed) - 1
        needed = f"a whole number of {low:,} to {high:,} ({kind.__name__})"
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    else:
        needed = f"a number ({kind.__name__})"
        fits = isinstance(value, int | float)
    if not fits:
        raise ArgumentMismatchError(
            got_needed(f"argument {p.name}", brief(value), needed, "convert it first")
        )
