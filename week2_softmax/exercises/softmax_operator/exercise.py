"""Exercise week2/softmax_operator: two kernels become a PyTorch operator with a gradient."""

from __future__ import annotations

import functools
import re
import warnings
from typing import Any

import torch
from torch import Tensor
from torch._library.custom_ops import CustomOpDef
from torch._ops import OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

T, ANOTHER_T = 0.5, 2.0
NAMES = ("mine::tempered_softmax", "mine::tempered_softmax_backward")
ROLES = {
    "test_schema": "opcheck compares inputs and outputs with the schema: an input was changed, or an "
    "output shares its memory.",
    "test_autograd_registration": "opcheck finds no gradient registered with the operator.",
    "test_faketensor": "the fake's result does not match: its shape, type and strides have to be those "
    "of the operator's result.",
    "test_aot_dispatch_dynamic": "torch.compile could not trace the operator and its gradient, or "
    "the compiled results differ.",
}

KNOWN = {  # a part of torch's message -> its cause
    "incorrect number of gradients": "the gradient function must return one value for each "
    "input of the operator, including t. (torch counts one more, which it uses internally.)",
    "same name and overload name": "the grade calls the function several times, but "
    "`torch.library.define` accepts each name once. `torch.library.custom_op` replaces the operator.",
    "mismatched requires_grad-ness": "the result already belongs to a gradient, like the result of an "
    "earlier call, but an operator must return a new tensor.",
    "no autograd formula": "no gradient is registered with the operator.",
    "may not alias any inputs": "the result is an input itself or shares its memory, but an operator must "
    "return a new tensor.",
    "no fake impl registered for <CustomOpDef(mine::tempered_softmax)>": "the operator has no fake.",
    "no fake impl registered for <CustomOpDef(mine::tempered_softmax_backward)>": "the gradient's "
    "operator needs its own fake, because a compiled function contains both operators.",
}


class Launchers:
    """Stand in for the two kernels, with strict checks of the arguments and exact results in
    float64."""

    def __init__(self) -> None:
        self.calls = {"forward": 0, "backward": 0}
        self.results: list[Tensor] = []

    def forward(self, x: Tensor, t: float, y: Tensor) -> None:
        self._look("forward", x=x, y=y)
        y.copy_((x / t).softmax(-1))
        self.results = [*self.results[-7:], y.clone()]

    def backward(self, dy: Tensor, y: Tensor, t: float, dx: Tensor) -> None:
        self._look("backward", dy=dy, y=y, dx=dx)
        known = [of for of in self.results if (of.shape, of.dtype) == (y.shape, y.dtype)]
        if known and not any(torch.allclose(y, of) for of in known):
            raise GateError(
                "The second argument of `backward` is not the result of `forward`.",
                "it is something else, such as x or dy, but the kernel computes with y.",
            )
        dx.copy_((dy - (dy * y).sum(-1, keepdim=True)) * y / t)

    def _look(self, name: str, **tensors: Tensor) -> None:
        from torch._subclasses.fake_tensor import FakeTensor

        self.calls[name] += 1
        for argument, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                raise GateError(
                    f"`{name}` receives {argument} = {tensor!r:.80}, which is not a tensor.",
                    look_at="Launch forward(x, t, y) and backward(dy, y, t, dx).",
                )
            if isinstance(tensor, FakeTensor) or type(tensor) is not Tensor:
                raise GateError(
                    f"`{name}` is launched while torch.compile traces: {argument} is a "
                    f"{type(tensor).__name__}, which has a shape and no memory.",
                    "a launch outside an operator is traced like torch's own functions. Each kernel "
                    "belongs in its own operator, including the backward kernel.",
                )
            if not tensor.is_contiguous():
                raise GateError(
                    f"`{name}` receives {argument} of shape {tuple(tensor.shape)} with strides "
                    f"{tensor.stride()}; the kernels need contiguous rows.",
                    "a gradient need not have y's layout: that of `y.sum()` is one number, "
                    "expanded. `.contiguous()` makes a copy if one is needed."
                    if argument == "dy" else "",
                )  # fmt: skip
        if len({(x.shape, x.dtype) for x in tensors.values()}) > 1:
            what = ", ".join(f"{k} {tuple(v.shape)} {str(v.dtype)[6:]}" for k, v in tensors.items())
            raise GateError(f"`{name}` receives tensors that do not match each other: {what}.")


