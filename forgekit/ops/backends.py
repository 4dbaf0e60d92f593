"""Choose the backend of an operator: forgekit's kernel, the reference in PyTorch, or your own
function.

    register_backend("softmax", "mine", my_softmax)
    softmax(x, backend="mine")                   # in this call
    with use_backend("mine"): ...                # in this block, for operators with this backend
    set_default_backend("ref", op="softmax")     # in all later calls, in all threads

A call's `backend=` takes precedence, then the innermost `with` block, then the default, "kernel".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from torch import Tensor

from forgekit.arguments import checked
from forgekit.errors import UsageError, brief, usage_error

# The functions of each operator, by backend, and the backend chosen for each operator, if any.
functions: dict[str, dict[str, Callable[..., Tensor]]] = {}  # each `Operator` adds its functions
chosen: ContextVar[dict[str, str] | None] = ContextVar("forgekit_backends", default=None)
defaults: dict[str, str] = {}


@checked()
def register_backend(
    op: str, name: str, forward: Callable[..., Tensor], *, replace: bool = False
) -> None:
    """Register your function as the backend `name` of an operator, in this process.

    op: one of the operators below. Your function receives the listed arguments and must return a
    new contiguous tensor with the input's dtype and device. The argument dim is nonnegative, and 0
    for a tensor without dimensions.

        copy_transpose    forward(x (M, N)) -> (N, M)
        reduce_sum        forward(x, dim, keepdim) -> x's shape without dim, or with size 1 there
        softmax           forward(x, dim) -> x's shape
        softmax_backward  forward(grad, y, dim) -> y's shape

    A softmax backend supports gradients if its name is also registered for softmax_backward; the
    gradients of the other operators need no registered function. replace: True to replace a
    function that is already registered. If your function calls the operator itself, that call uses
    forgekit's kernel unless it passes `backend=`.

    Raises:
        UsageError: the operator does not exist, the name is in use, or the object cannot be called.
    """
    own = _functions(op)
    if name in ("", "kernel", "ref"):
        needed = "a name other than kernel and ref"
        raise usage_error("name", brief(name), needed, 'call it "mine", for example')
    if name in own and not replace:
        got, remedy = (
            f"{name!r}, which {op} already has",
            "pass replace=True, or choose another name",
        )
        raise usage_error("name", got, "a new name", remedy)
    own[name] = forward


@checked()
def backend_names(op: str) -> tuple[str, ...]:
    """Return the valid values of `backend=` for an operator: "kernel", "ref" and registered names.

    Raises:
        UsageError: the operator does not exist.
    """
    return ("kernel", *_functions(op))


@checked()
@contextlib.contextmanager
def use_backend(name: str, op: str | None = None) -> Iterator[None]:
    """Use a backend inside a `with` block, in the current thread or asyncio task only.

    op: the operator; None for all operators that have this backend (the others keep their backend).
    The backend of the forward pass also computes the gradient, regardless of where `backward()` is
    called. A function compiled by torch.compile looks up the backend when it runs, and so does its
    backward pass; such a function must not contain the `with` block.

    Raises:
        UsageError: the operator does not exist or lacks the backend; for None, no operator has it.
    """
    token = chosen.set({**(chosen.get() or {}), **_choice(name, op)})
    try:
        yield
    finally:
        chosen.reset(token)


@checked()
def set_default_backend(name: str, op: str | None = None) -> None:
    """Use a backend for all later calls, in all threads; "kernel" restores the default.

    op and the exceptions are the same as for `use_backend`.
    """
    defaults.update(_choice(name, op))
    for operator in [each for each, backend in defaults.items() if backend == "kernel"]:
        del defaults[operator]


def current_backend(op: str, backend: str | None = None) -> str:
    """Return the name of the backend that a call of an operator would use now.

    backend: the call's `backend=` argument.

    Raises:
        UsageError: the operator has no such backend.
    """
    own, name = _functions(op), backend
    if name is None:
        name = (chosen.get() or {}).get(op) or defaults.get(op, "kernel")
    if not isinstance(name, str) or (name != "kernel" and name not in own):
        raise _unknown(name, f"one of {', '.join(('kernel', *own))} for {op}")
    return name


def _choice(name: str, op: str | None) -> dict[str, str]:
    """Return a dictionary from each operator that a choice affects to the name of the backend."""
    if op is not None:
        return {op: current_backend(op, name)}
    having = {each: name for each in functions if name == "kernel" or name in functions[each]}
    if not having:
        every = dict.fromkeys(name for each in functions for name in functions[each])
        raise _unknown(name, "one of " + ", ".join(("kernel", *every)))
    return having


def _functions(op: str) -> dict[str, Callable[..., Tensor]]:
    if not isinstance(op, str) or op not in functions:
        remedy = "use the name of a function in forgekit.ops"
        raise usage_error("op", brief(op), "one of " + ", ".join(sorted(functions)), remedy)
    return functions[op]


def _unknown(name: object, needed: str) -> UsageError:
    remedy = "register your function with forgekit.ops.register_backend"
    return usage_error("backend", brief(name), needed, remedy)
