"""Why threads left a tensor, told only where the numbers of all of them prove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgekit.vgpu.faults import Overrun

__all__ = ["overrun_diagnosis"]


def overrun_diagnosis(o: Overrun | None) -> str:
    """One or two sentences: a vector over the edge, no predicate, a wrong bound, a shifted index;
    "" where the numbers leave it open."""
    if o is None or not len(o.threads):
        return ""
    begins_inside = (o.numbers >= 0) & (o.numbers < o.elements)
    if o.width > 1 and begins_inside.all():
        return (
            f"the last vector hangs over the end: its first element is number {o.numbers[0]:,} of "
            f"{o.elements:,}, and it has {o.width}. Its predicate has to hold for the last of them."
        )
    if o.rank != 1 or o.width > 1:
        return ""
    beyond = o.threads >= o.elements
    shift = o.numbers - o.threads
    own = not shift.any() or bool((o.numbers == o.elements - 1 - o.threads).all())  # or mirrored
    if beyond.all() and own:
        without = int((o.present >= o.elements).sum())
        if len(o.threads) == without:
            return (
                "nothing keeps the threads beyond the last element away from memory: all "
                f"{without:,} of them are here. A predicate compares with the length, "
                f"`{o.tensor}.shape[0]`."
            )
        first, last = int(o.threads.min()), int(o.threads.max())
        who = f"thread {first:,}" if first == last else f"threads {first:,} to {last:,}"
        return (
            f"the predicate lets {who} through, and not the others beyond the end: its bound is "
            f"not the length. The last element is number {o.elements - 1:,}."
        )
    if (~beyond).any() and shift[0] and (shift == shift[0]).all():
        sign = "+" if shift[0] > 0 else "-"
        return (
            f"the index is shifted: thread i reaches element i {sign} {abs(int(shift[0])):,}, and "
            "the predicate asks for element i."
        )
    return ""