def _made(submission: Submission) -> tuple[Any, Launchers]:
    kernels = Launchers()
    function = python_function(submission, "softmax_operator(forward, backward)")
    op = _tried("Making the operator", lambda: function(kernels.forward, kernels.backward))
    if not isinstance(op, CustomOpDef | OpOverload | OpOverloadPacket):
        raise GateError(
            f"Expected an operator, got {op!r:.100}.",
            look_at="Return the operator that the decorator `torch.library.custom_op` creates.",
        )
    return op, kernels


def _tried(what: str, call: Any) -> Any:
    """Return the result of `call`; describe an error by its GateError, or by its first line."""
    try:
        return call()
    except Exception as error:
        _raise(what, error)


def _raise(what: str, error: BaseException) -> None:
    cause: BaseException | None = error
    while cause is not None:  # torch wraps exceptions raised inside an operator
        if isinstance(cause, GateError):
            raise cause from None
        cause = cause.__cause__ or cause.__context__
    text = re.sub(
        r" \(with implementation in <.*?>\)| Duplicate registration: .*", "", str(error),
        flags=re.DOTALL,
    )  # fmt: skip
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    likely = next((says for part, says in KNOWN.items() if part in text), "")
    raise GateError(f"{what} raises {type(error).__name__}: {lines[0]:.300}", likely) from None


def _x(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)


def _values(submission: Submission) -> str:
    op, _ = _made(submission)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        xs = (
            _x(3, 5, dtype=dtype), _x(7, 2, dtype=dtype).T,
            _x(3, 2, 4, dtype=dtype).transpose(0, 1), _x(8, dtype=dtype)[::2],
        )  # fmt: skip
        for x, t in zip(xs, (T, ANOTHER_T, 0.75, T), strict=True):
            before = x.clone()
            y = _tried(f"A call with x of shape {tuple(x.shape)}", lambda x=x, t=t: op(x, t))
            if not torch.equal(x, before):
                raise GateError(
                    "The call changes x, but mutates_args=() promises that it does not."
                )
            want = (x / t).softmax(-1)
            if y.dtype != dtype or y.shape != x.shape or not torch.allclose(y, want):
                raise GateError(
                    f"With x of shape {tuple(x.shape)}, {str(dtype)[6:]}, and t = {t} the result is not "
                    f"softmax(x / t): it has shape {tuple(y.shape)}, {str(y.dtype)[6:]}, and begins "
                    f"with {_begin(y)} instead of {_begin(want)}."
                )
    return "4 shapes in 3 types"


def _begin(y: Tensor) -> str:
    return ", ".join(f"{v:.4g}" for v in y.flatten()[:2].tolist())


def _gradient(submission: Submission) -> str:
    op, _ = _made(submission)
    x = _x(2, 5).requires_grad_()
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = op(x, T)
    for z in (x, _x(2, 3, 4).requires_grad_(), _x(5).requires_grad_()):
        _tried("`op(x, t).sum().backward()`", lambda z=z: op(z, T).sum().backward())
    dy = _x(5, 2).T
    for t in (T, ANOTHER_T):
        dx = _tried("A gradient", lambda t=t: torch.autograd.grad(op(x, t), x, dy)[0])
        (want,) = torch.autograd.grad((x / t).softmax(-1), x, dy)
        if not torch.allclose(dx, want, rtol=1e-10, atol=1e-12):
            same = torch.allclose(dx, want * t)
            raise GateError(
                f"dx is not the gradient of softmax(x / t) with t = {t}: its first element is "
                f"{dx[0, 0]:.10g}, expected {want[0, 0]:.10g}.",
                "dx is t times the expected gradient. `backward` divides by the t that it receives, "
                "which is enough." if same else "",
            )  # fmt: skip
    _look_at_two_calls(op)
    _tried("gradcheck", lambda: torch.autograd.gradcheck(lambda x: op(x, T), (x,)))
    if any(t.data_ptr() != y.data_ptr() for t in kept):
        raise GateError("A tensor other than y, such as x or a copy, is saved; y alone is enough.")
    z = x * 1
    given, _result = StorageWeakRef(z.untyped_storage()), op(z, T)
    del z
    if not given.expired():
        raise GateError("The operator or its ctx keeps x after the call; only y may be saved.")
    return "gradcheck in float64; only y is saved"


