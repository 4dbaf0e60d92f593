"""Estimate, from PTX alone, how long a single warp waits for results, and which pipes its
instructions use.

A warp issues its instructions in order, and each instruction waits until its operands are
available. A single pass over the code (two passes over loops) determines the cause of each
instruction's wait, and its length in cycles, from the latency of each kind of result. Machine code
has the order of the PTX, except that ptxas sometimes moves loads up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from forgekit.vgpu.code import Code
from forgekit.vgpu.ptx import Instruction

# Cycles until a result is available, on Hopper: W. Luo et al., "Benchmarking and dissecting the
# Nvidia Hopper GPU architecture via microbenchmarking", 2024. The value for global memory is
# nominal; the caller replaces it, because only the caller knows which cache serves an access.
CYCLES = {"global": 600, "atomic": 800, "shared": 29, "barrier": 24, "compute": 4}
_AT_ONCE = 8  # maximum number of loads that ptxas moves up together
_PREDICATED = 8  # instructions in the longest branch that ptxas replaces with predicates
_UNROLLED = 4  # iterations of a short loop that ptxas unrolls unless a pragma forbids it
_SPECIAL, _DOUBLE, _CONVERT, _SHUFFLE, _TENSOR = 22, 8, 10, 24, 33

# Machine instructions per PTX instruction, if not 1. 0 means that the instruction disappears or
# becomes part of another instruction.
_FREE = {"mov", "cvta", "ret", "exit", "bra"}
_LONG = {"div": 10, "sqrt": 8, "rem": 18, "sin": 2, "cos": 2, "rcp": 2, "tanh": 1}
_SPECIALS = ("ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt", "div")
_SHUFFLES = ("shfl", "vote", "redux", "match")


class Step(NamedTuple):
    """The pipe and the wait of a PTX instruction.

    pipe: the executing unit: "fp32", "fp64", "int", "special", "convert", "tensor", "shared",
    "global", "barrier", "shuffle" or "control"; slots: the number of machine instructions; wait:
    the cause of the instruction's wait (a key of CYCLES, or "" for none); cycles: the length of the
    wait.
    """

    pipe: str
    slots: float
    wait: str = ""
    cycles: float = 0.0


@functools.lru_cache(maxsize=64)
def steps(code: Code) -> Sequence[Step]:
    """Return the steps of a kernel, one per instruction."""
    ready: dict[str, tuple[float, str]] = {}  # register -> time of the result, kind of producer
    groups: list[float] = []  # arrival times of the groups of asynchronous copies
    copied = now = 0.0
    unrolled = _unrolled(code)
    found: list[Step] = [Step("control", 0.0)] * len(code.instructions)
    for pc in _path(code):
        i = code.instructions[pc]
        reads, writes = code.flow[pc]
        pipe, slots = pipe_of(i)
        until, wait = max((ready[r] for r in reads if r in ready), default=(0.0, ""))
        shared_by = _UNROLLED if wait == "global" and pc in unrolled else 1
        if i.opcode[:2] == ("cp", "async"):
            if "commit_group" in i.opcode:
                groups.append(copied)
            elif "wait_group" in i.opcode:
                left = int(getattr(i.operands[0], "bits", 0))
                done = groups[: len(groups) - left]
                until, wait = max([(until, wait), *((g, "global") for g in done)])
            elif "wait_all" in i.opcode:
                until, wait = max((until, wait), (copied, "global"))
            elif "mbarrier" not in i.opcode:
                copied = max(until, now) + CYCLES["global"]
        elif i.opcode[0] == "mbarrier" and "try_wait" in i.opcode:
            until, wait = max((until, wait), (copied, "global"))
        elif pipe == "barrier":
            until, wait = max((until, wait), (now + CYCLES["barrier"], "barrier"))
        cycles = max(until - now, 0.0)
        found[pc] = Step(pipe, slots, wait if cycles else "", cycles / shared_by)
        now += cycles + slots
        kind, latency = _latency(i, pipe)
        for r in writes:
            ready[r] = now + latency, kind
    return found


def _path(code: Code) -> Iterator[int]:
    """Yield the instructions in ptxas's order, with the body of each loop twice in succession."""
    ends = {last: first for first, last in reversed(code.loops)}
    heads = _heads(code)
    start, again = 0, set[int]()
    while start < len(code.instructions):
        stop, loads = start + 1, 0
        while stop < len(code.instructions) and stop not in heads:
            loads += _is_load(code.instructions[stop])
            if loads > _AT_ONCE:
                break
            stop += 1
        yield from _loads_first(code, range(start, stop))
        if stop - 1 in ends and stop - 1 not in again:
            again.add(stop - 1)
            start = ends[stop - 1]
        else:
            start = stop


