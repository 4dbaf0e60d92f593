"""Define operators: functions that launch kernels directly and that are registered with PyTorch.

A call bypasses PyTorch's dispatcher unless a gradient, torch.compile, a mode, a transformation or a
trace needs it. Work that does not depend on the tensors' values is done once for all calls with
equal properties.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._guards import detect_fake_mode
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling

from forgekit.errors import usage_error
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.backends import chosen, current_backend, defaults, functions, use_backend
from forgekit.ops.calls import Call, Launch, contiguous_strides
from forgekit.ops.checks import batched, check_backend_result, normal_dim, virtual_arch

# Look these up once, because every launch uses them.
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transformation = torch._C._functorch.peek_interpreter_stack
_tracing = torch._C._is_tracing
_grad_enabled = torch.is_grad_enabled
# Returns True if a tensor's memory is on a GPU, even if a plug-in overrides x.is_cuda.
_on_a_gpu = torch._C.TensorBase.is_cuda.__get__  # type: ignore[attr-defined]

_PLAIN = (Tensor, torch.nn.Parameter)
AUTOGRAD, DISPATCHER = 1, 2  # flags

Options = tuple[Any, ...]


def needed(x: Any) -> int:
    """Return the parts of PyTorch that an operand needs: 0 for none; AUTOGRAD to record a gradient;
    DISPATCHER for a subclass, a fake tensor or a negated view.

    A `batched` operand also needs the dispatcher, but a test before each launch would cost too
    much. Instead, reading the operand's address raises an exception, and its handler tests for
    `batched`.
    """
    if type(x) in _PLAIN and (x.is_cuda or x.is_cpu) and not x.is_neg():
        return AUTOGRAD if x.requires_grad and _grad_enabled() else 0
    return DISPATCHER


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator with one operand, or with two operands of the same shape, dtype and device.

    schema: the operands, the options, and finally `str? backend`; the last option is the name of
    the requested kernel. reference(*operands, *options except the last): computes the result for
    the backend "ref". check(*operands, *options): raises UsageError for unsupported arguments.
    launcher(call): returns a function that fills a contiguous result, or None if the result has no
    elements. result_shape(shape, *options): returns the shape of the result. keep(*operands,
    result): returns the tensors that `backward` needs. backward(context, gradient of the result,
    *kept): returns the operands' gradients; the context has the attributes `shape`, `options`,
    `backend` and `needs_input_grad`.
    """

    name: str
    schema: str
    reference: Callable[..., Tensor]
    check: Callable[..., None]
    launcher: Callable[[Call], Launch | None]
    backward: Callable[..., tuple[Tensor | None, ...]]
    keep: Callable[..., tuple[Tensor, ...]] = lambda *tensors: ()
    result_shape: Callable[..., tuple[int, ...]] = lambda shape, *options: shape
    operands: int = 1

    def __post_init__(self) -> None:
        """Register the operator's backends, and register it with PyTorch as
        torch.ops.forgekit.NAME."""
        functions[self.name] = {"ref": self.reference}
        define = torch.library.custom_op(
            f"forgekit::{self.name}", self._compute, mutates_args=(), schema=self.schema
        )
        define.register_fake(self._fake)
        define.register_autograd(self._backward, setup_context=self._remember)

    # -- calls ------------------------------------------------------------------------------------
    def call(self, x: Tensor, options: Options, backend: str | None, y: Any = None) -> Tensor:
        """Return the result, without the dispatcher if possible. y: the second operand."""
        # the fake implementation checks the arguments, because Dynamo does not trace exceptions
        if is_dynamo_compiling():
            return self._dispatch(x, options, backend, y)
        if not (
            _dispatch_modes() or _function_modes() or _transformation() or _tracing()
            or forward_ad._current_level >= 0
        ):  # fmt: skip
            need = needed(x) if self.operands == 1 else needed(x) | needed(y)
            if not need:
                return self.run(x, options, backend, y)
            if need == AUTOGRAD and not (batched(x) or (y is not None and batched(y))):
                # This path takes a third of the dispatcher's time.
                return self._recorded(x, y, (options, backend))
        self.check(*self._operands(x, y), *options)
        current_backend(self.name, backend)
        return self._dispatch(x, options, backend, y)

    def run(self, x: Tensor, options: Options, backend: str | None, y: Any = None) -> Tensor:
        """Allocate the result and launch the kernel. A single look-up selects the launch, because
        host time matters for small tensors."""
        if backend is not None or chosen.get() or defaults:
            name = current_backend(self.name, backend)
            if name != "kernel":
                return self._run_backend(name, self._operands(x, y), options)
        try:
            arch = None if _on_a_gpu(x) else virtual_arch(x)
            shape, address = x.shape, x.data_ptr() % VECTOR_BYTES
            if y is None:
                launch, allocate = plan(self, options, arch, x.dtype, shape, x.stride(), address)
            else:
                if y.dtype is not x.dtype or y.shape != shape or y.get_device() != x.get_device():
                    raise ValueError("operands differ")
                launch, allocate = plan(
                    self, options, arch, x.dtype, shape,
                    x.stride(), address, y.stride(), y.data_ptr() % VECTOR_BYTES,
                )  # fmt: skip
        except (RuntimeError, TypeError, ValueError):
            if any(map(batched, self._operands(x, y))):
                return self._dispatch(x, options, backend, y)
            self.check(*self._operands(x, y), *options)  # raises an error in the user's terms
            raise
        result = allocate(x)
        if launch is not None:
            launch(x, result) if y is None else launch(x, y, result)
        return result

    def _run_backend(self, name: str, operands: Options, options: Options) -> Tensor:
        """Call a registered function after the checks that also precede a kernel."""
        named = dict(zip(self.option_names, options, strict=True))
        what, wanted = named.popitem()
        if wanted is not None:
            remedy = 'leave it out, or pass backend="kernel"'
            got = f"{wanted!r} with the backend {name!r}"
            raise usage_error(what, got, "None, because only kernels have variants", remedy)
        self.check(*operands, *options)
        shape = self.result_shape(tuple(operands[0].shape), *options)
        if "dim" in named:
            named["dim"] = normal_dim(named["dim"], operands[0].dim())
        with use_backend("kernel", self.name):  # in case the function calls the operator itself
            result = functions[self.name][name](*operands, *named.values())
        check_backend_result(result, self.name, shape, *operands)
        return result

    def _operands(self, x: Tensor, y: Tensor | None) -> Options:
        return (x, y)[: self.operands]

    def _dispatch(self, x: Tensor, options: Options, backend: str | None, y: Any) -> Tensor:
        operator = getattr(torch.ops.forgekit, self.name)
        result: Tensor = operator(*self._operands(x, y), *options, backend)
        return result

    # -- functions that PyTorch calls --------------------------------------------------------------
    @functools.cached_property
    def _recorded(self) -> Callable[..., Tensor]:
        """Return a function that calls `run` and records its derivative without the dispatcher. Its
        arguments are x, y and (options, backend), because PyTorch needs time for each argument."""
        operator = self

        class Recorded(torch.autograd.Function):
            @staticmethod
            def forward(  # a separate setup_context would take 30 us
                ctx: Any, x: Tensor, y: Tensor | None, asked: tuple[Options, str | None]
            ) -> Tensor:
                options, backend = asked
                result = operator.run(x, options, backend, y)
                ctx.shape, ctx.options = x.shape, options
                ctx.backend = current_backend(operator.name, backend)
                ctx.save_for_backward(*operator.keep(*operator._operands(x, y), result))
                return result

            @staticmethod
            def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
                return (*operator.backward(ctx, grad, *ctx.saved_tensors), None, None)[:3]

        # `Function.apply` would look for functorch's transformations again, which takes 1.5 us.
        apply: Callable[..., Tensor] = super(torch.autograd.Function, Recorded).apply
        return apply

    @functools.cached_property
    def _arguments(self) -> tuple[tuple[str, Any], ...]:
        """Return the name and default value of each argument, parsed from the schema by PyTorch."""
        schema = getattr(torch.ops.forgekit, self.name).default._schema
        return tuple((each.name, each.default_value) for each in schema.arguments)

    @functools.cached_property
    def option_names(self) -> tuple[str, ...]:
        """Return the names of the arguments between the operands and `backend`."""
        return tuple(name for name, _ in self._arguments[self.operands : -1])

    def _split(self, inputs: Options) -> tuple[Options, Options, Any]:
        """Return the operands, options and backend. PyTorch omits trailing arguments that have
        default values."""
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
        """Save the values that `backward` needs in ctx."""
        backend = inputs[-1]
        ctx.shape, ctx.options = inputs[0].shape, inputs[self.operands : -1]
        # torch.compile traces this look-up in the forward pass and in the backward pass.
        traced = detect_fake_mode(inputs) is not None
        ctx.backend = backend if traced else current_backend(self.name, backend)
        ctx.save_for_backward(*self.keep(*inputs[: self.operands], output))

    def _backward(self, ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grads = self.backward(ctx, grad, *ctx.saved_tensors)
        return (*grads, *(None for _ in ctx.options), None)


@functools.lru_cache(maxsize=4096)
def plan(
    operator: Operator,
    options: Options,
    arch: str | None,
    dtype: torch.dtype,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    address: int,
    other_stride: tuple[int, ...] | None = None,
    other_address: int = 0,
) -> tuple[Launch | None, Callable[[Tensor], Tensor]]:
    """Return a function that fills the result of a call (None if the result has no elements), and
    the fastest function that allocates the result.

    stride, address: the first operand's strides in elements, and its address in bytes modulo 16;
    other_stride, other_address: those of the second operand, if any. This is the only cache in
    front of the one in `compile`. The key is flat, because creating a `Call`, or any nested tuple,
    takes longer than the look-up; only a cache miss creates a `Call`.
    """
    strides = (stride,) if other_stride is None else (stride, other_stride)
    addresses = (address, other_address)[: len(strides)]
    named = dict(zip(operator.option_names, options, strict=True))
    call = Call(operator.name, dtype, arch, tuple(shape), strides, addresses, **named)
    launch = operator.launcher(call)
    result = operator.result_shape(call.shape, *options)
    stride = contiguous_strides(result)
    if (result, stride) == (call.shape, call.strides[0]):
        return launch, torch.empty_like
    return launch, lambda x: x.new_empty_strided(result, stride)
