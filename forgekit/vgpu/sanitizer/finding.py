"""A finding: what a kernel did that no GPU promises to forgive, where, and what to look at."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from forgekit.vgpu.ptx import SourceLine
from forgekit.vgpu.ptx.source_lines import describe_source

# kind -> what it is called in a title
KINDS = {
    "out-of-bounds": "Out of bounds",
    "misaligned": "Misaligned access",
    "read-only-write": "Write to a read-only tensor",
    "uninitialised-shared": "Uninitialised shared memory",
    "uninitialised-global": "Uninitialised tensor element",
    "unwritten-output": "Elements never written",
    "shared-race": "Race in shared memory",
    "global-race": "Race in global memory",
    "async-copy": "Asynchronous copy still in flight",
    "block-lifetime": "Shared memory of a block that may not be there",
    "mbarrier": "Misused mbarrier",
    "divergent-barrier": "Barrier in divergent code",
    "barrier-count": "Wrong barrier count",
    "deadlock": "Deadlock",
    "shuffle-inactive": "Shuffle from a lane that takes no part",
    "member-mask": "Wrong member mask",
    "launch-limits": "Launch beyond the limits",
    "endless": "Instruction budget spent",
    "trap": "Trap",
    "register-pressure": "Register pressure",
}
_WIDTH = 96  # of a message's lines

NOTES = ("unwritten-output", "register-pressure")


@dataclass
class Finding:
    """One mistake, however many threads made it.

    kind: a key of `KINDS`. lines: the Python lines, the one where it shows first; empty where the
    PTX has no line information. block, thread: (x, y, z) of the first thread; None where nobody is
    to be named. place: the element `x[17, 1024] of x: float32 (64, 1024)`, or the shared-memory
    offset. count: how often, over all threads. told: the sentences of the message; advice: what to
    look at.
    """

    kind: str
    lines: tuple[SourceLine, ...] = ()
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    place: str = ""
    count: int = 1
    told: tuple[str, ...] = ()
    advice: str = ""
    kernel: str = ""
    whole: str = field(default="", repr=False)  # the message of a kernel that was stopped

    @property
    def severity(self) -> str:
        """`error`, or `note` for what may be meant."""
        return "note" if self.kind in NOTES else "error"

    @property
    def title(self) -> str:
        return KINDS[self.kind]

    @property
    def message(self) -> str:
        """The finding in full sentences, several lines."""
        if self.whole:
            return self.whole
        where = f": {describe_source(self.lines[0])}" if self.lines else ""
        told = [f"  {line}" for line in self.told]
        return "\n".join([self.title + where, *told, *textwrap.wrap(self.advice, _WIDTH)])

    def __str__(self) -> str:
        return self.message


def several(findings: list[Finding]) -> str:
    """The messages of several findings, with a blank line between."""
    return "\n\n".join(f.message for f in findings)
