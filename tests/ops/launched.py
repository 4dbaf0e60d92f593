"""Describe the kernels that a launcher compiles."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from forgekit.ops import columns, reductions, row_launch
from forgekit.ops.calls import Call, Launch


def launcher(
    op: str, *operands: torch.Tensor, dim: int, arch: str | None, variant: str | None = None
) -> Launch | None:
    """Return the operator's launch for these operands; meta tensors count as aligned to 16
    bytes."""
    return reductions.launcher(Call.of(op, *operands, arch=arch, dim=dim, variant=variant))


def in_words(kernel: Any) -> str:
    """Describe a kernel's class and the properties of its tile that change the code, except the
    number of threads."""
    tile = getattr(kernel, "tile", None)
    words = [type(kernel).__name__]
    if tile is not None and hasattr(tile, "loads"):
        words += ["elements"] * (tile.vector == 1)
        words += [word for word in ("unaligned", "once") if getattr(tile, word, False)]
        words += ["exact"] * (getattr(tile, "whole", None) == tile.loads)
        cluster = getattr(kernel, "cluster", getattr(tile, "cluster", 1))
        words += [f"cluster {cluster}"] * (cluster > 1)
        words += ["split"] * (getattr(tile, "split", 1) > 1)
    return " ".join(words)


class Launched:
    """Records the kernels that launchers compile after its creation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kernels: list[Any] = []
        self.compiles = True
        compile = row_launch.compile

        def recorded(kernel: Any, *specs: Any, **options: Any) -> Any:
            self.kernels.append(kernel)
            return compile(kernel, *specs, **options) if self.compiles else lambda *tensors: None

        for module in (row_launch, columns):
            monkeypatch.setattr(module, "compile", recorded)

    @property
    def words(self) -> str:
        """Return all launches since the last call, in the order of compilation."""
        words = ", ".join(in_words(kernel) for kernel in self.kernels)
        self.kernels.clear()
        return words


def small_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> list[tuple[Any, ...]]:
    """Reduce the maximum size of a launch to `size`, so that the operator launches piece by
    piece."""
    divided: list[tuple[Any, ...]] = []
    monkeypatch.setattr(reductions, "PIECE", size)
    for name in ("_in_pieces", "_sum_of_pieces"):
        in_pieces = getattr(reductions, name)

        def noted(*args: Any, in_pieces: Any = in_pieces) -> Any:
            divided.append(args)
            return in_pieces(*args)

        monkeypatch.setattr(reductions, name, noted)
    return divided
