"""Exercise week0/transpose_swizzled: the same tile without conflicts and without padding."""

from __future__ import annotations

from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import Counter, clean, counted, counters, economical, looks_like, values
from forgekit.lessons.gates.asked import as_asked, stated

from ..practice import limited
from ..transposing import (
    case,
    conflicts,
    mistakes,
    race_mistakes,
    still_coalesced,
)

__all__ = ["EXERCISE"]

_SIZE = (96, 128)
_TILE_BYTES = 32 * 64 * 4
_FRUGAL = economical(case, [_SIZE, (95, 120)], waste={"threads": 1})
_ASKED = {
    "block": 256,
    "blocks": ("one block per 32 × 64 elements of X", lambda m, n: -(-m // 32) * -(-n // 64)),
}


def _one_sided(tile: Any, stored: bool) -> Any:
    """Return a tile stored with its columns XORed with its rows and read without the XOR, or the
    reverse."""
    import torch

    rows, cols = tile.shape
    r, c = torch.arange(rows)[:, None], torch.arange(cols)[None]
    at = c ^ (r % 32)
    if stored:
        placed = torch.empty_like(tile)
        placed[r.expand_as(at), at] = tile
        return placed
    return tile[r.expand_as(at), at]


def _of_tiles(x: Any, stored: bool) -> Any:
    import torch

    rows = [[_one_sided(t, stored) for t in r.split(64, 1)] for r in x.split(32, 0)]
    return torch.cat([torch.cat(r, 1) for r in rows], 0).T


_ONE_SIDE = (
    "only one side is swizzled, but a thread must read an element at the place where the kernel "
    "stored it. A swizzle in the layout of sX applies to both sides."
)


def _a_request(profile: Any) -> float:
    return float(profile.shared_load_wavefronts_per_request)


EXERCISE = Exercise(
    title="swizzle the same tile",
    task="""
Use the 32 × 64 tile again, in float32 and with no more shared memory than its 8,192 bytes. Make
`layout_s` conflict-free. (You may instead leave the layout unchanged and compute the XOR in the
indices yourself, with `^`.)
"""
    + stated(_ASKED),
    hints=(
        "The offset of element (row, column) is 64 · row + column. Write it in binary. Which bits "
        "select the bank? Which bits change from lane to lane when a warp reads a column?",
        "Bits 0 to 4 select the bank. The column now occupies bits 0 to 5, so the row begins at "
        "bit 6. XOR each bit of the bank with a bit of the row.",
        "In the marked line, combine the plain layout with `cute.make_swizzle(bits, base, shift)` "
        "by calling `cute.make_composed_layout`. How many bits select the bank, at which bit do "
        "they begin, and how many places higher does the row begin?",
    ),
    analysis="""
Bits 0 to 4 of the offset select the bank. In a tile with 64 columns, the row occupies bits 6 to 10,
so the shift is 6. The square tile's shift of 5 would XOR with bits 5 to 9. Bit 5 belongs to the
column, so only four bits of the row would reach the bank. The 32 rows would share 16 banks, and a
request would take two wavefronts.

If you write the XOR in the index, use `sX[r, c ^ r]` both to store and to read. With a 16-bit type,
bit 0 selects the element within a word, so this tile needs `make_swizzle(5, 1, 5)`. A swizzle is
specific to one tile *and* one element size.
""",
    entry="transpose_swizzled",
    groups=(
        values(
            case,
            sizes=[(64, 64), (64, 128), (7, 5), (1, 1), (33, 63), (31, 65), (1, 4200), (4200, 3), (70, 130)],
            rtol=0,
            atol=0,
            misconceptions=[
                looks_like(lambda x, y: _of_tiles(x, True), _ONE_SIDE),
                looks_like(lambda x, y: _of_tiles(x, False), _ONE_SIDE),
                *mistakes(32, 64),
            ],
            drawn=2,
            legal=limited,
        ),
        clean(case, sizes=[(33, 70)], misconceptions=race_mistakes()),
        conflicts(
            _SIZE,
            "float32",
            [
                        counted(
                            lambda p: _a_request(p) > 31,
                            "all 32 lanes still need the same bank, because no bit of the row is "
                            "XORed into bits 0 to 4 of the offset, which select the bank.",
                        ),
                        counted(
                            lambda p: _a_request(p) == 2 and p.shared_bytes <= _TILE_BYTES,
                            "two lanes share each bank, because only four bits of the row reach "
                            "the bank, and it needs five. At which bit does the row begin, now "
                            "that a row has 64 elements?",
                        ),
                        counted(
                            lambda p: _a_request(p) in (4, 8, 16) and p.shared_bytes <= _TILE_BYTES,
                            "too few bits of the row reach the bank, which needs five. Each "
                            "missing bit doubles the number of lanes per bank.",
                        ),
                    ],
            "Bank conflicts",
        ),
        counters(
            case,
            _SIZE,
            [
                Counter(
                    lambda p: p.shared_bytes, "bytes of shared memory per block", at_most=_TILE_BYTES,
                    at_least=_TILE_BYTES, ideal=_TILE_BYTES,
                    misconceptions=[
                        counted(
                            lambda p: p.shared_bytes > _TILE_BYTES,
                            "the block allocates more than one tile without padding. A swizzle "
                            "exchanges elements within the tile and needs no extra space.",
                        ),
                    ],
                )
            ],
            name="No padding",
        ),
        still_coalesced(*_SIZE),
        _FRUGAL,
        as_asked(_FRUGAL.counts, _ASKED, ("m", "n")),
    ),
    praise="The same tile has no bank conflicts now.",
)  # fmt: skip
