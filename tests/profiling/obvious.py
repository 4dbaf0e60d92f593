"""What an access costs, counted slowly and obviously, one warp at a time, in plain Python.

A warp is a list of 32 addresses, None for a lane that stays out. Each function returns (units,
ideal units); those of cp.async two such pairs, for global and for shared memory.
"""

from __future__ import annotations

from collections import Counter

LANES = 32


def sectors(warp, width):
    there = [a for a in warp if a is not None]
    return len({a // 32 for a in there}), -(-len(set(there)) * width // 32)


def atomic_sectors(warp, width):
    most: dict[int, int] = {}
    for a, n in Counter(a for a in warp if a is not None).items():
        most[a // 32] = max(most.get(a // 32, 0), n)
    return sum(most.values()), sectors(warp, width)[1]


def fullest(part, width, *, shared=True):
    words = [a // 4 + k for a in part if a is not None for k in range(max(width // 4, 1))]
    return max(Counter(w % 32 for w in (set(words) if shared else words)).values(), default=0)


def served(warp, width, parts, *, shared=True):
    step = LANES // parts
    cut = [warp[i : i + step] for i in range(0, LANES, step)]
    busy = [part for part in cut if any(a is not None for a in part)]
    return sum(fullest(part, width, shared=shared) for part in busy), len(busy)


def store_wavefronts(warp, width):
    return served(warp, width, max(width // 4, 1))


def load_wavefronts(warp, width):
    parts = max(width // 4, 1)
    twins = any(
        all(None in (warp[i], warp[i ^ x]) or warp[i] == warp[i ^ x] for i in range(LANES))
        for x in (1, 2)
    )
    return served(warp, width, parts // 2 if parts > 1 and twins else parts)


def atomic_wavefronts(warp, width):
    return served(warp, width, max(width // 4, 1), shared=False)


OBVIOUS = {
    "global_load": sectors, "global_store": sectors, "global_atomic": atomic_sectors,
    "global_reduction": atomic_sectors, "shared_load": load_wavefronts,
    "shared_store": store_wavefronts, "shared_atomic": atomic_wavefronts,
}  # fmt: skip


def through_l1(source, target, width):
    step = LANES // max(width // 4, 1)
    units = ideal = 0
    for i in range(0, LANES, step):
        sides = [fullest(side[i : i + step], width, shared=False) for side in (source, target)]
        units += max(sides)
        ideal += max(sides) > 0
    return sectors(source, width), (units, ideal)


def past_l1(source, target, width):
    copies = [(s, t) for s, t in zip(source, target, strict=True) if s is not None]
    pieces: dict[tuple, set] = {}
    for s, t in copies:
        pieces.setdefault((s // 32, t // 32, (s // 16 + t // 16) % 2), set()).add(s // 16 % 2)
    trips = {
        (s // 4, t // 4, t - s, shift, tuple(halves)) for (s, t, shift), halves in pieces.items()
    }
    ideal = -(-len(copies) * width // 128)
    return (len(pieces), sectors(source, width)[1]), (len(trips), ideal)
