"""Define the contenders: forgekit's operators, for each backend and variant, and their peers."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from forgekit import ops
from forgekit.benching.suites.operations import BENCHED_OPS
from forgekit.benching.suites.suite import OPERATORS, Case, check_names
from forgekit.ops.backends import backend_names
from forgekit.ops.reductions import VARIANTS

Call = Callable[[], Tensor]
Inputs = tuple[Tensor, ...]


class AbsentError(Exception):
    """Raised for a contender that cannot be measured; the message states the reason."""


@dataclass(frozen=True)
class Contender:
    """An implementation to measure. name: its name in the tables. own: True for one of forgekit's.
    prepare(case, inputs): returns a function that computes the case, or raises AbsentError.
    """

    name: str
    own: bool
    prepare: Callable[[Case, Inputs], Call]


def _torch(case: Case, inputs: Inputs) -> Call:
    return partial(BENCHED_OPS[case.op].torch, *inputs, dim=case.dim)


def _torch_compile(case: Case, inputs: Inputs) -> Call:
    torch._dynamo.reset()  # otherwise a new size causes a recompilation with dynamic sizes
    compiled = torch.compile(BENCHED_OPS[case.op].torch, dynamic=False)
    return partial(compiled, *inputs, dim=case.dim)


def _quack(case: Case, inputs: Inputs) -> Call:
    if importlib.util.find_spec("quack") is None:
        raise AbsentError("quack is not installed: pip install quack-kernels")
    names = {"softmax": "softmax_fwd", "softmax_backward": "softmax_bwd"}
    if case.op not in names or case.dim != -1:
        along = "" if case.dim == -1 else f" along dim {case.dim}"
        raise AbsentError(f"quack has no {case.op}{along} to measure")
    module = importlib.import_module("quack.softmax")
    return partial(getattr(module, names[case.op]), *inputs)


PEERS: dict[str, Callable[[Case, Inputs], Call]] = {
    "torch": _torch,
    "torch.compile": _torch_compile,
    "quack": _quack,
}


def _own(backend: str, variant: str | None, case: Case, inputs: Inputs) -> Call:
    options: dict[str, Any] = {} if case.op == "copy_transpose" else {"dim": case.dim}
    if variant is not None:
        if case.op not in VARIANTS:
            raise AbsentError(f"{case.op} has no variants")
        if variant not in VARIANTS[case.op]:
            raise AbsentError(f"{case.op} has no variant {variant!r}")
        options["variant"] = variant
    if backend != "kernel":  # omit the default, as users do
        if backend not in backend_names(case.op):
            raise AbsentError(f"{case.op} has no backend {backend!r}")
        options["backend"] = backend
    return partial(getattr(ops, case.op), *inputs, **options)


def contenders(
    *, backends: Sequence[str], variants: Sequence[str], peers: Sequence[str]
) -> list[Contender]:
    """Return the contenders in the order of the tables, with forgekit's contenders first.

    variants: the variants to measure; "best" is the kernel that forgekit chooses.

    Raises:
        UsageError: a peer, backend or variant does not exist.
    """
    known = list(dict.fromkeys(name for op in OPERATORS for name in backend_names(op)))
    their_own = dict.fromkeys(name for names in VARIANTS.values() for name in names)
    check_names("--peers", peers, PEERS)
    check_names("--backend", backends, known)
    check_names("--variant", variants, ("best", *their_own))
    chosen = [None if v == "best" else v for v in variants] or [None]
    own = []
    for backend, variant in itertools.product(backends, chosen):
        words = ["forgekit", backend if backend != "kernel" else None, variant]
        name = " ".join(word for word in words if word)
        own.append(Contender(name, True, partial(_own, backend, variant)))
    return own + [Contender(name, False, PEERS[name]) for name in dict.fromkeys(peers)]
