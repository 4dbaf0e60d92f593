"""Which operators PyTorch's dispatcher saw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "permuted": lambda x: x.permute(2, 0, 1),
    "every second": lambda x: x[:, :, ::2],
    "part": lambda x: x[1:, 1:, 3:],
    "repeated": lambda x: x[:, :1].expand(-1, 6, -1),
    "no common stride": lambda x: x[:, :3],
    "one number": lambda x: x[1, 2, 3].expand(3, 2, 4),
}


def dispatched(call: Callable[[], object]) -> set[str]:
    """The forgekit operators that a profiler sees PyTorch's dispatcher call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        call()
    return {event.name for event in profiled.events() if event.name.startswith("forgekit::")}


class Seen(TorchDispatchMode):
    """A mode that notes the operators it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))
