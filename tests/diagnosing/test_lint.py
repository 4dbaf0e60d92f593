"""Test that the linter finds mistakes that compile, at their lines, and accepts code that may be
right."""

from __future__ import annotations

import pytest

pytest.importorskip("cutlass")

import cutlass
import cutlass.cute as cute

from forgekit.diagnosing.lint import find_mistakes


def tuples(cX: cute.Tensor, shape: cute.Shape):
    tXpX = cute.make_rmem_tensor((4,), cutlass.Boolean)
    tXpX[0] = cX[0, 0] < shape


def whole_shape(mX: cute.Tensor, coord):
    return coord <= mX.shape


def never_filled(atom, tXgX: cute.Tensor, tXgY: cute.Tensor):
    tXpX = cute.make_rmem_tensor((4,), cutlass.Boolean)
    tXrY = cute.make_rmem_tensor_like(tXgX)
    cute.copy(atom, tXgX, tXgY, pred=tXpX)
    tXgY.store(tXrY.load().to(tXrY.element_type))


def beyond(mX: cute.Tensor):
    rX = cute.make_rmem_tensor(16, cutlass.Float32)
    rY = cute.make_rmem_tensor(2, cutlass.Float32)
    if mX.shape[0] > 2:
        for k in cutlass.range_constexpr(32):
            rX[k] = mX[k]
    rY[2] = rX[0]
    mX[0] = rY[0]


def within(mX: cute.Tensor, n: cutlass.Constexpr):
    rX = cute.make_rmem_tensor(16, cutlass.Float32)
    rX.fill(0)
    for k in cutlass.range_constexpr(32):
        if cutlass.const_expr(k < 16):
            rX[k] = mX[k]
        mX[k] = rX[k // 2]
    for k in cutlass.range_constexpr(n):
        mX[k] = rX[k]
    mX[0] = sum([rX[k] for k in range(16)])


def right(atom, mX: cute.Tensor, tXgX: cute.Tensor, shape: cute.Shape, i):
    by_index = cute.make_rmem_tensor((4,), cutlass.Boolean)
    by_copy = cute.make_rmem_tensor_like(tXgX)
    filled = cute.make_rmem_tensor((4,), cutlass.Boolean)
    stored = cute.make_rmem_tensor((4,), cutlass.Float32)
    viewed = cute.make_rmem_tensor((4, 2), cutlass.Float32)
    handed = cute.make_rmem_tensor((4,), cutlass.Float32)
    unused = cute.make_rmem_tensor((4,), cutlass.Float32)  # noqa: F841
    filled.fill(True)
    for k in range(4):
        by_index[k] = i < mX.shape[0] and i < shape[1] and cute.elem_less((i, k), shape)
    cute.copy(atom, tXgX, by_copy, pred=by_index)
    stored.store(by_copy.load())
    viewed[None, 0].store(stored.load())
    right(atom, handed, tXgX, shape, i)
    return viewed[0, 0] + handed[0] + filled[0]


def test_tuples_compared_are_found_with_their_line_and_the_cure():
    (found,) = find_mistakes(tuples)
    line = tuples.__code__.co_firstlineno + 2
    assert found.startswith(f"test_lint.py, line {line}: `<` compares tuples from the left")
    assert "`cute.elem_less(cX[0, 0], shape)`" in found
    assert "cute.elem_less(coord, mX.shape)" in find_mistakes(whole_shape)[0]


def test_registers_that_nothing_is_stored_in_are_found():
    found = find_mistakes(never_filled)
    assert [text.rpartition("`, so")[0].rpartition("`")[2] for text in found] == ["tXpX", "tXrY"]


def test_indices_beyond_a_register_tensor_are_found():
    one, two = find_mistakes(beyond)
    assert "`rX` has 16 elements, but the index reaches 31" in one
    assert "`rY` has 2 elements, but the index reaches 2" in two


@pytest.mark.parametrize("fn", [right, within])
def test_nothing_is_said_of_what_may_be_right(fn):
    assert find_mistakes(fn) == []
