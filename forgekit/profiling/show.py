"""The pictures of one line of a profile: which sectors its accesses move, which banks they use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from forgekit.errors import UsageError, brief, got_needed

if TYPE_CHECKING:
    from forgekit.profiling.lines import Line
    from forgekit.profiling.profile import Profile

__all__ = ["Pictures", "show"]


class Pictures:
    """Pictures one under the other; iterate for each, which has `figure` and `summary`."""

    def __init__(self, pictures: list[Any]) -> None:
        self._pictures = pictures

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pictures)

    def __len__(self) -> int:
        return len(self._pictures)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self._pictures))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        parts = [picture._repr_mimebundle_()["text/html"] for picture in self._pictures]
        return {"text/plain": repr(self), "text/html": "<br>".join(parts)}


def show(profile: Profile, line: int | str | Line | None, options: dict[str, Any]) -> Pictures:
    """See `Profile.show`."""
    from forgekit.tracing.banks import banks
    from forgekit.tracing.coalescing import coalescing

    chosen = _line(profile, line)
    kernel, args = profile.call
    pictures: list[Any] = []
    if any(kind.startswith("global") for kind in chosen.accesses):
        pictures.append(coalescing(kernel, *args, line=chosen.source, **options))
    if any(kind.startswith("shared") for kind in chosen.accesses):
        pictures.append(banks(kernel, *args, line=chosen.source, **options))
    if not pictures:
        lines = ", ".join(str(x.number) for x in profile.lines if x.accesses)
        needed = f"a line with memory accesses: {lines or 'there is none'}"
        raise UsageError(got_needed("line", chosen.where, needed, "choose one of these"))
    return Pictures(pictures)


def _line(profile: Profile, line: int | str | Line | None) -> Line:
    from forgekit.profiling.lines import Line

    if line is None:
        if profile.worst is not None:
            return profile.worst.line
        remedy = f"name one of {', '.join(str(x.number) for x in profile.lines if x.accesses)}"
        raise UsageError(got_needed("line", "none", "one, since no line stands out", remedy))
    if isinstance(line, Line):
        return line
    if not isinstance(line, int | str) or isinstance(line, bool):
        needed = "the number of a line, a piece of its text or a line of the profile"
        raise UsageError(got_needed("line", brief(line), needed, "leave it out for the worst"))
    found = [x for x in profile.filter(line=line).lines if x.source]
    if not found:
        known = ", ".join(str(x.number) for x in profile.lines if x.accesses)
        needed = f"a line of the profile with memory accesses: {known or 'there is none'}"
        raise UsageError(got_needed("line", brief(line), needed, "choose one of these"))
    return next((x for x in found if x.accesses), found[0])
