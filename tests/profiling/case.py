"""A case: one launch of one kernel with made-up arguments, its right result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import forgekit as fk

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
I32, I8, U8 = torch.int32, torch.int8, torch.uint8
UNTOUCHED = 77  # what outputs hold before the launch

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """One launch.

    Attributes:
        host: the `@cute.jit` function; it launches one kernel, `<its name>_kernel`, once.
        make: the tensors, on the CPU or wherever the argument says, the same in every call.
        reference: the tensors before the launch (on the CPU) -> position -> its right contents.
        why: what the case can tell.
        constants: arguments known at compile time; they come after the tensors.
        static: whether shapes and strides are compiled in.
    """

    host: Any
    make: Callable[[torch.device], Tensors]
    reference: Callable[..., dict[int, torch.Tensor]]
    why: str
    constants: tuple[Any, ...] = ()
    static: bool = False

    @property
    def kernel(self) -> str:
        """Name of the kernel; the compiler's name is `kernel_cutlass_<this>_...`."""
        return f"{self.host.__name__}_kernel"

    def compile(self, tensors: Tensors) -> Any:
        """The compiled function for the current device; call it with the tensors alone."""
        given = [fk.spec(t, static=self.static) for t in tensors]
        return fk.compile(self.host, *given, *self.constants)

    def problem(self, before: Tensors, after: Tensors) -> str | None:
        """What is wrong with the result; None if nothing is. All tensors on the CPU."""
        for position, right in self.reference(*before).items():
            got = after[position].cpu()
            if not torch.equal(got, right):
                wrong = int((got != right).sum())
                return f"argument {position}: {wrong} of {right.numel()} elements are wrong"
        return None


# -- tensors ------------------------------------------------------------------------------------
def numbers(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Small integers in a fixed irregular order: exact in every type, and sums of them in fp32."""
    return torch.from_numpy(np.arange(count) * 7919 % 101).to(dtype)


def view(storage: torch.Tensor, device: torch.device, start: int, count: int, step: int = 1):
    """Elements start, start + step, ... of the storage, which is moved to the device whole."""
    moved = storage.to(device)
    return moved[start : start + (count - 1) * step + 1 : step]


def untouched(count: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full((count,), UNTOUCHED, dtype=dtype)


def tensor(index: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(index, np.int32))


def put(y: torch.Tensor, units: np.ndarray, values: torch.Tensor, vector: int) -> torch.Tensor:
    """A copy of y with `values` (one row a unit) in the given units of `vector` elements."""
    out = y.clone()
    out.view(-1, vector)[torch.from_numpy(units.astype(np.int64))] = values
    return out


def from_index(units: np.ndarray, vector: int, dtype: torch.dtype) -> torch.Tensor:
    """(units, vector): what scatter and shared_store write to each unit."""
    values = units.astype(np.int64)[:, None] * vector + np.arange(vector) + 1
    return torch.from_numpy(values).to(I32).to(dtype)
