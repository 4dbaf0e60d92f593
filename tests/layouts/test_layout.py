"""Test the interface of Layout, Swizzle and ComposedLayout, and the errors for invalid
arguments."""

from __future__ import annotations

import dataclasses
import itertools

import cutlass.cute as cute
import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit import layouts as fl
from forgekit.errors import UsageError
from forgekit.layouts import ComposedLayout, Dynamic, Layout, Swizzle


def test_a_layout_is_a_function() -> None:
    layout = fk.Layout((4, (2, 2)), (1, (4, 8)))
    assert str(layout) == repr(layout) == "(4,(2,2)):(1,(4,8))"
    assert layout(9) == layout((1, 2)) == layout((1, (0, 1))) == 9
    assert (layout.size(), layout.size(1), layout.cosize()) == (16, 4, 16)
    assert (layout.rank, len(layout), layout.depth) == (2, 2, 2)
    assert (layout.mode(1), layout[1], layout.mode(1, 1)) == (
        Layout((2, 2), (4, 8)),
        Layout((2, 2), (4, 8)),
        Layout(2, 8),
    )
    assert list(layout) == [Layout(4, 1), Layout((2, 2), (4, 8))]
    assert (layout.coordinate(9), layout.index((1, (0, 1)))) == ((1, (0, 1)), 9)
    assert str(layout.flatten()) == "(4,2,2):(1,4,8)"
    assert layout((None, 3)) == Layout((4,), (1,))
    assert fl.of("(4,8,2):(1@1,1@0,1@2)")((1, 2, 1)) == (2, 1, 1)
    assert fl.of("(4,8):(1@0@1,1@0)")((1, 2)) == (2, (1,))


def test_layouts_are_values() -> None:
    assert Layout((4, 8)) == Layout([4, 8], [1, 4]) == Layout((np.int64(4), 8), (1, 4))
    assert len({Layout((4, 8)), Layout((4, 8)), Layout((4, 8), (8, 1))}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Layout(4).shape = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("shape", "stride", "says"),
    [
        ((4, 2.5), None, r"shape entry: got 2.5, needed a positive integer"),
        ((4, 0), None, "got 0"),
        ((4, True), None, "got True"),
        ("44", None, "got '44'"),
        ((4, 8), (1, "x"), "stride entry: got 'x'"),
        ((4, 8), (1, 4, 8), r"stride: got \(1,4,8\) for shape \(4,8\), needed one stride per"),
        ((4, (2, 4)), (1, 4), "nested like the shape"),
        (8, (1,), "nested like the shape"),
        ((4, Dynamic()), None, "known only at run time"),
    ],
)
def test_no_layout(shape: object, stride: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Layout(shape, stride)


@pytest.mark.parametrize("coord", [(1, 2, 3), (1,), ((1, 1), 2), 1.5, (1, "x")])
def test_no_coordinate(coord: object) -> None:
    with pytest.raises(UsageError, match="coordinate"):
        Layout((4, (2, 4)))(coord)


def test_a_mode_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"mode of \(4,8\):\(1,4\): got 2, needed 0 to 1"):
        Layout((4, 8)).mode(2)


def test_computing_with_unknown_sizes_asks_for_them() -> None:
    layout = fl.of("(?,8):(8,1)")
    assert str(layout) == "(?,8):(8,1)"
    assert layout.size(1) == 8
    computations = [
        lambda: layout((0, 1)),
        layout.size,
        layout.cosize,
        lambda: layout.coordinate(3),
        lambda: fl.coalesce(layout),
        lambda: fl.composition(layout, 4),
        lambda: fl.complement(layout, 64),
        lambda: fl.zipped_divide(layout, (2, 2)),
        lambda: fl.right_inverse(layout),
        lambda: fl.logical_product(layout, 2),
    ]
    for compute in computations:
        with pytest.raises(UsageError, match=r"known only at run time.*pass the sizes"):
            compute()


