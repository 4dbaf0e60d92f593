"""Which blocks of a large launch run where it is only to be counted, and how many each stands for.

The first and the last cluster of blocks stand for themselves. The others are cut into equal runs,
of which one cluster each is drawn and stands for its run (stratified sampling). Two halves, drawn
alternately, tell how far samples disagree. Some neighbours run too and stand for nothing: they show
what blocks that run at the same time share.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from forgekit.vgpu.launch_record import LaunchRecord

NEIGHBOURS = 16  # blocks
FEWEST = 8  # blocks of a sample


class Part(NamedTuple):
    """Blocks that run as one batch or more.

    name: "all", "ends", "even", "odd" or "neighbours". blocks: their numbers, ascending. weight:
    how many blocks of the launch each of them stands for; 0 for neighbours.
    """

    name: str
    blocks: Sequence[int]
    weight: float


def parts(record: LaunchRecord, most: int | None) -> list[Part]:
    """What of a launch to run; most: blocks to be counted, at least FEWEST; None for all.

    A launch with few more blocks than that runs whole, as does one whose blocks wait for each
    other.
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
