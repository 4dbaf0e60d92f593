"""What pictures of single warps' accesses have in common: their words and their output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.errors import KernelError
    from forgekit.viz.runs.warp_access import WarpAccess

__all__ = ["WarpPicture"]


@dataclass(frozen=True, eq=False)
class WarpPicture(ABC):
    """Accesses of warps to one kind of memory; a notebook shows them as a picture.

    Attributes:
        name: the host function's name.
        accesses: what is shown, each with its addresses by lane.
        omitted: how many accesses more were meant than a picture holds.
        error: what stopped the kernel, else None. notes: what the picture says in red.
    """

    name: str
    accesses: tuple[WarpAccess, ...]
    omitted: int
    error: KernelError | None
    notes: list[str]

    memory: ClassVar[str]  # global or shared
    called: ClassVar[str]  # the public function's name

    @property
    @abstractmethod
    def told(self) -> list[tuple[str, str]]:
        """Of each access: what its title says of it, and details."""

    @property
    @abstractmethod
    def figure(self) -> Figure:
        """The picture, a matplotlib Figure."""

    @property
    def headline(self) -> str:
        if len(self.accesses) == 1:
            return f"{self.accesses[0].place}: {self.told[0][0]}"
        who = {(a.block, a.warp) for a in self.accesses}
        if not who:
            return f"{self.name}: no access to {self.memory} memory"
        if len(who) == 1:
            ((block, warp),) = who
            return f"{self.name}: what warp {warp} of block {block} asks of {self.memory} memory"
        return f"{self.name}: what {len(who)} warps ask of {self.memory} memory"

    @property
    def more(self) -> list[str]:
        """What is missing from the picture."""
        if not self.omitted:
            return []
        these = "access is" if self.omitted == 1 else "accesses are"
        return [f"{self.omitted} more {these} not shown; line= and kind= choose"]

    @property
    def summary(self) -> str:
        """All that the picture says with numbers."""
        lines = [f"{self.called} of {self.name}"]
        for access, (title, details) in zip(self.accesses, self.told, strict=True):
            lines.append(f"  {access.place}: {title}")
            lines.append(f"    {access.details}; {details}")
        return "\n".join(lines + [f"  {note}" for note in (*self.more, *self.notes)])

    def __repr__(self) -> str:
        return self.summary

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from forgekit.viz.png import img_tag

        alt = "; ".join(line.strip() for line in self.summary.split("\n"))
        return {"text/plain": self.summary, "text/html": img_tag(self.figure, alt)}
