"""The pictures of one line of a profile: which sectors its accesses move, which banks they use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.errors import brief, usage_error
from forgekit.profiling.profiled_lines import ProfiledLine
from forgekit.show import Shown
from forgekit.tracing.banks import banks
from forgekit.tracing.coalescing import coalescing
from forgekit.tracing.warp_access import WarpAccesses

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile


@dataclass(frozen=True, repr=False)
class Pictures(Shown):
    """Pictures one under the other; iterate for each, which has `figure` and `summary`."""

    all: tuple[WarpAccesses, ...]

    def __iter__(self) -> Iterator[WarpAccesses]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def summary(self) -> str:
        return "\n\n".join(picture.summary for picture in self.all)


def show(
    profile: Profile, line: int | str | ProfiledLine | None, options: dict[str, Any]
) -> Pictures:
    """See `Profile.show`."""
    if profile.call is None:
        remedy = "use fk.profile(kernel, *args)"
        raise usage_error("profile", "that of a script", "one of a call", remedy)
    kernel, args = profile.call
    chosen = _line(profile, line)
    pictures: list[WarpAccesses] = []
    if any(kind.startswith("global") for kind in chosen.accesses):
        pictures.append(coalescing(kernel, *args, line=chosen.source, **options))
    if any(kind.startswith("shared") for kind in chosen.accesses):
        pictures.append(banks(kernel, *args, line=chosen.source, **options))
    if not pictures:
        needed = f"a line with memory accesses: {_with_accesses(profile) or 'there is none'}"
        raise usage_error("line", chosen.where, needed, "choose one of these")
    return Pictures(tuple(pictures))


def _line(profile: Profile, line: int | str | ProfiledLine | None) -> ProfiledLine:
    if line is None:
        if profile.worst is not None:
            return profile.worst.line
        remedy = f"name one of {_with_accesses(profile)}"
        raise usage_error("line", "none", "one, since no line stands out", remedy)
    if isinstance(line, ProfiledLine):
        return line
    if not isinstance(line, int | str) or isinstance(line, bool):
        needed = "the number of a line, a piece of its text or a line of the profile"
        raise usage_error("line", brief(line), needed, "leave it out for the worst")
    found = profile.filter(line=line).lines
    if not found:
        known = _with_accesses(profile) or "there is none"
        needed = f"a line of the profile with memory accesses: {known}"
        raise usage_error("line", brief(line), needed, "choose one of these")
    return next((x for x in found if x.accesses), found[0])


def _with_accesses(profile: Profile) -> str:
    """`12, 15`: the lines that there are pictures of."""
    return ", ".join(str(line.number) for line in profile.lines if line.accesses)
