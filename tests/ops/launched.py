"""Which kernels a launcher compiles, in words."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

from forgekit.ops import launching, reduce_launch, softmax_launch

__all__ = ["Launched", "address", "lent", "small_pieces"]


def address(x: torch.Tensor) -> int:
    return x.data_ptr() % 16


def in_words(kernel: Any) -> str:
    """Class of a kernel and what of its tile decides on other code; not how many threads."""
    tile = getattr(kernel, "tile", None)
    words = [type(kernel).__name__]
    if tile is not None and hasattr(tile, "loads"):
        words += ["elements"] * (tile.vector == 1)
        words += [word for word in ("edges", "once") if getattr(tile, word, False)]
        words += ["exact"] * (getattr(tile, "whole", None) == tile.loads)
        cluster = getattr(kernel, "cluster", getattr(tile, "cluster", 1))
        words += [f"cluster {cluster}"] * (cluster > 1)
        words += ["split"] * (getattr(tile, "split", 1) > 1)
    return " ".join(words)


class Launched:
    """The kernels that launchers compile from now on, and nothing that `forgekit tune` found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kernels: list[Any] = []
        for module in (reduce_launch, softmax_launch):
            self._record(monkeypatch, module)
            monkeypatch.setattr(module, "tuned_rows", lambda *args: None)
        self.forget()

    def _record(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
        compile = module.compile  # type: ignore[attr-defined]

        def recorded(kernel: Any, *specs: Any, **options: Any) -> Any:
            self.kernels.append(kernel)
            return compile(kernel, *specs, **options)

        monkeypatch.setattr(module, "compile", recorded)

    def forget(self) -> None:
        """Let launchers be made anew."""
        self.kernels.clear()
        for made in (reduce_launch.launcher, softmax_launch.launcher,
                     softmax_launch.backward_launcher):  # fmt: skip
            made.cache_clear()

    def only_plan(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on note what would be compiled, and compile nothing."""

        def noted(kernel: Any, *specs: Any, **options: Any) -> Any:
            self.kernels.append(kernel)
            return lambda *tensors: None

        for module in (reduce_launch, softmax_launch):
            monkeypatch.setattr(module, "compile", noted)

    @property
    def words(self) -> str:
        """Of all since the last look, in the order of compilation."""
        told = ", ".join(in_words(kernel) for kernel in self.kernels)
        self.forget()
        return told


def lent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Launched]:
    """For a fixture: afterwards nothing is left of what was recorded."""
    launched = Launched(monkeypatch)
    yield launched
    launched.forget()


def small_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> list[tuple[Any, ...]]:
    """As if a kernel could count to no more than `size`; what is launched piece by piece."""
    assert launching.PIECE == reduce_launch.PIECE == softmax_launch.PIECE
    divided: list[tuple[Any, ...]] = []
    for module in (reduce_launch, softmax_launch):
        monkeypatch.setattr(module, "PIECE", size)
        _note_pieces(monkeypatch, module, divided)
    return divided


def _note_pieces(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, divided: list[tuple[Any, ...]]
) -> None:
    in_pieces = module._in_pieces  # type: ignore[attr-defined]

    def noted(*args: Any) -> Any:
        divided.append(args)
        return in_pieces(*args)

    monkeypatch.setattr(module, "_in_pieces", noted)
