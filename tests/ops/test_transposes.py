"""Test the choice of the kernel for each tensor."""

from __future__ import annotations

import pytest

from forgekit.ops.transposes import Choice, choose

BIG = 8192


@pytest.mark.parametrize(
    ("shape", "stride", "itemsize", "expected"),
    [
        ((BIG, BIG), (BIG, 1), 2, Choice("vector", (128, 128), 8)),
        ((BIG, BIG), (BIG, 1), 4, Choice("vector", (64, 64), 4)),
        ((256, 256), (256, 1), 2, Choice("vector", (32, 32), 4)),
        ((1024, 1024), (1024, 1), 2, Choice("vector", (64, 64), 8)),
        ((256, 256), (256, 1), 8, Choice("vector", (16, 16), 2)),
        ((40, 10**6), (10**6, 1), 2, Choice("vector", (64, 128), 8)),
        ((10**6, 64), (64, 1), 2, Choice("vector", (128, 64), 8)),
        ((10**6, 8), (8, 1), 4, Choice("vector", (64, 8), 4)),
        ((10**6, 64), (64, 1), 1, Choice("vector", (256, 64), 8)),
        ((10**6, 28), (28, 1), 2, Choice("vector", (32, 32), 4)),
        ((1000, 64), (64, 1), 2, Choice("vector", (32, 32), 4)),
        ((16, 10**6), (10**6, 1), 2, Choice("vector", (16, 128), 8)),
        ((16, 1000), (1000, 1), 2, Choice("flat")),
        ((16, 10**6 + 1), (10**6 + 1, 1), 2, Choice("flat")),
        ((8, 10**6), (10**6, 1), 2, Choice("flat")),
        ((BIG, BIG), (1, BIG), 2, Choice("flat", vector=8, view="line")),
        ((BIG, BIG), (1, BIG + 8), 2, Choice("flat", vector=8)),
        ((BIG, BIG), (1, BIG + 3), 2, Choice("flat")),
        ((BIG, BIG), (0, 1), 2, Choice("flat")),
        ((1, 99), (99, 1), 4, Choice("flat", vector=4, view="row")),
        ((99, 1), (3, 1), 4, Choice("flat")),
        ((3, BIG), (BIG, 1), 4, Choice("flat")),
        ((BIG, BIG), (2 * BIG, 2), 4, Choice("gather", (32, 128), 1, False, False)),
    ],
)
def test_choices(
    shape: tuple[int, int], stride: tuple[int, int], itemsize: int, expected: Choice
) -> None:
    assert choose(shape, stride, 0, itemsize) == expected


def test_odd_sizes_and_addresses_gather() -> None:
    odd = choose((8191, 8193), (8193, 1), 0, 2)
    assert (odd.kernel, odd.contiguous, odd.shifted) == ("gather", True, True)
    misaligned = choose((BIG, BIG), (BIG, 1), 2, 2)
    assert (misaligned.kernel, misaligned.shifted) == ("gather", False)


@pytest.mark.parametrize("tile", [16, 32, 64])
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_a_tile_is_obeyed(tile: int, itemsize: int) -> None:
    for shape in ((BIG, BIG), (8191, 8193)):
        assert choose(shape, (shape[1], 1), 0, itemsize, tile).tile == (tile, tile)


def test_rows_of_y_are_shifted_where_they_do_not_begin_at_sectors() -> None:
    for rows, itemsize, shifted in ((40, 4, False), (36, 4, True), (48, 2, False), (40, 2, True)):
        found = choose((rows, 33), (33, 1), 0, itemsize)
        assert (found.kernel, found.shifted) == ("gather", shifted), (rows, itemsize)
