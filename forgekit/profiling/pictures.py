"""Draw the memory accesses of one line in a profile, with their sectors and banks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forgekit.errors import brief, usage_error
from forgekit.profiling.profile_data import ProfileData
from forgekit.profiling.profiled_lines import ProfiledLine
from forgekit.show import Shown
from forgekit.tracing.banks import banks
from forgekit.tracing.coalescing import coalescing
from forgekit.tracing.source_lines import is_meant
from forgekit.tracing.warp_access import WarpAccesses


@dataclass(frozen=True, repr=False)
class Pictures(Shown):
    """Several pictures, shown one below the other. Iteration yields the pictures, which have the
    attributes `figure` and `summary`.
    """

    all: tuple[WarpAccesses, ...]

    def __iter__(self) -> Iterator[WarpAccesses]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def summary(self) -> str:
        return "\n\n".join(picture.summary for picture in self.all)


def show(
    profile: ProfileData, line: int | str | ProfiledLine | None, options: dict[str, Any]
) -> Pictures:
    """Implement `Profile.show`."""
    if profile.call is None:
        remedy = "use fk.profile(kernel, *args)"
        raise usage_error("profile", "the profile of a script", "a profile of a call", remedy)
    lines = [x for x in profile.lines if x.accesses]
    known = ", ".join(str(x.number) for x in lines) or "(none)"
    if line is None:
        if profile.worst is None:
            needed = "a line, because none stands out"
            raise usage_error("line", "none", needed, f"name one of {known}")
        line = profile.worst.line
    chosen = next((x for x in lines if is_meant(line, x.source)), None)
    if chosen is None:
        got = line.where if isinstance(line, ProfiledLine) else brief(line)
        needed = f"a line of the profile with memory accesses: {known}"
        raise usage_error("line", got, needed, "choose one of these")
    kernel, args = profile.call
    pictures: list[WarpAccesses] = []
    for space, draw in (("global", coalescing), ("shared", banks)):
        if any(kind.startswith(space) for kind in chosen.accesses):
            pictures.append(draw(kernel, *args, line=chosen.source, **options))
    return Pictures(tuple(pictures))
