"""One way to make an operator: a function that launches directly, an operator of PyTorch beside it.

PyTorch's dispatcher is passed by unless something needs it: a gradient, torch.compile, a mode, a
transformation, a trace. What does not depend on values is worked out once for each kind of call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.compiler import is_compiling, is_dynamo_compiling

from forgekit.errors import usage_error
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.backends import chosen, current_backend, defaults, functions, use_backend
from forgekit.ops.calls import Allocate, Call, Launch, plan
from forgekit.ops.checks import batched, check_backend_result, normal_dim, virtual_arch
from forgekit.ops.views import contiguous_strides

# Looked up once: they stand before every launch.
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transformation = torch._C._functorch.peek_interpreter_stack
_tracing = torch._C._is_tracing
_grad_enabled = torch.is_grad_enabled

Options = tuple[Any, ...]


def unwatched() -> bool:
    """No mode, no transformation of torch.func, no forward mode, no trace is active: the dispatcher
    would do nothing else than what the operands need."""
    return (
        not _dispatch_modes()
        and not _function_modes()
        and _transformation() is None
        and forward_ad._current_level < 0
        and not _tracing()
    )


def only_needs_kernel(x: Any) -> bool:
    """Whether the dispatcher, unwatched, would only call the kernel: there is no gradient to
    record, no subclass, no fake tensor, no negated view.

    What is `batched` it has to see as well, but that costs too much to ask before each launch: its
    address cannot be had, and then is the time.
    """
    return (
        type(x) is Tensor
        and (x.is_cuda or x.is_cpu)
        and not (x.requires_grad and _grad_enabled())
        and not x.is_neg()
    )


def only_needs_autograd(x: Any) -> bool:
    """Whether it would do nothing besides but record a gradient, which `_recorded` does in a fifth
    of the time."""
    return (
        type(x) in (Tensor, torch.nn.Parameter)
        and (x.is_cuda or x.is_cpu)
        and not (x.is_neg() or batched(x))
    )


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator over one operand or two of the same shape, dtype and device; and what is its own.

    schema: operands, options, and `str? backend` as the last. The last option is the kernel asked
    for. check(*operands, *options): raises UsageError for what cannot be computed. launcher: from a
    `Call` to what fills a contiguous result, None if that has no elements. result_shape(shape,
    *options). keep(*operands, result): the tensors that `backward` needs. backward(context,
    gradient of the result, *kept): the operands' gradients; the context has `shape`, `options`,
    `backend` and `needs_input_grad`.
    """

    name: str
    schema: str
    check: Callable[..., None]
    launcher: Callable[[Call], Launch | None]
    backward: Callable[..., tuple[Tensor | None, ...]]
    keep: Callable[..., tuple[Tensor, ...]] = lambda *tensors: ()
    result_shape: Callable[..., tuple[int, ...]] = lambda shape, *options: shape
    operands: int = 1

    def __post_init__(self) -> None:
        """Make it known to PyTorch, as torch.ops.forgekit.NAME."""
        define = torch.library.custom_op(
            f"forgekit::{self.name}", self._compute, mutates_args=(), schema=self.schema
        )
        define.register_fake(self._fake)
        define.register_autograd(self._backward, setup_context=self._remember)

    # -- a call of the function -------------------------------------------------------------------
    def call(self, x: Tensor, options: Options, backend: str | None, y: Any = None) -> Tensor:
        """The result, computed directly wherever that is possible. y: the second operand."""
        if is_dynamo_compiling():  # the operator's fake checks: Dynamo traces no exception
            return self._dispatch(x, options, backend, y)
        if unwatched():
            if only_needs_kernel(x) and (self.operands == 1 or only_needs_kernel(y)):
                return self.run(x, options, backend, y)
            if only_needs_autograd(x) and (self.operands == 1 or only_needs_autograd(y)):
                return self._recorded(*self._operands(x, y), *options, backend)
        self.check(*self._operands(x, y), *options)
        current_backend(self.name, backend)
        return self._dispatch(x, options, backend, y)

    def run(self, x: Tensor, options: Options, backend: str | None, y: Any = None) -> Tensor:
        """Allocate and launch. One look-up decides: host time counts for small tensors."""
        if backend is not None or chosen.get() or defaults:
            name = current_backend(self.name, backend)
            if name != "kernel":
                return self._run_backend(name, self._operands(x, y), options)
        try:
            arch = None if x.is_cuda else virtual_arch(x)
            strides: tuple[tuple[int, ...], ...]
            addresses: tuple[int, ...]
            if y is None:
                strides, addresses = (x.stride(),), (x.data_ptr() % VECTOR_BYTES,)
            else:
                if y.dtype is not x.dtype or y.shape != x.shape or y.get_device() != x.get_device():
                    raise ValueError("operands differ")
                strides = x.stride(), y.stride()
                addresses = x.data_ptr() % VECTOR_BYTES, y.data_ptr() % VECTOR_BYTES
            launch, allocate = plan(self, x.dtype, arch, x.shape, strides, addresses, options)
        except (RuntimeError, TypeError, ValueError):
            if any(map(batched, self._operands(x, y))):
                return self._dispatch(x, options, backend, y)
            self.check(*self._operands(x, y), *options)  # says it in the user's terms
            raise
        result = allocate(x)
        if launch is not None:
            launch(x, result) if y is None else launch(x, y, result)
        return result

    def prepare(self, call: Call, options: Options) -> tuple[Launch | None, Allocate]:
        """What fills the result of such a call, and what allocates that, in the least time."""
        launch = self.launcher(call)
        shape = self.result_shape(call.shape, *options)
        stride = contiguous_strides(shape)
        if (shape, stride) == (call.shape, call.strides[0]):
            return launch, torch.empty_like
        return launch, lambda x: x.new_empty_strided(shape, stride)

    def _run_backend(self, name: str, operands: Options, options: Options) -> Tensor:
        """What a function of the registry computes, after the same checks as before a kernel."""
        named = dict(zip(self.option_names, options, strict=True))
        what, wanted = named.popitem()
        if wanted is not None:
            remedy = 'leave it out, or pass backend="kernel"'
            got = f"{wanted!r} with the backend {name!r}"
            raise usage_error(what, got, "None, as only kernels have those", remedy)
        self.check(*operands, *options)
        shape = self.result_shape(tuple(operands[0].shape), *options)
        if "dim" in named:
            named["dim"] = normal_dim(named["dim"], operands[0].dim())
        with use_backend("kernel", self.name):  # if the function calls the operator itself
            result = functions[self.name][name](*operands, *named.values())
        check_backend_result(result, self.name, shape, *operands)
        return result

    def _operands(self, x: Tensor, y: Tensor | None) -> Options:
        return (x, y)[: self.operands]

    def _dispatch(self, x: Tensor, options: Options, backend: str | None, y: Any) -> Tensor:
        operator = getattr(torch.ops.forgekit, self.name)
        result: Tensor = operator(*self._operands(x, y), *options, backend)
        return result

    # -- what PyTorch calls -----------------------------------------------------------------------
    @functools.cached_property
    def _recorded(self) -> Callable[..., Tensor]:
        """`run` with a derivative, of all inputs in the schema's order, without the dispatcher."""
        operator = self

        class Recorded(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Tensor:  # a setup_context of its own costs 30 us
                x, *more = inputs[: operator.operands]
                options, backend = inputs[operator.operands : -1], inputs[-1]
                result = operator.run(x, options, backend, *more)
                operator._remember(ctx, inputs, result)
                return result

        Recorded.backward = staticmethod(self._backward)  # type: ignore[method-assign]
        apply: Callable[..., Tensor] = Recorded.apply
        return apply

    @functools.cached_property
    def _arguments(self) -> tuple[tuple[str, Any], ...]:
        """Name and default of each, as PyTorch reads the schema."""
        schema = getattr(torch.ops.forgekit, self.name).default._schema
        return tuple((each.name, each.default_value) for each in schema.arguments)

    @functools.cached_property
    def option_names(self) -> tuple[str, ...]:
        """Of the arguments between operands and backend."""
        return tuple(name for name, _ in self._arguments[self.operands : -1])

    def _split(self, inputs: Options) -> tuple[Options, Options, Any]:
        """Operands, options, backend; PyTorch leaves out the last ones that are defaults."""
        every = inputs + tuple(default for _, default in self._arguments[len(inputs) :])
        return every[: self.operands], every[self.operands : -1], every[-1]

    def _compute(self, *inputs: Any) -> Tensor:
        (x, *more), options, backend = self._split(inputs)
        return self.run(x, options, backend, *more)

    def _fake(self, *inputs: Any) -> Tensor:
        operands, options, _ = self._split(inputs)
        self.check(*operands, *options)
        shape = self.result_shape(tuple(operands[0].shape), *options)
        empty: Tensor = operands[0].new_empty(shape)
        return empty

    def _remember(self, ctx: Any, inputs: Options, output: Tensor) -> None:
        """inputs: all of them, for once."""
        backend = inputs[-1]
        ctx.shape, ctx.options = inputs[0].shape, inputs[self.operands : -1]
        # What torch.compile has made asks in its backward pass, as it does in its forward pass.
        ctx.backend = backend if is_compiling() else current_backend(self.name, backend)
        ctx.save_for_backward(*self.keep(*inputs[: self.operands], output))

    def _backward(self, ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grads = self.backward(ctx, grad, *ctx.saved_tensors)
        return (*grads, *(None for _ in ctx.options), None)
