"""What a student reads of a finding: who did what where, what it means, what to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forgekit.vgpu.ptx.source_lines import describe_source
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, READ, WRITE

if TYPE_CHECKING:
    from forgekit.vgpu.launch_record import Dim3
    from forgekit.vgpu.memory import TensorInfo
    from forgekit.vgpu.ptx import SourceLine
    from forgekit.vgpu.sanitizer.listener import Sanitizer
    from forgekit.vgpu.sanitizer.shadow import Conflict, Touch

    Who = tuple[Dim3, Dim3]  # block, thread

_DID = {READ: "read", WRITE: "wrote", ATOMIC: "updated"}
_ORDERED_VERBS = {"ld": ("reads", "read"), "st": ("writes", "wrote")}
_DOES = {"load": "reads", "store": "writes", "atomic": "updates", "async store": "copies to"}


class Made(NamedTuple):
    """The parts of a finding that words make up."""

    kind: str
    who: Who | None
    place: str
    told: tuple[str, ...]
    advice: str


def name(who: Who) -> str:
    block, thread = who
    return f"thread {thread} of block {block}"


def line_of(source: SourceLine | None) -> str:
    return "a line that is not known" if source is None else describe_source(source)


def race(report: Sanitizer, kind: str, c: Conflict, place: str, first: Who, second: Who) -> Made:
    line = line_of(report._line(c.earlier.pc))
    same_line = c.earlier.pc == c.later.pc
    where = "in this same line" if same_line else f"at {line}"
    if same_line and c.earlier is c.later:
        did = f"{name(second)} writes {place}, and {name(first)} writes another value there."
        told: tuple[str, ...] = (did, "Which of the two stays is chance.")
    else:
        told = (
            f"{name(second)} {_verbs(report, c.later)[0]} {place},",
            f"which {name(first)} {_verbs(report, c.earlier)[1]} {where}.",
            "Nothing makes one of them wait for the other.",
        )
    return Made(kind, second, place, told, _race_advice(report, kind, c, first, second))


def _verbs(report: Sanitizer, touch: Touch) -> tuple[str, str]:
    """What an access does and did; volatile and ordered loads and stores count as atomic."""
    root = report.program.instructions[touch.pc].opcode[0]
    return _ORDERED_VERBS.get(root, (touch.what, _DID[touch.what]))


def _race_advice(report: Sanitizer, kind: str, c: Conflict, first: Who, second: Who) -> str:
    same_block = first[0] == second[0]
    if kind == "global-race" and not same_block:
        if c.earlier.what == c.later.what == WRITE:
            return (
                "Blocks run in any order and at the same time: let each element belong to one "
                "block, or add with an atomic operation (cute.arch.atomic_add)."
            )
        return (
            "Blocks run in any order and at the same time: what one block has written another may "
            "read in the next launch, or after an atomic counter that both use."
        )
    if c.earlier is c.later:
        return (
            "Look at the index: two threads compute the same one. To add up use "
            "cute.arch.atomic_add, or let one thread write."
        )
    if not same_block:
        return (
            "Blocks of a cluster run at their own pace: between the two lines put "
            "cute.arch.cluster_arrive() and cute.arch.cluster_wait(), which every thread of the "
            "cluster reaches, or an mbarrier of the block that is written to, at which the writer "
            "arrives and for which the reader waits."
        )
    if report._line(c.earlier.pc) == report._line(c.later.pc):
        return (
            "Both are the same line, which reads and writes in one go. To add up use "
            "cute.arch.atomic_add; to move values read into a variable, put "
            "cute.arch.sync_threads() behind it, and store then. In a loop a barrier between the "
            "rounds may be missing."
        )
    return (
        "Threads run at their own pace, also those of one warp: put cute.arch.sync_threads() "
        "between the two lines (cute.arch.sync_warp() where only lanes of one warp exchange), and "
        "in a loop between the end of one round and the start of the next."
    )


_SHOWS = {
    "store": "What comes of it is stored in {place} by {who}{where}.",
    "atomic": "What comes of it goes into the atomic update of {place} by {who}{where}.",
    "copy": "What comes of it is copied to {place} for {who}{where}.",
    "branch": "It decides which way {who} goes on{where}.",
    "guard": "It decides whether {who} takes part in what follows{where}.",
    "address": "It is part of an index or address that {who} uses{where}.",
    "size": "It decides what an asynchronous operation of {who} does{where}.",
    "lane": "It decides which lane {who} takes a value from{where}.",
}


def uninitialised_shared(
    offset: int, reader: Who, shows: str, user: Who, element: str, line: SourceLine | None
) -> Made:
    """shows: a key of `_SHOWS`; element: of global memory; line: None if it is that of the read."""
    place = f"shared memory, byte {offset:,}"
    user_name = "the same thread" if user == reader else name(user)
    where = f" at {line_of(line)}" if line is not None else " in this same line"
    told = (
        f"{name(reader)} reads {place}, which nobody in its block has written.",
        _SHOWS[shows].format(place=element, who=user_name, where=where),
        "A GPU finds there what the block before left.",
    )
    advice = (
        "Every element that counts has to be stored before it is read: look at tails (a tile that "
        "is not full), at the size of the layout, and at partial sums that not every warp stores."
    )
    return Made("uninitialised-shared", reader, place, told, advice)


def uninitialised_global(place: str, who: Who) -> Made:
    told = (f"{name(who)} reads {place}, which nobody has written since it was made by empty().",)
    advice = "Is the input meant? Or start from fk.zeros(...) where the kernel adds to its output."
    return Made("uninitialised-global", who, place, told, advice)


def unwritten(info: TensorInfo, first: str, count: int) -> Made:
    told = (f"{count:,} elements of {info} were never written, the first is {first}.",)
    advice = "Does the grid cover the tensor, and does each thread that has an element store it?"
    return Made("unwritten-output", None, f"{first} of {info}", told, advice)


def under_way(access: str, offset: int, who: Who, copier: Who, line: str) -> Made:
    place = f"shared memory, byte {offset:,}"
    told = (
        f"{name(who)} {_DOES[access]} {place}, while the asynchronous copy of {name(copier)}",
        f"to it, started at {line}, may still be in flight.",
    )
    advice = (
        "A copy is complete for its own thread after cp_async_wait_group(n), where n is how many "
        "of the newest committed groups may still be open, and for others after a barrier that "
        "follows the wait."
    )
    return Made("async-copy", who, place, told, advice)


def source_changed(place: str, who: Who, copier: Who, line: str) -> Made:
    told = (
        f"{name(who)} writes {place}, while the asynchronous copy of {name(copier)}",
        f"from it, started at {line}, may still be in flight.",
    )
    advice = (
        "A copy reads its source at any time until cp_async_wait_group(n) says that its group is "
        "complete: overwrite the source after the wait, other threads after a barrier behind it."
    )
    return Made("async-copy", who, place, told, advice)


def too_early(report: Sanitizer, c: Conflict, place: str, first: Who, second: Who) -> Made:
    """An asynchronous operation, and an access that nothing keeps apart from it."""
    line = line_of(report._line(c.earlier.pc))
    flying = "the asynchronous operation of"
    if c.first & ENGINE and c.second & ENGINE:
        told: tuple[str, ...] = (
            f"{flying} {name(second)} {c.later.what} {place}, while that of {name(first)},",
            f"started at {line}, may still be in flight.",
        )
    elif c.first & ENGINE:
        told = (
            f"{name(second)} {c.later.what} {place}, while {flying} {name(first)},",
            f"started at {line}, which {c.earlier.what} it, may still be in flight.",
        )
    else:
        told = (
            f"{flying} {name(second)} {c.later.what} {place},",
            f"which {name(first)} {_DID[c.earlier.what]} at {line}.",
            "Nothing makes the operation wait for that.",
        )
    advice = (
        "What a bulk copy or an asynchronous store brings is there after mbarrier_wait() for the "
        "phase that counts its bytes, and what it reads may be changed then; of a copy to global "
        "memory after cp_async_bulk_wait_group(n, read=True). Before a buffer is filled again, "
        "those who used it have to say so, with a barrier or another mbarrier."
    )
    return Made("async-copy", second, place, (told[0][0].upper() + told[0][1:], *told[1:]), advice)


def block_not_there(who: Who, block: Dim3, what: str) -> Made:
    place = f"shared memory of block {block}"
    if what == "started":
        told = (f"{name(who)} reaches {place}, which may not have started yet.",)
        advice = (
            "Before the first access to another block put cute.arch.cluster_arrive() and "
            "cute.arch.cluster_wait(): they are over when every block of the cluster runs."
        )
    else:
        told = (f"{name(who)} reaches {place}, which may have left the kernel by then.",)
        if who[0] == block:
            told = (
                f"An asynchronous operation of {name(who)} may still use its block's shared memory "
                "when the block has left the kernel.",
            )
        advice = (
            "A block has to stay until it knows that others (and its own asynchronous copies) are "
            "done with its shared memory: let it wait for that with an mbarrier, or end the kernel "
            "with cute.arch.cluster_arrive() and cute.arch.cluster_wait()."
        )
    return Made("block-lifetime", who, place, told, advice)


def not_in_own_mask(who: Who, lane: int, mask: int) -> Made:
    told = (f"{name(who)}, lane {lane}, is not in the member mask {mask:#010x} that it gives.",)
    advice = "A lane that executes the instruction must name itself; the whole warp is 0xffffffff."
    return Made("member-mask", who, f"mask {mask:#010x}", told, advice)


def masks_differ(who: Who, lane: int, mask: int, other: int, other_mask: int) -> Made:
    told = (
        f"{name(who)}, lane {lane}, gives member mask {mask:#010x}, and lane {other}, which it "
        f"names, gives {other_mask:#010x}.",
    )
    advice = "All lanes that take part in one instruction must give the same mask."
    return Made("member-mask", who, f"mask {mask:#010x}", told, advice)


def inactive_source(who: Who, lane: int, source: int, exists: bool, threads: int) -> Made:
    why = "takes no part in this instruction" if exists else f"does not exist ({threads} threads)"
    told = (f"{name(who)}, lane {lane}, reads from lane {source} of its warp, which {why}.",)
    advice = (
        "The value is undefined. Let all 32 lanes take part, with the identity of the operation "
        "where a lane has no element, and keep offsets and mask within those that do."
    )
    return Made("shuffle-inactive", who, f"lane {source}", told, advice)


def part_of_a_warp(who: Who, there: int, lanes: int) -> Made:
    told = (
        f"{name(who)} arrives with {there} of the {lanes} lanes of its warp,",
        "the others do not come.",
    )
    advice = (
        "A barrier counts whole warps: take it out of the `if` or loop that only some threads "
        "enter."
    )
    return Made("divergent-barrier", who, "", told, advice)


def some_have_left(who: Who, left: Who, count: int) -> Made:
    threads = "1 thread has" if count == 1 else f"{count:,} threads of all blocks have"
    told = (
        f"{name(who)} arrives, and {threads} left the kernel without it, the first is",
        f"{name(left)}. The barrier neither waits for them nor orders what they did.",
    )
    advice = (
        "Every thread of the block has to reach it: take it out of the `if` that only some "
        "threads enter, and guard the loads and stores instead."
    )
    return Made("divergent-barrier", who, "", told, advice)


def barriers_of_two_lines(who: Who, other: str) -> Made:
    told = (f"{name(who)} meets here threads that wait at another line: {other}.",)
    advice = (
        "sync_threads() has to be one place that every thread of the block reaches: take it out of "
        "the branches. Threads that wait for each other in different lines need a barrier of their "
        "own, with a number and a count."
    )
    return Made("divergent-barrier", who, "", told, advice)
