"""Draw the online softmax of a few numbers, which the reader can drag: the maximum, the sum, the
factors and the reduction tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from matplotlib.figure import Figure

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.viz.ideas.idea import Idea
from forgekit.viz.palette import UNTOUCHED
from forgekit.viz.timing.style import SERIES

_MOST, _LEAF = 64, 8


@checked()
def online_softmax(values: Sequence[float] | torch.Tensor) -> Idea:
    """Show how m, the maximum so far, and s, the sum of exp(x - m) so far, change along a row.

    values: up to 64 finite numbers, such as the first values in a row of a kernel's input.

    Raises UsageError if there are no values or more than 64, or if a value is not finite.
    """
    row = [float(v) for v in values]
    if not 0 < len(row) <= _MOST or not all(map(math.isfinite, row)):
        raise usage_error("values", f"{len(row)} numbers", f"1 to {_MOST} finite numbers",
                          "use part of a row")  # fmt: skip
    pairs = [pair for pair, _ in steps(row)]
    grew = [k for k, (_, factor) in enumerate(steps(row)) if k and factor != 1]
    words = "\n".join([
        f"{len(row)} numbers; the maximum grows at {', '.join(map(str, grew)) or 'no position'}",
        *(f"number {k}: m grows from {pairs[k - 1][0]:.3g} to {pairs[k][0]:.3g}, and the sum "
          f"{pairs[k - 1][1]:.4g} is multiplied by {steps(row)[k][1]:.3g}" for k in grew),
        f"at the end m = {pairs[-1][0]:.4g} and s = {pairs[-1][1]:.5g}",
    ])  # fmt: skip

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True)
        top.plot(row, "o", ms=4, color=SERIES[0], label="x")
        top.step(range(len(row)), [m for m, _ in pairs], where="post", color=SERIES[4], label="m")
        bottom.bar(range(len(row)), [s for _, s in pairs], color=SERIES[1], label="s")
        for k in grew:
            bottom.plot(k, pairs[k - 1][1], "v", ms=5, color=UNTOUCHED)
        top.legend(loc="lower right", ncols=2)
        bottom.set(xlabel="number", ylabel="s")

    return Idea(
        "online", "The sum is rescaled when the maximum grows",
        "Computed in float32. Outlined: the sum before it was multiplied by the factor above it.",
        {"values": row, "leaf": _LEAF}, words, draw, height=3.2,
    )  # fmt: skip


def steps(row: Sequence[float]) -> list[tuple[tuple[float, float], float]]:
    """Return the pair (m, s) after each number, and the factor that rescaled the previous sum."""
    found: list[tuple[tuple[float, float], float]] = []
    m, s = -math.inf, 0.0
    for x in row:
        larger = max(m, x)
        factor = math.exp(m - larger)
        s = s * factor + math.exp(x - larger)
        m = larger
        found.append(((m, s), factor))
    return found
