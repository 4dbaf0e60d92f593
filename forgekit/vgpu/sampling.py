"""Choose the blocks that run, and their weights, if a large launch is only counted.

The first and last clusters represent only themselves. The clusters between them are divided into
equal intervals, and a cluster drawn from each interval represents it (stratified sampling). The
intervals belong alternately to two halves of the sample, whose difference shows how much such
samples disagree. Some neighbouring blocks also run, with weight 0; they show how much data is
shared by blocks that run at the same time.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from forgekit.vgpu.launch_record import LaunchRecord

NEIGHBOURS = 16  # number of neighbouring blocks to run
FEWEST = 8  # minimum number of blocks per sample


class Part(NamedTuple):
    """Blocks that run in one or more batches.

    name: "all", "ends", "even", "odd" or "neighbours"; blocks: the numbers of the blocks, in
    ascending order; weight: the number of blocks that each block represents, 0 for neighbours.
    """

    name: str
    blocks: Sequence[int]
    weight: float


def parts(record: LaunchRecord, most: int | None) -> list[Part]:
    """Return the parts of a launch that will run.

    most: the maximum number of blocks to count, raised to FEWEST; None for all blocks. All blocks
    run if the grid has only a few more, or if the launch is cooperative.
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
