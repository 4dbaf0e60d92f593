"""Test that every operation returns CuTe DSL's result in the same form, or raises if CuTe DSL
raises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import cutlass.cute as cute
import pytest

from forgekit import layouts as fl
from forgekit.errors import UsageError
from forgekit.layouts.tuples import flat
from tests.layouts.cute_oracle import answer, cute_context, printed, to_cute
from tests.layouts.generate import Choices

EXAMPLES = 400  # random examples, the same in every test run
AGREED: Counter[str] = Counter()  # by operation: comparisons in which both return the same layout
REFUSED: Counter[str] = Counter()  # by operation: comparisons in which both raise


@pytest.fixture(scope="module", autouse=True)
def context() -> Iterator[None]:
    with cute_context():
        yield


@pytest.fixture(scope="module", autouse=True)
def report(context: None) -> Iterator[None]:
    yield
    for name in sorted(AGREED):
        print(f"{name:22} {AGREED[name]:6} agreed  {REFUSED[name]:6} refused by both")


def compare(name: str, *args: Any, theirs: Callable[..., Any] | None = None) -> None:
    """Check that forgekit's and CuTe's functions of this name return the same text, or that both
    raise."""
    ours: Callable[..., Any] = getattr(fl, name)
    try:
        mine = printed(ours(*args))
    except UsageError as error:
        mine = "raises"
        if "complement of" in str(error):
            # For these layouts, CuTe continues with sizes of 0 and may divide by them, which would
            # end this process. test_complement checks that forgekit's error is right.
            return
    expected = answer(theirs or getattr(cute, name), *args)
    assert mine == expected, f"{name}{args}: {mine}, CuTe: {expected}"
    (REFUSED if mine == "raises" else AGREED)[name] += 1


def enough(*names: str, least: int = EXAMPLES // 2) -> None:
    for name in names:
        assert AGREED[name] >= least, f"{name} was compared {AGREED[name]} times only"


def test_of_one_layout() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        layout = draw.layout(negative=True)
        for name in ("size", "cosize", "coalesce", "filter_zeros"):
            compare(name, layout)
        compare("right_inverse", layout)
        compare("left_inverse", layout)
        if isinstance(layout.shape, tuple):
            by_mode = (1,) * (1 + draw.below(layout.rank))
            compare("coalesce", layout, by_mode, theirs=_coalesce_by_mode)
            begin = draw.below(layout.rank)
            compare("group_modes", layout, begin, begin + 1 + draw.below(layout.rank - begin))
            compare("group_modes", layout, begin - layout.rank)
            modes = list(draw.permutation(layout.rank))
            assert str(fl.select(layout, modes)) == str(cute.select(to_cute(layout), modes))
        other = to_cute(layout)
        assert str(layout.flatten()) == str(cute.flatten(other))
        assert str(fl.of(other)) == str(layout) == str(other)
        assert (layout.rank, layout.depth) == (cute.rank(other), cute.depth(other))
    enough("coalesce", "filter_zeros", "right_inverse", "left_inverse")


def _coalesce_by_mode(layout: Any, profile: tuple[int, ...]) -> Any:
    return cute.coalesce(layout, target_profile=profile)


def test_offset_and_slice() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        layout = draw.layout(negative=True)
        other = to_cute(layout)
        for _ in range(3):
            coord = draw.coordinate(layout.shape)
            assert layout(coord) == other(coord), (layout, coord)
            AGREED["layout(coord)"] += 1
        index = draw.below(layout.size() + 1)
        expected = cute.idx2crd(index, layout.shape)
        assert layout.coordinate(index) == expected, (layout, index)
        assert layout.index(expected) == cute.crd2idx(expected, layout.shape)
        AGREED["index, coordinate"] += 1
        wanted = draw.coordinate(layout.shape, slicing=True)
        sliced, offset = fl.slice_and_offset(layout, wanted)
        their_slice, their_offset = cute.slice_and_offset(wanted, other)
        assert (str(sliced), offset) == (str(their_slice), their_offset), (layout, wanted)
        AGREED["slice_and_offset"] += 1


def test_of_coordinate_layouts() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        identity = fl.make_identity_layout(draw.shape())
        compare("composition", identity, draw.layout(depth=1))
        compare("zipped_divide", identity, draw.tiler(identity, integers=False))
        compare("cosize", identity)
        compare("coalesce", identity)
        coord = draw.coordinate(identity.shape, beyond=1)
        assert identity(coord) == to_cute(identity)(coord), (identity, coord)
        AGREED["identity(coord)"] += 1
        compare("composition", draw.layout(), identity)


def test_making() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        shape = draw.shape()
        compare("make_layout", shape)
        compare("make_identity_layout", shape)
        compare("make_layout_tv", fl.Layout(draw.shape(1)), draw.layout(depth=1))
    enough("make_layout_tv")


def test_composition() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        layout = draw.layout(negative=True)
        compare("composition", layout, draw.layout(depth=1, negative=True))
        compare("composition", layout, draw.tiler(layout))
    enough("composition", least=EXAMPLES)


@pytest.mark.parametrize(
    ("layout", "tile", "result"),
    [
        (((4, 6), (6, 1)), (4, 3), "(2,2):(18,1)"),  # not a true composition, but CuTe's result
        (((6, 2), (2, 16)), (8, 4), "8:8"),  # merged, because the composition reaches the last mode
        # not merged, because the composition does not reach the last mode
        (((5, 4, 12), (1, 6, 48)), (6, 3), "(2,3):(3,6)"),
        (((1, 1), (6, 3)), (2, 3), "2:9"),  # a last mode of size 1 is extended
    ],
)
def test_odd_compositions(layout: Any, tile: Any, result: str) -> None:
    a, b = fl.Layout(*layout), fl.Layout(*tile)
    assert str(fl.composition(a, b)) == result == answer(cute.composition, a, b)


def test_complement() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        layout = draw.layout()
        for target in (1 + draw.below(200), draw.shape(), draw.layout()):
            try:
                mine = str(fl.complement(layout, target))
            except UsageError:
                # No complement exists: CuTe returns a layout with a mode of size 0.
                other = cute.complement(to_cute(layout), to_cute(target))
                assert 0 in flat(other.shape), (layout, target, str(other))
                REFUSED["complement"] += 1
            else:
                assert mine == answer(cute.complement, layout, target), (layout, target)
                AGREED["complement"] += 1
    enough("complement", least=EXAMPLES)


def test_divides() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        layout = draw.layout(negative=True)
        tiler = draw.tiler(layout)
        for name in ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"):
            compare(name, layout, tiler)
    enough("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")


def test_products() -> None:
    names = [f"{name}_product" for name in ("zipped", "tiled", "flat", "blocked", "raked")]

    for draw in map(Choices, range(EXAMPLES)):
        block, tiler = draw.layout(), draw.layout(depth=1)
        compare("logical_product", block, tiler)
        compare("logical_product", block, draw.tiler(block))
        for name in names:
            compare(name, block, tiler)
    enough("logical_product", *names)


def test_swizzled() -> None:
    for draw in map(Choices, range(EXAMPLES)):
        swizzle, outer = draw.swizzle(), draw.layout()
        layout = fl.ComposedLayout(swizzle, draw.below(40), outer)
        other = to_cute(layout)
        assert (layout.size(), layout.cosize()) == (cute.size(other), cute.cosize(other))
        assert fl.of(other) == layout
        for _ in range(3):
            coord = draw.coordinate(outer.shape, beyond=1)
            assert layout(coord) == other(coord), (layout, coord)
            AGREED["swizzled(coord)"] += 1
        tiler = draw.tiler(outer, integers=False)
        for name in ("zipped_divide", "composition"):
            try:
                mine = getattr(fl, name)(layout, tiler)
            except UsageError:
                continue
            assert mine == fl.of(getattr(cute, name)(other, to_cute(tiler))), (layout, tiler)
            AGREED[f"swizzled {name}"] += 1
    enough("swizzled(coord)", "swizzled zipped_divide", "swizzled composition")
