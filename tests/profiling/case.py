"""Define a case: a launch of a kernel with given arguments, and its expected result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import forgekit as fk

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
I32, I8, U8 = torch.int32, torch.int8, torch.uint8
UNTOUCHED = 77  # the content of outputs before the launch

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """A launch of a kernel.

    Attributes:
        host: the `@cute.jit` function; it launches one kernel, `<its name>_kernel`, once.
        make: a function that returns the tensors, on the CPU, with the same values in every call.
        reference: a function of the tensors before the launch that returns the expected contents of
            argument `result`.
        why: the rule that the case can reveal.
        constants: the compile-time arguments, which follow the tensors.
        static: True if shapes and strides are compiled in.
    """

    host: Any
    make: Callable[[], Tensors]
    reference: Callable[..., torch.Tensor]
    why: str
    constants: tuple[Any, ...] = ()
    static: bool = False
    result: int = -1

    @property
    def kernel(self) -> str:
        """Return the name of the kernel; the compiler's name is `kernel_cutlass_<this>_...`."""
        return f"{self.host.__name__}_kernel"

    def compile(self, tensors: Tensors) -> Any:
        """Return the compiled function for the current device; its arguments are only the
        tensors."""
        given = [fk.spec(t, static=self.static) for t in tensors]
        return fk.compile(self.host, *given, *self.constants)

    def problem(self, after: Tensors) -> str | None:
        """Return a description of the error in the result, or None if the result is correct."""
        got, right = after[self.result].cpu(), self.reference(*self.make())
        if torch.equal(got, right):
            return None
        return f"{int((got != right).sum())} of {right.numel()} elements are wrong"


# -- tensors ------------------------------------------------------------------------------------
def numbers(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Return small integers in a fixed irregular order, which are exact in every type, and whose
    sums are exact in fp32."""
    return torch.from_numpy(np.arange(count) * 7919 % 101).to(dtype)


def untouched(count: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full((count,), UNTOUCHED, dtype=dtype)


def tensor(index: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(index, np.int32))


def moved(t: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Move a tensor to the device with all of its storage, keeping its offset in the storage."""
    storage = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())
    return storage.to(device).as_strided(t.shape, t.stride(), t.storage_offset())


# -- results: index -1 for an idle thread, units of `vector` elements -----------------------
def gathered(x: torch.Tensor, index: torch.Tensor, y: torch.Tensor, vector: int) -> torch.Tensor:
    """Return y with y[i] = x[index[i]]."""
    out, who = y.clone().view(-1, vector), index >= 0
    out[who] = x.view(-1, vector)[index[who].long()]
    return out.view(-1)


def scattered(index: torch.Tensor, y: torch.Tensor, vector: int) -> torch.Tensor:
    """Return y with y[index[i]] = values derived from the index."""
    out, there = y.clone().view(-1, vector), index[index >= 0].long()
    out[there] = (there[:, None] * vector + torch.arange(1, vector + 1)).to(I32).to(y.dtype)
    return out.view(-1)
