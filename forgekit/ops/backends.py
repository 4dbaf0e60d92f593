"""Choose the backend of an operator: forgekit's kernel, the reference in PyTorch, or your own
function.

    register_backend("softmax", "mine", my_softmax)
    softmax(x, backend="mine")                   # in this call
    with use_backend("mine"): ...                # in here, for each operator with this backend
    set_default_backend("ref", op="softmax")     # from now on, in all threads

A call's `backend=` has priority, then the innermost `with`, then the default, "kernel".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from torch import Tensor

from forgekit.arguments import checked
from forgekit.errors import UsageError, brief, usage_error

# Functions by operator and backend, and each operator's chosen backend, if any.
functions: dict[str, dict[str, Callable[..., Tensor]]] = {}  # each `Operator` adds itself
chosen: ContextVar[dict[str, str] | None] = ContextVar("forgekit_backends", default=None)
defaults: dict[str, str] = {}


@checked()
def register_backend(
    op: str, name: str, forward: Callable[..., Tensor], *, replace: bool = False
) -> None:
    """Register your function as `backend=name` of an operator, in this process.

    op is one of the following; your function receives these arguments (dim counts from 0, even for
    a tensor without dimensions) and must return a new contiguous tensor with the input's dtype and
    device:

        copy_transpose    forward(x (M, N)) -> (N, M)
        reduce_sum        forward(x, dim, keepdim) -> x's shape without dim, or with 1 there
        softmax           forward(x, dim) -> x's shape
        softmax_backward  forward(grad, y, dim) -> y's shape

    A softmax backend supports gradients if its name is also registered for softmax_backward; the
    other operators' derivatives need no function. replace: True to replace an earlier function. If
    your function calls the operator itself, the call uses forgekit's kernel unless it passes
    `backend=`.

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
    """Return the values of `backend=` for an operator: "kernel", "ref" and registered names.

    Raises:
        UsageError: the operator does not exist.
    """
    return ("kernel", *_functions(op))


@checked()
@contextlib.contextmanager
def use_backend(name: str, op: str | None = None) -> Iterator[None]:
    """Use a backend within a `with` block, in this thread or task.

    op: the operator; None for all operators with this backend (the others keep theirs). The backend
    of the forward pass also computes the gradient, wherever `backward()` is called. A function
    compiled by torch.compile looks up the backend when it runs, and so does its backward pass; the
    function cannot contain the block.

    Raises:
        UsageError: the operator does not exist, or it (for None: every operator) lacks the backend.
    """
    token = chosen.set({**(chosen.get() or {}), **_choice(name, op)})
    try:
        yield
    finally:
        chosen.reset(token)


@checked()
def set_default_backend(name: str, op: str | None = None) -> None:
    """Use a backend from now on, in all threads; "kernel" restores the default.

    op and exceptions are those of `use_backend`.
    """
    defaults.update(_choice(name, op))
    for operator in [each for each, backend in defaults.items() if backend == "kernel"]:
        del defaults[operator]


def current_backend(op: str, backend: str | None = None) -> str:
    """Return the name of the backend that would currently compute a call of an operator; backend:
    the call's argument.

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
    """Return {operator: name} for the operators that a choice affects."""
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
    remedy = "register yours with forgekit.ops.register_backend"
    return usage_error("backend", brief(name), needed, remedy)
