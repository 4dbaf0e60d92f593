"""Exercise week2/numeric_gradient: finite-difference gradients of any function."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

SKELETON = "numeric_gradient(f, x, dy)"


def _draw(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _call(submission: Submission, f: Callable, x: Tensor, dy: Tensor, **options: float) -> Tensor:
    """Return the result; refuse another shape, or a changed x or dy."""
    function, before, dy_before = python_function(submission, SKELETON), x.clone(), dy.clone()
    usual = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills `torch.empty_like(x)` with NaN
    try:
        got = function(f, x, dy, **options)
    except GateError:
        raise
    except Exception as error:
        raise GateError(f"It raises {type(error).__name__}: {error}") from None
    finally:
        torch.use_deterministic_algorithms(usual)
    if not isinstance(got, Tensor) or got.shape != x.shape:
        kind = f"a tensor of shape {tuple(got.shape)}" if isinstance(got, Tensor) else repr(got)
        raise GateError(f"Expected a tensor of shape {tuple(x.shape)}, got {kind:.100}.")
    if got.dtype != x.dtype:
        raise GateError(f"Expected {x.dtype}, the type of x, got {got.dtype}.")
    if not torch.equal(x, before):
        off = float((x - before).abs().max())
        likely = "was each step undone?" if off < 2 * options.get("eps", 1e-3) else ""
        if off < 1e-12:
            likely = "a step that is added and subtracted again leaves a rounding error. Change a copy of x."
        raise GateError(f"The call has changed x by up to {off:.1g}.", likely)
    if not torch.equal(dy, dy_before):
        raise GateError(
            f"The call has changed dy by up to {float((dy - dy_before).abs().max()):.1g}."
        )
    return got


def _quadratic(submission: Submission) -> str:
    """Test f(x) = 3x² with a large step: central differences are exact, and others are off by the
    step."""
    x, dy, eps = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64), _draw(3, seed=1), 0.2
    steps = []

    def quadratic(at: Tensor) -> Tensor:
        steps.append(float((at.detach() - before).abs().max()))
        return 3 * at**2

    def square(at: Tensor) -> Tensor:
        if not at.is_contiguous():
            raise GateError("f receives a tensor that is not contiguous.")
        return at.detach() ** 2

    before = x.clone()
    got, want = _call(submission, quadratic, x, dy, eps=eps), 6 * x * dy
    known = {
        "the differences are not multiplied by dy.": 6 * x,
        "the result is twice the gradient: the differences span 2·eps but are divided by eps.": 2 * want,
        "the differences span eps but are divided by 2·eps.": (6 * x + 3 * eps) * dy / 2,
        "the step goes forward only, f(x + eps) - f(x): such a difference is off by half a step times "
        "the second derivative, here by 3·eps·dy.": want + 3 * eps * dy,
        "the step goes backward only, f(x) - f(x - eps): such a difference is off by half a step times "
        "the second derivative, here by 3·eps·dy.": want - 3 * eps * dy,
        "the differences are not divided by the step.": want * 2 * eps,
    }  # fmt: skip
    if not torch.allclose(got, want):
        likely = next((text for text, value in known.items() if torch.allclose(got, value)), "")
        raise GateError(
            f"With f(x) = 3x², x = {x.tolist()} and eps = {eps} the gradient is 6x·dy = "
            f"{_shown(want)}; got {_shown(got)}.", likely,
        )  # fmt: skip
    if not math.isclose(max(steps), eps, rel_tol=1e-6):
        raise GateError(f"With eps = {eps} the largest step is {max(steps):g}.")
    cube = _call(submission, square, _draw(2, 3, 4, seed=6), _draw(2, 3, 4, seed=7))
    if not torch.allclose(cube, 2 * _draw(2, 3, 4, seed=6) * _draw(2, 3, 4, seed=7), atol=1e-8):
        raise GateError("The gradient of f(x) = x² is wrong for x of shape (2, 3, 4).")
    return "exact for a quadratic function"


def _shown(values: Tensor) -> str:
    return "[" + ", ".join(f"{v:.3f}" for v in values.reshape(-1).tolist()) + "]"


def _softmax(submission: Submission) -> str:
    x, dy = _draw(3, 5, seed=2), _draw(3, 5, seed=3)
    dy[:, 1] = 0.0  # but x[:, 1] changes the other elements
    y = x.softmax(1)
    want = (dy - (dy * y).sum(1, keepdim=True)) * y
    got = _call(submission, lambda x: x.detach().softmax(1), x, dy)
    off = float((got - want).abs().max())
    if not off < 1e-9:
        alone = got - dy * y * (1 - y)
        likely = ""
        if float(alone.abs().max()) < 1e-8:
            likely = "each dx is computed from its own y alone, but x[i] changes every element of its row."
        raise GateError(
            f"The gradient of softmax is off by up to {off:.2g}; 1e-9 is allowed.", likely
        )
    steps, before = [], x.clone()
    _call(submission, lambda at: steps.append(float((at - before).abs().max())) or 0 * at, x, dy)
    for name, step in (("smallest", min(steps)), ("largest", max(steps))):
        if not math.isclose(step, 1e-6, rel_tol=1e-3):
            raise GateError(f"Without eps the {name} step is {step:g}, instead of 1e-06.")
    narrow = _call(submission, lambda x: x.detach().logsumexp(1), x, dy[:, 0])
    if not torch.allclose(narrow, y * dy[:, :1], atol=1e-8):
        raise GateError(
            "The gradient of f(x) = logsumexp(x, 1), whose result has one element per row, is wrong."
        )
    number, by = torch.tensor(1.5, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)
    if not math.isclose(_call(submission, lambda x: x.detach() ** 2, number, by), 6, rel_tol=1e-6):
        raise GateError("The gradient of f(x) = x² is wrong for x of shape ().")
    turned = _draw(3, 4, seed=8).T  # not contiguous, and neither is the result of f
    got = _call(submission, lambda x: x.detach().T, _draw(3, 4, seed=9), turned)
    if not torch.allclose(got, turned.T, atol=1e-8):
        likely = (
            "the result of f is a view of its argument: a later change of the argument changes it."
        )
        raise GateError("The gradient of f(x) = x.T is wrong.", likely if not got.any() else "")
    return f"softmax, off by {off:.0e}"


def _calls(submission: Submission) -> str:
    count = 0

    def counted(x: Tensor) -> Tensor:
        nonlocal count
        count += 1
        return x.detach().softmax(1)

    x, dy = _draw(4, 6, seed=4), _draw(4, 6, seed=5)
    _call(submission, counted, x, dy)
    if count > 48:
        raise GateError(
            f"f is called {count} times for 24 elements; two calls per element are enough."
        )
    return f"{count} calls of f for 24 elements"


EXERCISE = Exercise(
    title="compute a gradient by differences",
    task="""
Write `numeric_gradient(f, x, dy, eps=1e-6)`. It returns the gradient of L = Σ dy·f(x) with respect
to every element of `x`, by central differences: (L(x + step) - L(x - step)) / (2·eps), where a step
changes one element of x. `f` is any function of a contiguous float64 tensor, and autograd cannot differentiate it. Leave `x` unchanged, return a tensor of the same shape, and call `f` twice per element.
""",
    hints=(
        "Loop over the elements. In each round you need two tensors that differ from x in one "
        "element.",
        "`torch.zeros_like(x)` with one element set is a step; `.view(-1)[i]` is element i of a "
        "contiguous tensor of any shape.",
        "f returns a tensor, but L is a number. In the line before the division, multiply the difference by dy and add up the products.",
    ),
    analysis="""
This calls f twice per element, or two million times for a matrix of a million elements. So use it only to check
a gradient that was computed in another way, in float64 and for few elements. `torch.autograd.gradcheck` does the
same. Central differences are worth the second call, because their error falls with eps² instead of eps.
""",
    entry="numeric_gradient",
    groups=(
        Group("A quadratic function", _quadratic),
        Group("Softmax", _softmax),
        Group("Calls", _calls),
    ),
    praise="You can check any gradient now.",
)  # fmt: skip