def _look_at_two_calls(op: Any) -> None:
    """Check that a call has a result and a gradient of its own, whatever follows it."""
    xs = (_x(2, 5).requires_grad_(), (2 * _x(2, 5)).requires_grad_())
    ts, dy, called = (T, ANOTHER_T), _x(5, 2).T, f"After op(x, {T}) and op(z, {ANOTHER_T}), "
    ys = [_tried("A second call", lambda x=x, t=t: op(x, t)) for x, t in zip(xs, ts, strict=True)]
    wants = [(x / t).softmax(-1) for x, t in zip(xs, ts, strict=True)]
    if not torch.allclose(ys[0], wants[0]):
        raise GateError(
            f"{called}the first result is not softmax(x / {T}).",
            "a later call has changed the result of an earlier one, but an operator must return a "
            "new tensor." if torch.allclose(ys[0], wants[1]) else "",
        )  # fmt: skip
    dx = _tried("A gradient", lambda: torch.autograd.grad(ys[0], xs[0], dy)[0])
    before = dx.clone()
    _tried("A gradient", lambda: torch.autograd.grad(ys[1], xs[1], dy))
    if not torch.equal(dx, before):
        raise GateError(
            f"{called}the second call's gradient overwrites the first call's.",
            "a later call has changed the gradient of an earlier one, but an operator must return "
            "a new tensor.",
        )
    y, z = (want.detach() for want in wants)
    known = {
        "": (y, T),
        "the gradient of the first call uses the second call's t. Save t in ctx.": (y, ANOTHER_T),
        "the gradient of the first call uses the second call's y. Save y with "
        "ctx.save_for_backward.": (z, T),
        "the gradient of the first call uses the second call's y and t. Save them in ctx.":
            (z, ANOTHER_T),
    }  # fmt: skip
    for says, (of, t) in known.items():
        if torch.allclose(dx, (dy - (dy * of).sum(-1, keepdim=True)) * of / t):
            if not says:
                return
            break
    else:
        says = ""
    raise GateError(f"{called}the first call's gradient is wrong.", says)


def _opcheck(submission: Submission) -> str:
    op, _ = _made(submission)
    x = _x(3, 5, dtype=torch.float32).requires_grad_()
    strided = (_x(4, 2).T, _x(3, 2, 4).transpose(0, 1), _x(8)[::2])
    cases = ((x, T), *((x.requires_grad_(), T) for x in strided))
    for case in cases:
        with warnings.catch_warnings():  # opcheck turns on anomaly mode, which prints warnings
            warnings.simplefilter("ignore")
            found = torch.library.opcheck(op, case, raise_exception=False)
        for test, result in found.items():
            if result != "SUCCESS":
                try:
                    _raise(test, result)
                except GateError as error:
                    raise GateError(
                        f"torch.library.opcheck: {test} failed.\n{error.happened}",
                        error.likely or ROLES.get(test, ""),
                    ) from None
        _look_at_fakes(op, case[0])
    return ", ".join(name.removeprefix("test_") for name in found)


def _look_at_fakes(op: Any, x: Tensor) -> None:
    """Check the fakes of both operators, of which `opcheck` in PyTorch 2.11 checks neither the
    strides nor the second one."""
    with Called() as called:
        dy = _x(*x.shape[::-1], dtype=x.dtype).permute(*range(x.dim())[::-1])
        op(x, T).backward(dy)
    for name in filter(called.calls.__contains__, NAMES):
        of, args, kwargs, result = called.calls[name]
        if not isinstance(result, Tensor):  # the operator fills an argument
            continue
        with FakeTensorMode() as mode:
            faked = [mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args]
            fake = _tried(f"The fake of {name}", functools.partial(of, *faked, **kwargs))
        got, needed = (
            f"shape {tuple(y.shape)}, {str(y.dtype)[6:]}, strides {y.stride()}"
            for y in (fake, result)
        )
        if got != needed:
            inputs = ", ".join(str(a.stride()) for a in args if isinstance(a, Tensor))
            raise GateError(
                f"For inputs with strides {inputs}, the fake of {name} has {got}, but the result "
                f"has {needed}.",
                ROLES["test_faketensor"],
            )


