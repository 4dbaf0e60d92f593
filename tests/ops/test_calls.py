"""Test that the views of fold() address the same elements for any shapes and strides, or that
fold() returns None."""

from __future__ import annotations

import itertools

import pytest
import torch

from forgekit.ops.calls import View, contiguous_strides, fold


def addresses(shape: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """Return the address of every element, in elements."""
    memory = torch.arange(1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)))
    return memory.as_strided(shape, strides)


def check(shape: tuple[int, ...], strides: list[tuple[int, ...]], dim: int) -> bool:
    """Check that every operand of the view has the same elements in the same positions; return
    False if there is no view."""
    view = fold(shape, strides, dim)
    if view is None:
        return False
    sizes = (view.outer, view.reduced, view.inner)
    assert len(view.strides) == len(strides)
    for steps, own in zip(view.strides, strides, strict=True):
        expected = addresses(shape, own).reshape(sizes)
        assert torch.equal(addresses(sizes, steps), expected)
        assert all(step == 0 for size, step in zip(sizes, steps, strict=True) if size == 1)
    return True


@pytest.mark.parametrize("shape", [(6,), (1,), (4, 5), (1, 7), (3, 4, 5), (2, 1, 3, 4), (1, 1, 1)])
def test_contiguous_tensors_fold(shape: tuple[int, ...]) -> None:
    strides = contiguous_strides(shape)
    assert strides == torch.empty(shape).stride()
    for dim in range(len(shape)):
        assert check(shape, [strides], dim)
        assert check(shape, [strides, strides, strides], dim)


def test_any_strides() -> None:
    """Some of these strides can be folded; their views are correct."""
    folded = [
        check((2, 3, 4), [steps], dim)
        for steps in itertools.product((0, 1, 3, 4, 12), repeat=3)
        for dim in range(3)
    ]
    assert 0 < sum(folded) < len(folded)


def test_what_does_and_does_not_fold() -> None:
    assert fold((2, 3, 4), [(12, 4, 1)], 2) == View(6, 4, 1, ((4, 1, 0),))
    assert fold((2, 3, 4), [(12, 4, 1)], 0) == View(1, 2, 12, ((0, 12, 1),))
    assert fold((2, 3, 4), [(12, 4, 1)], 1) == View(2, 3, 4, ((12, 4, 1),))
    assert fold((2, 3, 4), [(24, 4, 1)], 2) is None  # a gap between matrices
    assert fold((2, 3, 4), [(24, 4, 1)], 1) is not None
    assert fold((2, 1, 4), [(24, 99, 1)], 2) == View(2, 4, 1, ((24, 1, 0),))
    assert fold((5, 4), [(0, 0)], 1) == View(5, 4, 1, ((0, 0, 0),))
    assert fold((5, 1), [(1, 7)], 1) == View(5, 1, 1, ((1, 0, 0),))


def test_all_operands_have_to_fold() -> None:
    whole, gap = (12, 4, 1), (24, 4, 1)
    assert fold((2, 3, 4), [whole, gap], 2) is None
    assert fold((2, 3, 4), [gap, whole], 2) is None
    assert check((2, 3, 4), [whole, gap, (3, 1, 6)], 1)
    assert not check((2, 3, 4), [whole, (3, 1, 6)], 0)


def test_strides_of_empty_tensors() -> None:
    for shape in ((0,), (3, 0), (0, 3), (2, 0, 3), ()):
        assert contiguous_strides(shape) == torch.empty(shape).stride()
