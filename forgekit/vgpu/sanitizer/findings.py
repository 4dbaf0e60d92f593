"""Describe findings (a kernel's undefined operations and their locations), and collect the findings
of a launch."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import Code
from forgekit.vgpu.launch_record import Dim3, LaunchRecord
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.memory import GlobalMemory, fresh
from forgekit.vgpu.ptx import SourceLocation
from forgekit.vgpu.ptx.source_lines import describe_source
from forgekit.vgpu.sanitizer import messages
from forgekit.vgpu.sanitizer.messages import Message
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, READ, WRITE, Conflict, Touch

Who = tuple[Dim3, Dim3]  # coordinates of a block, and of one of its threads

_WIDTH = 96  # maximum number of characters per line of a message
_MOST_FINDINGS = 50  # maximum number of distinct findings per launch
_DID = {READ: "read", WRITE: "wrote", ATOMIC: "updated"}
_ORDERED_VERBS = {"ld": ("reads", "read"), "st": ("writes", "wrote")}


@dataclass
class Finding:
    """A mistake in a kernel, reported once for all threads that make it.

    kind: one of `KINDS`. lines: the Python lines, in the order in which to show them; empty if the
    PTX has no line information. block, thread: (x, y, z) of the first thread; None if unknown.
    place: the element `x[17, 1024] of x: float32 (64, 1024)`, or the shared-memory offset. count:
    the number of occurrences in all threads. sentences: the description; advice: the remedy.
    """

    kind: str
    lines: tuple[SourceLocation, ...] = ()
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    place: str = ""
    count: int = 1
    sentences: tuple[str, ...] = ()
    advice: str = ""
    kernel: str = ""
    whole: str = field(default="", repr=False)  # the entire message if the kernel was stopped
    note: bool = field(default=False, repr=False)

    @property
    def severity(self) -> str:
        """Return `note` if the code may be intended, otherwise `error`."""
        return "note" if self.note or self.kind in messages.NOTES else "error"

    @property
    def title(self) -> str:
        return messages.KINDS[self.kind]

    @property
    def message(self) -> str:
        """Return the description of the finding in full sentences, on several lines."""
        if self.whole:
            return self.whole
        where = f": {describe_source(self.lines[0])}" if self.lines else ""
        sentences = [f"  {line}" for line in self.sentences]
        return "\n".join([self.title + where, *sentences, *textwrap.wrap(self.advice, _WIDTH)])

    def __str__(self) -> str:
        return self.message

    @property
    def counted(self) -> str:
        """Return the message; for an error, add the count to its first line if it exceeds 1."""
        if self.count < 2 or self.severity == "note":
            return self.message
        title, _, rest = self.message.partition("\n")
        return f"{title}  (×{self.count:,})\n{rest}" if rest else title

    @staticmethod
    def distinct(findings: Iterable[Finding], *, summed: bool = False) -> list[Finding]:
        """Return the first finding of each kind at each place in the code, with errors before
        notes.

        summed: replace each count by the sum over the merged findings.
        """
        found: dict[object, Finding] = {}
        for finding in findings:
            key = finding.kind, frozenset(finding.lines or (finding.message,))
            first = found.setdefault(key, finding)
            if summed and first is not finding:
                found[key] = replace(first, count=first.count + finding.count)
        return sorted(found.values(), key=lambda f: f.severity != "error")


class Report:
    """The findings of a launch, in order of detection."""

    def __init__(self, program: Code, record: LaunchRecord) -> None:
        self.program = program
        self._record = record
        self._found: dict[object, Finding] = {}

    @property
    def findings(self) -> list[Finding]:
        return list(self._found.values())

    def move_last(self, place: int) -> None:
        found = list(self._found.items())
        found.insert(place, found.pop())
        self._found = dict(found)

    def line(self, pc: int) -> SourceLocation | None:
        return self.program.instructions[pc].source

    def who(self, number: int) -> Who:
        """Return the coordinates of the thread that has this number in the grid."""
        return self._record.coordinates(*divmod(number, self._record.block_warps * WARP))

    def in_batch(self, m: Batch, number: int) -> Who:
        """Return the coordinates of the thread that has this number in the batch."""
        return self.who(number + m.blocks[0] * m.n_threads)

    def add(
        self,
        message: Message,
        pcs: tuple[int, ...],
        who: Who,
        place: str = "",
        *,
        count: int = 1,
        same: tuple[int, ...] = (),
        other: Who | None = None,
        **fields: object,
    ) -> None:
        """Add a finding with the lines of the instructions `pcs`, or increase the count of an equal
        finding.

        same: the instructions whose lines must agree for two findings to be equal; by default
        `pcs`. other, fields: values for the fields of the message's text, except {who}, {place} and
        {line} (the last line).
        """
        key = message.kind, tuple(self.line(pc) or pc for pc in same or pcs)
        if key in self._found:
            self._found[key].count += count
        elif len(self._found) < _MOST_FINDINGS:
            name = thread_name(who)
            text = message.text.format(
                who=name, Who=name.capitalize(), place=place, line=self.line_name(pcs[-1]),
                other=thread_name(other or who), **fields,
            )  # fmt: skip
            lines = tuple(line for pc in pcs if (line := self.line(pc)) is not None)
            self._found[key] = Finding(
                message.kind, lines, *who, place, count, tuple(text.split("\n")), message.advice,
                self._record.kernel, note=message.note,
            )  # fmt: skip

    def line_name(self, pc: int) -> str:
        source = self.line(pc)
        return "an unknown line" if source is None else describe_source(source)

    def race(self, kind: str, c: Conflict, threads: Callable[[int], Who], place: str) -> None:
        """Report that two threads, or their asynchronous operations, access the same memory in no
        defined order. threads: a function that maps a thread number in the conflict to
        coordinates."""
        first, second = (threads(who & (ENGINE - 1)) for who in (c.first, c.second))
        pcs = (c.later.pc,) if c.later.pc == c.earlier.pc else (c.later.pc, c.earlier.pc)
        same_block = first[0] == second[0]
        if (c.first | c.second) & ENGINE and (kind == "shared-race" or same_block):
            roots = {self.program.instructions[t.pc].opcode[0] for t in (c.earlier, c.later)}
            message = messages.operation(c, product="wgmma" in roots)
            does, did = c.later.what, _DID[c.earlier.what]
        else:
            lines = map(self.line, (c.earlier.pc, c.later.pc))
            one, other = ((line.file, line.line) if line else None for line in lines)
            message = messages.race(kind, c, same_block=same_block, same_line=one == other)
            does, did = self._verbs(c.later)[0], self._verbs(c.earlier)[1]
        where = f"at {self.line_name(c.earlier.pc)}" if len(pcs) == 2 else "on the same line"
        self.add(
            message, pcs, second, place, count=c.how_often, other=first,
            does=does, did=did, other_does=c.earlier.what, where=where,
        )  # fmt: skip

    def _verbs(self, touch: Touch) -> tuple[str, str]:
        """Return an access's verb in the present and the past tense. Volatile and ordered accesses
        are described as atomic."""
        root, *rest = self.program.instructions[touch.pc].opcode
        if root == "mbarrier" and any("wait" in part for part in rest):
            return "tests", "tested"
        return _ORDERED_VERBS.get(root, (touch.what, _DID[touch.what]))


def thread_name(who: Who) -> str:
    block, thread = who
    return f"thread {thread} of block {block}"


def shared_byte(offset: int) -> str:
    return f"shared memory, byte {offset:,}"


def unwritten(memory: GlobalMemory) -> list[Finding]:
    """Return a note for each of a call's tensors that has unwritten elements."""
    notes = []
    for allocation in memory.allocations:
        blank = fresh.lookup(allocation)
        left = blank.elements_left() if blank is not None else None
        if blank is None or left is None or not len(left):
            continue
        info = allocation.regions[0].info
        first = info.coordinate(int(left[0]) * info.itemsize + blank.offset)
        kind, text, advice, _ = messages.UNWRITTEN
        text = text.format(count=len(left), tensor=info, first=first)
        if len(left) == 1:
            text = f"1 element of {info} was never written: {first}."
        place = f"{first} of {info}"
        notes.append(Finding(kind, place=place, count=len(left), sentences=(text,), advice=advice))
    return notes
