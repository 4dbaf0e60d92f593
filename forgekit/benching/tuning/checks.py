"""Calls of single configurations for `forgekit tune`, checked before anything of them is timed."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from forgekit.benching.suites.operations import make_inputs, result_shape, why_wrong
from forgekit.benching.suites.suite import Case
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops import reduce_launch, softmax_launch, tuned
from forgekit.ops.row_limits import RowProblem
from forgekit.ops.tile_choice import RowChoice
from forgekit.ops.views import contiguous_strides

__all__ = ["CheckedCalls", "DroppedError"]


class DroppedError(Exception):
    """A configuration does not count."""


class CheckedCalls:
    """One case on the device that is in use: its tensors, and calls of its configurations.

    arch: of the virtual GPU, None for the GPU. exact: all have to give the bits of the first.
    """

    def __init__(
        self, case: Case, problem: RowProblem, arch: str | None, *, exact: bool = False
    ) -> None:
        device = torch.device("cpu" if arch else "cuda")
        self.case, self.problem, self.arch, self.exact = case, problem, arch, exact
        self.inputs = make_inputs(case, device)
        self.out = torch.empty(result_shape(case), dtype=self.inputs[0].dtype, device=device)
        self.expected: Tensor | None = None  # bit for bit

    def checked(self, choice: RowChoice) -> Callable[[], None]:
        """A call that computes with the configuration. Raises DroppedError if it is wrong."""
        call = self._call(choice)
        first = self._result(call)
        if not torch.equal(_bits(first), _bits(self._result(call))):
            raise DroppedError("two runs gave different bits")
        wrong = why_wrong(self.case, self.inputs, first)
        if wrong:
            raise DroppedError(f"wrong: {wrong}")
        if self.expected is not None and not torch.equal(_bits(first), _bits(self.expected)):
            raise DroppedError("other bits than the table's choice")
        if self.exact and self.expected is None:
            self.expected = first
        return call

    def _call(self, choice: RowChoice) -> Callable[[], None]:
        """What the operator would launch with this configuration."""
        dtype, shape, dim = self.inputs[0].dtype, self.case.shape, 1
        stride, address = contiguous_strides(shape), self.inputs[0].data_ptr() % VECTOR_BYTES
        run: Callable[..., None] | None
        with tuned.trying(choice) as trial:  # __wrapped__: what is tried must not stay in the cache
            if self.problem.op == "softmax_backward":
                run = softmax_launch.backward_launcher.__wrapped__(
                    dtype, self.arch, shape, (stride, stride), (address, address), dim
                )
            else:
                module = reduce_launch if self.problem.op == "sum" else softmax_launch
                run = module.launcher.__wrapped__(dtype, self.arch, shape, stride, address, dim)
        if run is None or trial.asked != [self.problem]:
            raise AssertionError(f"{self.case}: asked for {trial.asked}, planned {self.problem}")
        return functools.partial(run, *self.inputs, self.out)

    def _result(self, call: Callable[[], None]) -> Tensor:
        self.out.fill_(float("nan"))
        call()
        return self.out.clone()


def _bits(x: Tensor) -> Tensor:
    return x.view({2: torch.int16, 4: torch.int32}[x.dtype.itemsize])