class Called(TorchDispatchMode):
    """Records the last call of each operator that runs, and its result, by the operator's name."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, tuple[Any, Any, dict[str, Any], Any]] = {}

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = op(*args, **(kwargs or {}))
        self.calls[op._schema.name] = op, args, kwargs or {}, result
        return result


def _look_at_names(op: Any) -> None:
    with Called() as called:
        x = _x(2, 5).requires_grad_()
        op(x, T).sum().backward()
    for name in NAMES:
        if name not in called.calls:
            own = sorted(n for n in called.calls if not n.startswith("aten::")) or [
                "only torch's own"
            ]
            raise GateError(
                f"A call and its gradient run no operator {name}, but {', '.join(own)}."
            )


def _compiled(submission: Submission) -> str:
    op, kernels = _made(submission)
    torch.compiler.reset()  # torch recompiles a function only a few times

    def loss(x: Tensor, w: Tensor) -> Tensor:
        return (op(x @ w, T) * x).sum()

    grads = []
    for function in (loss, torch.compile(loss, backend="aot_eager", fullgraph=True)):
        x, w = _x(3, 4).requires_grad_(), _x(4, 4).requires_grad_()
        kernels.calls.update(forward=0, backward=0)
        _tried("A compiled function", lambda f=function, x=x, w=w: f(x, w).backward())
        grads.append((x.grad, w.grad))
    if not all(torch.allclose(a, b) for a, b in zip(*grads, strict=True)):
        raise GateError(
            "The gradients of the compiled function differ from those of the plain one."
        )
    if kernels.calls != {"forward": 1, "backward": 1}:
        raise GateError(f"The compiled function does not launch each kernel once: {kernels.calls}.")
    _look_at_names(op)
    return "fullgraph, one launch forward and one backward"


EXERCISE = Exercise(
    title="make an operator from two kernels",
    task="""
`softmax_operator(forward, backward)` returns a PyTorch operator, `op(x, t)` = softmax(x / t)
along the last dimension, with its gradient with respect to `x`; t is a plain float above 0. The kernels are
given as functions that fill their last argument: `forward(x, t, y)` and `backward(dy, y, t, dx)`.
They are black boxes that take contiguous tensors only. `x` and `dy` may have any strides; y and dx
are contiguous. Save only y for the gradient. Name the operators `mine::tempered_softmax` and `mine::tempered_softmax_backward`.
The grade calls `softmax_operator` several times. It runs `gradcheck`, `opcheck`, and a function compiled with `torch.compile(fullgraph=True)`.
""",
    hints=(
        "Make two operators, one per kernel, each with a fake. Register a gradient with the first one.",
        "The function that saves tensors receives `inputs`, the tuple (x, t), and `output`. The function that computes the gradient returns one value for *each* input; for t, which is not a tensor, it returns None.",
        "In its last line, the gradient calls the second operator, never the launcher: while torch.compile traces it, there is no memory for a kernel to run on.",
    ),
    analysis="""
An operator is a black box with a contract. The fake describes its result without computing it. The schema
promises that it changes no argument and returns no memory of its inputs. Its gradient consists of other operators.
`torch.compile` needs only this contract. `forgekit.ops.softmax` has the same parts, and also bypasses the
dispatcher for calls that need no gradient.
""",
    entry="softmax_operator",
    stays=True,
    groups=(
        Group("Values", _values),
        Group("Gradient", _gradient),
        Group("opcheck", _opcheck),
        Group("torch.compile", _compiled),
    ),
    praise="Your kernels are part of PyTorch now.",
)  # fmt: skip
