"""Animate the used and unused bytes that kernels move between memory and a multiprocessor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.profiling.profile import Profile
from forgekit.viz.ideas.idea import Idea
from forgekit.viz.palette import WRONG
from forgekit.viz.timing.style import SERIES

_SECTOR = 32
_FRAMES = 24  # accesses per kernel in the animation


@checked()
def traffic_film(profiles: Mapping[str, Profile]) -> Idea:
    """Show the bytes that warps request, and the sectors that memory moves to serve the requests,
    for one or two kernels.

    profiles: maps a name to a result of `fk.profile`, for one or two kernels. The animation shows
    the first global accesses of block 0; the counters at its end cover the whole run.

    Raises UsageError if there are no profiles or more than two, or if a kernel does not access
    global memory.
    """
    if not 1 <= len(profiles) <= 2:
        raise usage_error(
            "profiles", f"{len(profiles)}", "one or two", "show one or two kernels at once"
        )
    films = {name: _film(name, p) for name, p in profiles.items()}
    words = "\n".join(
        f"{name}: {film['moved']:,} bytes moved, {film['used']:,} of them requested "
        f"({100 * film['used'] / film['moved']:.0f} %)" for name, film in films.items()
    )  # fmt: skip

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for y, (name, film) in enumerate(films.items()):
            axes.barh(y, film["used"], color=SERIES[0])
            axes.barh(y, film["moved"] - film["used"], left=film["used"], color=WRONG, hatch="//")
            axes.text(0, y - 0.46, f"{name}: {film['used']:,} bytes used of {film['moved']:,}")
        axes.set(yticks=[], xlabel="bytes through L2; orange: moved but not requested")
        axes.invert_yaxis()

    return Idea(
        "traffic", "Memory moves 32-byte sectors",
        "Blue: bytes that the warp requested. Orange: the rest of their sectors. The animation "
        f"shows the first {_FRAMES} accesses of block 0; the totals cover the whole run.",
        {"films": films}, words, draw, height=1.6,
    )  # fmt: skip


def _film(name: str, p: Profile) -> dict[str, Any]:
    """Return the data of a kernel's animation: for each access, the source line and the bytes used
    in each sector.
    """
    found = [a for accesses in p.first_accesses.values() for a in accesses if a.element[a.lanes[0]]]
    if not found:
        raise usage_error(f"profiles[{name!r}]", "no access to global memory",
                          "a kernel with global accesses",
                          "profile a call that accesses global memory")  # fmt: skip
    frames = []
    for a in sorted(found, key=lambda a: (a.warp, a.index))[:_FRAMES]:
        touched = (a.address[a.active][:, None] + np.arange(a.width)).ravel()
        _, used = np.unique(np.unique(touched) // _SECTOR, return_counts=True)
        line = a.source.text.strip()[:100] if a.source else ""
        frames.append({"store": "store" in a.kind, "line": line, "used": used.tolist()})
    kinds = [k for k in ("global_load", "global_store") if p.total[f"{k}_requests"]]
    both = [(int(p.total[f"{k}_bytes_moved"]), int(p.total[f"{k}_bytes_asked"])) for k in kinds]
    moved, asked = sum(m for m, _ in both), sum(min(pair) for pair in both)
    return {"frames": frames, "moved": moved, "used": asked}