def _unrolled(code: Code) -> set[int]:
    """Return the instructions of loops that ptxas unrolls, so that the waits of several loads
    overlap."""
    labels, found = set(code.kernel.labels.values()), set[int]()
    for first, last in code.loops:
        body = range(first, last + 1)
        alone = not labels.intersection(body[1:])
        stores = any(code.instructions[pc].opcode[0] in ("st", "bar", "cp") for pc in body)
        if alone and not stores and not set(code.kernel.rolled).intersection(body):
            found.update(body)
    return found


def _heads(code: Code) -> set[int]:
    """Return the instructions above which ptxas moves no load: those after a barrier or a branch,
    and branch targets. Short forward branches do not count, because ptxas replaces them with
    predicates."""
    found = set[int]()
    for pc, i in enumerate(code.instructions):
        if i.opcode[0] == "bra":
            target = code.kernel.labels.get(getattr(i.operands[0], "name", ""), pc)
            if not 0 < target - pc <= _PREDICATED:
                found.update((pc + 1, target))
        elif i.opcode[0] in ("bar", "barrier", "cp", "mbarrier", "fence", "membar"):
            found.add(pc + 1)
    return found


def _loads_first(code: Code, pcs: range) -> list[int]:
    """Move loads and their address arithmetic up, as ptxas does, so that the loads are in flight at
    the same time.

    A load does not move above stores to the same kind of memory, nor above loads that produce its
    address.
    """
    wanted: set[str] = set()
    early, stays, late = set[int](), set[str](), set[int]()
    for pc in pcs:
        i = code.instructions[pc]
        reads, writes = code.flow[pc]
        space = i.opcode[1] if len(i.opcode) > 1 else ""
        if i.opcode[0] in ("st", "atom", "red"):
            stays.add(next((s for s in ("shared", "global") if s in i.opcode), ""))
        elif stays.intersection(reads) or (i.opcode[0] == "ld" and space in stays):
            late.add(pc)
        if _is_load(i) or i.opcode[0] == "atom" or pc in late:
            stays.update(writes)
    for pc in reversed(pcs):
        i = code.instructions[pc]
        reads, writes = code.flow[pc]
        if (_is_load(i) or wanted.intersection(writes)) and pc not in late:
            early.add(pc)
            wanted.update(reads, writes)
    return [*(pc for pc in pcs if pc in early), *(pc for pc in pcs if pc not in early)]


def _is_load(i: Instruction) -> bool:
    """Return True if an instruction loads from global or shared memory. (Parameters are constants
    in machine code.)"""
    return i.opcode[:2] in (("ld", "global"), ("ld", "shared"))


def pipe_of(i: Instruction) -> tuple[str, float]:
    """Return the unit that executes a PTX instruction, and the number of machine instructions to
    which it compiles."""
    root, kinds = i.opcode[0], i.opcode[1:]
    last = kinds[-1] if kinds else ""
    if root in ("ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "prefetch"):
        if "param" in kinds or "wait_group" in kinds or "commit_group" in kinds:
            return "control", 0.0
        if (
            root in ("ldmatrix", "stmatrix")
            or kinds[:1] == ("shared",)
            or "shared::cta" in kinds[:1]
        ):
            return "shared", 1.0
        return "global", 1.0
    if root in ("bar", "barrier") and "warp" not in kinds:
        return "barrier", 1.0
    if root in ("mma", "wgmma"):
        return ("tensor", 1.0) if "mma_async" in kinds or root == "mma" else ("control", 1.0)
    if root in _SHUFFLES:
        return "shuffle", 1.0
    if root in _FREE or (root in ("and", "or", "xor", "not") and last == "pred"):
        return "control", 0.5 if root == "bra" else 0.0
    if last == "f64":
        return "fp64", float(_LONG.get(root, 1))
    if root == "cvt":
        return "convert", 1.0
    if root in ("div", "rem") and not last.startswith(("f", "b")):
        return "int", float(_LONG["rem"]) * (4 if last.endswith("64") else 1)
    if root in _SPECIALS:
        return "special", float(_LONG.get(root, 1)) if "approx" not in kinds else 1.0
    if last.startswith(("f32", "f16", "bf16")) and root not in ("setp", "selp"):
        return "fp32", 1.0
    wide = last.endswith("64") and root != "selp"
    return "int", (3.0 if root in ("mul", "mad") else 2.0) if wide else 1.0


def _latency(i: Instruction, pipe: str) -> tuple[str, float]:
    """Return the kind of unit that produces an instruction's result, and its latency in cycles."""
    if i.opcode[0] == "atom":
        return "atomic", CYCLES["shared" if pipe == "shared" else "atomic"]
    if pipe in ("global", "shared"):
        return pipe, CYCLES[pipe]
    each = {"special": _SPECIAL, "fp64": _DOUBLE, "convert": _CONVERT, "shuffle": _SHUFFLE,
            "tensor": _TENSOR}.get(pipe, CYCLES["compute"])  # fmt: skip
    long = i.opcode[0] in ("div", "rem", "sqrt") and "approx" not in i.opcode
    return "compute", each + (CYCLES["compute"] * _LONG[i.opcode[0]] if long else 0)
