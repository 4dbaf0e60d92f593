"""Who computes an operator: forgekit's kernel, the reference in PyTorch, or a function of yours.

    register_backend("softmax", "mine", my_softmax, backward=my_softmax_backward)
    softmax(x, backend="mine")                   # in this call
    with use_backend("mine"): ...                # in here: each operator that has such a backend
    set_default_backend("ref", op="softmax")     # from now on, in all threads

A call's own word counts first, then the innermost `with`, then the default, which is "kernel".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from forgekit import ref
from forgekit.arguments import checked
from forgekit.errors import UsageError, brief, got_needed
from forgekit.ops.dispatching import batched

__all__ = [
    "backend_names",
    "chosen",
    "computed_by",
    "current_backend",
    "defaults",
    "other_than_kernel",
    "register_backend",
    "remembered",
    "set_default_backend",
    "use_backend",
]

Function = Callable[..., Tensor]

BUILT_IN = ("kernel", "ref")
# Operators whose derivative is a computation of its own; the others' is said by the operators.
DERIVATIVE = {"softmax": "softmax_backward"}


@dataclass(frozen=True)
class _Backend:
    forward: Function
    backward: Function | None = None


_table: dict[str, dict[str, _Backend]] = {
    op: {"ref": _Backend(getattr(ref, op))}
    for op in ("copy_transpose", "reduce_sum", "softmax", "softmax_backward")
}

# operator -> backend. Both are empty unless somebody chose: that is all a launch has to ask.
chosen: ContextVar[dict[str, str] | None] = ContextVar("forgekit_backends", default=None)
defaults: dict[str, str] = {}


@checked()
def register_backend(
    op: str,
    name: str,
    forward: Function,
    *,
    backward: Function | None = None,
    replace: bool = False,
) -> None:
    """Make `backend=name` of an operator a function of yours, in this process.

    op, and what your function is called with (dim counts from 0, also for a tensor without
    dimensions); it returns a new contiguous tensor of the input's dtype and device:

        copy_transpose    forward(x (M, N)) -> (N, M)
        reduce_sum        forward(x, dim, keepdim) -> x's shape without dim, or with 1 there
        softmax           forward(x, dim) -> x's shape; backward(grad, y, dim) -> x's shape
        softmax_backward  forward(grad, y, dim) -> y's shape

    backward: for softmax alone, its derivative from the result y; the same as registering it for
    softmax_backward under that name. Without one there are results and no gradients. Derivatives
    of the other operators need no function. replace: take the place of an earlier one. Where your
    function calls the operator itself, that is forgekit's kernel, unless it says `backend=`.

    Raises:
        UsageError: no such operator, a name that is taken, something that cannot be called, a
            backward that is not needed.
    """
    _known_operator(op)
    if not isinstance(name, str) or not name:
        raise UsageError(got_needed("name", brief(name), "a word", 'call it "mine", for example'))
    for role, function in (("forward", forward), ("backward", backward)):
        if not callable(function) and not (role == "backward" and function is None):
            remedy = "give the function itself, without calling it"
            raise UsageError(got_needed(role, type(function).__name__, "a function", remedy))
    if backward is not None and op not in DERIVATIVE:
        remedy = "leave backward out"
        needed = f"none, as the gradient of {op} is known without"
        raise UsageError(got_needed("backward", "a function", needed, remedy))
    _refuse_clash(op, name, backward, replace)
    _table[op][name] = _Backend(forward, backward)
    derived = DERIVATIVE.get(op)
    if derived and defaults.get(derived) == name and name not in backend_names(derived):
        del defaults[derived]  # what it stood for has been replaced


def _refuse_clash(op: str, name: str, backward: Function | None, replace: bool) -> None:
    if name in BUILT_IN:
        needed = "another name than " + " and ".join(BUILT_IN)
        raise UsageError(got_needed("name", brief(name), needed, 'call it "mine", for example'))
    if name in _table[op] and not replace:
        remedy = "choose another name, or pass replace=True"
        raise UsageError(
            got_needed("name", f"{name!r}, which {op} has already", "a new name", remedy)
        )
    partner = DERIVATIVE.get(op)
    if backward is not None and partner and name in _table[partner]:
        remedy = f"leave backward out to use the one of {partner}, or choose another name"
        got = f"a function, and {partner} has a backend {name!r} already"
        raise UsageError(got_needed("backward", got, "one of the two", remedy))
    parent = next((known for known, derived in DERIVATIVE.items() if derived == op), None)
    if parent and name in _table[parent] and _table[parent][name].backward is not None:
        remedy = "choose another name"
        got = f"{name!r}, whose backward was given with {parent}"
        raise UsageError(got_needed("name", got, "a new name", remedy))


@checked()
def backend_names(op: str) -> tuple[str, ...]:
    """What `backend=` of an operator takes: "kernel", "ref" and what was registered.

    Raises:
        UsageError: no such operator.
    """
    _known_operator(op)
    names = ["kernel", *_table[op]]
    for parent, derived in DERIVATIVE.items():
        if derived == op:
            names += [name for name, its in _table[parent].items() if its.backward is not None]
    return tuple(names)


@checked()
@contextlib.contextmanager
def use_backend(name: str, op: str | None = None) -> Iterator[None]:
    """Let a backend compute within a `with` block, in this thread or task.

    op: the operator; None for each that has such a backend (the others keep theirs). A gradient
    is computed by the backend of its forward pass, wherever `backward()` stands. A function
    compiled by torch.compile asks when it runs, its backward pass too; it cannot contain the
    block.

    Raises:
        UsageError: no such operator; a backend that it, or any operator, does not have.
    """
    token = chosen.set({**(chosen.get() or {}), **_choice(name, op)})
    try:
        yield
    finally:
        chosen.reset(token)


@checked()
def set_default_backend(name: str, op: str | None = None) -> None:
    """Let a backend compute from now on, in all threads; "kernel" takes that back.

    op, Raises: as for `use_backend`.
    """
    for operator, backend in _choice(name, op).items():
        defaults.pop(operator, None)
        if backend != "kernel":
            defaults[operator] = backend


def current_backend(op: str, backend: str | None = None) -> str:
    """The name of the backend that computes a call of an operator now; backend: the call's own.

    Raises:
        UsageError: the operator has no such backend.
    """
    _known_operator(op)
    name = backend
    if name is None:
        if not chosen.get() and not defaults:
            return "kernel"
        name = (chosen.get() or {}).get(op) or defaults.get(op, "kernel")
    if not isinstance(name, str) or name not in backend_names(op):
        _unknown(name, f"one of {', '.join(backend_names(op))} for {op}")
    return name


def remembered(op: str, backend: str | None) -> str | None:
    """The backend of a forward pass, for its backward pass; None to ask then, which is what a
    function compiled by torch.compile does."""
    return backend if torch.compiler.is_compiling() else current_backend(op, backend)


def other_than_kernel(op: str, backend: str | None, variant: object) -> Function | None:
    """The function that computes a call, None if that is the kernel.

    variant: what the call asks the kernel for, which others do not have.

    Raises:
        UsageError: the operator has no such backend, or the backend no variants.
    """
    name = current_backend(op, backend)
    if name == "kernel":
        return None
    if variant is not None:
        remedy = 'leave it out, or pass backend="kernel"'
        got = f"{variant!r} with the backend {name!r}"
        what = "tile" if op == "copy_transpose" else "variant"
        raise UsageError(got_needed(what, got, "None, as only kernels have those", remedy))
    own = _table[op].get(name)
    if own is not None:
        return own.forward
    parent = next(known for known, derived in DERIVATIVE.items() if derived == op)
    return _table[parent][name].backward


def computed_by(
    function: Function, op: str, shape: tuple[int, ...], x: Tensor, *more: Any
) -> Tensor:
    """What a backend returns for x and more.

    Raises:
        UsageError: it is not a new contiguous tensor of this shape and of x's dtype and device.
    """
    with _kernel_for(op):
        result = function(x, *more)
    name = f"the backend of {op}"
    if not isinstance(result, Tensor):
        raise UsageError(got_needed(name, type(result).__name__, "a tensor", "return the result"))
    got = (tuple(result.shape), result.dtype, result.device)
    needed = (tuple(shape), x.dtype, x.device)
    if got != needed:
        words = ["{} {} on {}".format(*each) for each in (got, needed)]
        raise UsageError(got_needed(name, words[0], words[1], "mend the function's result"))
    if not result.is_contiguous():
        got_stride = f"strides {result.stride()}"
        remedy = "return result.contiguous()"
        raise UsageError(got_needed(name, got_stride, "a contiguous tensor", remedy))
    for given in (x, *more):
        if isinstance(given, Tensor) and _same_memory(result, given):
            remedy = "write into torch.empty_like(x)"
            raise UsageError(got_needed(name, "the memory of its input", "a new tensor", remedy))
    return result


@contextlib.contextmanager
def _kernel_for(op: str) -> Iterator[None]:
    """Within a backend's function its own operator is the kernel's: it would call itself."""
    token = chosen.set({**(chosen.get() or {}), op: "kernel"})
    try:
        yield
    finally:
        chosen.reset(token)


def _same_memory(a: Tensor, b: Tensor) -> bool:
    if a.numel() == 0 or batched(a) or batched(b):
        return False
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _choice(name: str, op: str | None) -> dict[str, str]:
    """{operator: name} for what a choice is about."""
    if op is not None:
        current_backend(op, name)
        return {op: name}
    having = {known: name for known in _table if name in backend_names(known)}
    if not having:
        every = dict.fromkeys(each for known in _table for each in backend_names(known))
        _unknown(name, "one of " + ", ".join(every))
    return having


def _known_operator(op: str) -> None:
    if not isinstance(op, str) or op not in _table:
        remedy = "use the name of a function of forgekit.ops"
        raise UsageError(got_needed("op", brief(op), "one of " + ", ".join(_table), remedy))


def _unknown(name: object, needed: str) -> None:
    remedy = "register yours with forgekit.ops.register_backend"
    raise UsageError(got_needed("backend", brief(name), needed, remedy))
