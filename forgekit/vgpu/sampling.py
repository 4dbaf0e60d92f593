"""Choose which blocks of a large launch run if it is only counted, and their weights.

The first and the last cluster of blocks represent themselves. The others are divided into equal
intervals, each represented by a cluster drawn from it (stratified sampling). Two halves, drawn
alternately, show how much samples disagree. Some neighbours also run, with weight 0: they show the
sharing between blocks that run at the same time.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from forgekit.vgpu.launch_record import LaunchRecord

NEIGHBOURS = 16  # blocks
FEWEST = 8  # blocks per sample


class Part(NamedTuple):
    """Blocks that run in one or more batches.

    name: "all", "ends", "even", "odd" or "neighbours". blocks: their numbers, ascending. weight:
    the number of blocks of the launch that each represents; 0 for neighbours.
    """

    name: str
    blocks: Sequence[int]
    weight: float


def parts(record: LaunchRecord, most: int | None) -> list[Part]:
    """Return the parts of a launch to run; most: blocks to count, at least FEWEST; None for all.

    A launch that has only a few more blocks runs completely, and so does one whose blocks wait for
    each other.
    """
    n_blocks, team = math.prod(record.grid), record.cluster_blocks
    teams, wanted = n_blocks // team, max((most or 0) // team, FEWEST)
    near = -(-NEIGHBOURS // team)
    if most is None or record.cooperative or teams <= wanted + near:
        return [Part("all", range(n_blocks), 1.0)]
    middle = (wanted - 2) // 2 * 2
    draw = random.Random(n_blocks)  # the same sample in every run
    edges = [1 + (teams - 2) * k // middle for k in range(middle + 1)]
    drawn = [draw.randrange(a, b) for a, b in itertools.pairwise(edges)]
    first = draw.randrange(teams - near)
    weight = (teams - 2) / middle
    return [
        Part("ends", _blocks([0, teams - 1], team), 1.0),
        Part("even", _blocks(drawn[::2], team), weight),
        Part("odd", _blocks(drawn[1::2], team), weight),
        Part("neighbours", range(first * team, (first + near) * team), 0.0),
    ]


def _blocks(teams: Sequence[int], size: int) -> tuple[int, ...]:
    return tuple(t * size + k for t in teams for k in range(size))