@pytest.mark.parametrize("function", [fl.complement, fl.right_inverse, fl.left_inverse])
def test_of_coordinate_layouts_only_with_integer_strides(function: object) -> None:
    with pytest.raises(UsageError, match="strides like 1@0"):
        function(fl.make_identity_layout((4, 8)))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        (lambda: fl.composition(Layout((4, 6), (6, 1)), 6), "6 is not a multiple of 4"),
        (lambda: fl.composition(Layout((4, 6)), (2, 2, 2)), "3 entries, needed at most 2"),
        (lambda: fl.composition(Layout(4), "x"), "tiler: got 'x'"),
        (lambda: fl.zipped_divide(Layout(8), 4), r"write \(4,\)"),
        (lambda: fl.zipped_divide(Layout((8, 8)), (None, 4)), "use logical_divide"),
        (lambda: fl.complement(Layout((2, 2), (1, 1))), "the 2 elements that other modes span"),
        (lambda: fl.complement(Layout(4, -1)), "the stride -1, needed positive strides"),
        (lambda: fl.left_inverse(Layout((2, 2), (2, 3))), "stride 3, not a positive multiple of 2"),
        (lambda: fl.raked_product(Layout(3), Layout((5,))), r"Layout\(\(4,\)\)"),
        (lambda: fl.blocked_product(Layout(3), 5), "tiler: got 5, needed a Layout"),
        (lambda: fl.coalesce(Layout((4, 8)), (1, 1, 1)), "no more entries than modes"),
        (lambda: fl.group_modes(Layout((4, 8)), 1, 1), "begin < end"),
        (lambda: Swizzle(3, 4, 2), "overlap"),
        (lambda: Swizzle(3, -1, 3), "must not be negative"),
        (lambda: Swizzle(10, 12, 13), "beyond 32 bits"),
        (lambda: Swizzle(1.5, 0, 3), "not an integer"),  # type: ignore[arg-type]
        (lambda: ComposedLayout(Layout(4), 0, 4), "a Layout as outer"),  # type: ignore[arg-type]
    ],
)
def test_refused(compute: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        compute()  # type: ignore[operator]


@pytest.mark.parametrize("swizzle", [Swizzle(3, 4, 3), Swizzle(2, 0, -3), Swizzle(0, 0, 0)])
def test_a_swizzle_permutes(swizzle: Swizzle) -> None:
    assert sorted(map(swizzle, range(4096))) == list(range(4096))
    assert [swizzle(swizzle(i)) for i in range(4096)] == list(range(4096))
    assert str(Swizzle(0, 7, 2)) == "S<0,4,3>"  # CuTe prints all identity swizzles alike


def test_a_slice_of_a_swizzled_layout_keeps_its_place() -> None:
    layout = ComposedLayout(Swizzle(2, 0, 3), 5, Layout((8, 16), (16, 1)))
    row = layout((3, None))
    assert [row(i) for i in range(16)] == [layout((3, i)) for i in range(16)]
    assert str(layout) == "S<2,0,3> o 5 o (8,16):(16,1)"


def test_a_layout_of_two_layouts() -> None:
    layout = ComposedLayout(Layout((8, 8), (8, 1)), (1, 0), fl.make_identity_layout((4, 4)))
    assert layout((2, 3)) == 27
    with pytest.raises(UsageError, match="cosize of"):
        layout.cosize()


def test_thread_value_layout_covers_the_tile_once() -> None:
    tiler, layout_tv = fl.make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 4), (4, 1)))
    assert (tiler, str(layout_tv)) == ((8, 32), "((8,4),(4,2)):((32,2),(8,1))")
    reached = [layout_tv(tv) for tv in itertools.product(range(32), range(8))]
    assert sorted(reached) == list(range(256))


def test_layouts_leave_a_jit_function_as_ours() -> None:
    ended = []

    @cute.jit
    def make() -> object:
        layout = cute.make_layout((4, 8), stride=(8, 1))
        ended.append(layout)
        assert str(Layout.of((layout.shape, layout.stride))) == "(4,8):(8,1)"
        assert str(fl.of(cute.make_identity_tensor((4, 8)))) == "(4,8):(1@0,1@1)"
        strides = cute.make_identity_layout((4, 8)).stride
        assert str(fl.of(((4, 8), strides))) == "(4,8):(1@0,1@1)"
        return Layout.of(layout)

    assert make() == Layout((4, 8), (8, 1))
    with pytest.raises(UsageError, match="has ended"):  # printing it would crash Python
        Layout.of(ended[0])


def test_of_other_things() -> None:
    assert Layout.of(torch.zeros(4, 8)) == Layout((4, 8), (8, 1))
    assert Layout.of(8) == Layout(8)
    assert Layout.of(Layout(8)) == Layout(8)
    for bad in (2.5, object(), (1, 2, 3), cute.make_layout, cute):
        with pytest.raises(UsageError, match="needed a layout"):
            Layout.of(bad)
