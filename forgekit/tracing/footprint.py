"""Show which thread touched which element of a kernel's tensors, as data and as text."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.arguments import checked, require_one_of
from forgekit.compiling.compiled import CompiledKernel
from forgekit.compiling.replay import bind
from forgekit.errors import KernelError, SourceLine, UsageError, got_needed
from forgekit.show import Picture
from forgekit.text import extent, plural, times
from forgekit.tracing.observe import LANES, Array, stop_notes
from forgekit.tracing.recordings import recorded
from forgekit.tracing.source_lines import LineChoice, chosen_lines, lines_alone
from forgekit.tracing.touches import TensorTouches, Touches

# The columns of `touched`, with their participles and the values of kind= that include them.
_WAYS = (("loads", "read", ("any", "load")), ("stores", "written", ("any", "store")),
         ("atomics", "updated", ("any", "store")))  # fmt: skip

MOST_ELEMENTS = 1 << 27  # this number of elements needs about 3 GiB


@dataclass(frozen=True, eq=False, repr=False)
class Footprint(Picture):
    """The elements of its tensors that a kernel touched; a notebook shows them as a picture.

    Attributes:
        name: the host function's name.
        touched: maps a tensor's name to arrays of its shape. `block`, `warp` (in the block) and
            `thread` identify the first thread that touched the element (linear indices, x fastest;
            -1: none). `loads`, `stores` and `atomics` are the numbers of accesses, and `count` is
            their sum. All are int32, except `warp`, which is int16. Two columns may be the same
            array, so copy a column before writing to it.
        threads: maps a tensor's name to the number of threads that touched the tensor.
        grid, block: the dimensions of the largest launch's grid and block, (x, y, z). launches: the
            number of kernels that the function launched.
        by: the meaning of the colours: "block", "warp", "thread" or "count". kind: "any", "load" or
            "store". lines: the Python lines whose accesses are shown; empty for all lines.
        error: the error that stopped the kernel, or None.
    """

    name: str
    touched: dict[str, dict[str, Array]]
    threads: dict[str, int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    all_threads: int
    by: str
    kind: str
    error: KernelError | None
    lines: tuple[SourceLine, ...] = ()

    @property
    def many_blocks(self) -> bool:
        return math.prod(self.grid) > 1

    @property
    def headline(self) -> str:
        """Return text such as `copy, line 12 only: 8 blocks of 128 threads`."""
        if not self.launches:
            return f"{self.name}: no kernel was launched"
        alone = f", {lines_alone(self.lines)}" if self.lines else ""
        blocks, threads = extent(self.grid, "block"), extent(self.block, "thread")
        more = f", the largest of {self.launches} launches" if self.launches > 1 else ""
        return f"{self.name}{alone}: {blocks} of {threads}{more}"

    @property
    def summary(self) -> str:
        """Return all information in the picture as text, one line per tensor."""
        lines = [f"footprint of {self.headline}"]
        lines += [f"  {name}: {self.describe(name)}" for name in self.touched]
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    @property
    def notes(self) -> list[str]:
        """Return the description of the error that stopped the kernel, if any."""
        return stop_notes(self.error, self.launches > 0)

    def _of(self, name: str) -> dict[str, Array]:
        require_one_of("tensor", name, tuple(self.touched))
        return self.touched[name]

    def verb(self, name: str) -> str:
        """Return `read`, `written`, `read and written`, …, or `untouched`."""
        found = self._of(name)
        verbs = [verb for column, verb, *_ in _WAYS if found[column].any()]
        return " and ".join(verbs) or "untouched"

    def describe(self, name: str) -> str:
        """Return text such as `8 of 8 elements read, each once, by 8 threads`."""
        found = self._of(name)
        total = found["count"].size
        parts: list[str] = []
        for column, verb, *_ in _WAYS:
            counts = found[column][found[column] > 0]
            if counts.size:
                noun = "" if parts else " elements" if total != 1 else " element"
                parts.append(f"{counts.size:,} of {total:,}{noun} {verb}, {_times(counts)}")
        if not total:
            return "no elements"
        if not parts:
            verb = {"any": "touched", "load": "read", "store": "written"}[self.kind]
            return f"0 of {total:,} elements {verb}"
        threads = self.threads[name]
        text = f"{'; '.join(parts)}, by {plural(threads, 'thread')}"
        idle = self.all_threads - threads
        return text + (f"; {plural(idle, 'thread')} accessed none" if idle else "")


@checked()
def footprint(
    kernel: CompiledKernel,
    *args: Any,
    tensor: str | None = None,
    by: str | None = None,
    kind: str = "any",
    line: LineChoice | None = None,
) -> Footprint:
    """Run a kernel on the virtual GPU and show which thread touched which element.

    The kernel runs on copies, so your tensors do not change, and its printed output is hidden. An
    error in the kernel is not raised; the picture then shows the accesses before the error.

    Args:
        kernel: a result of `forgekit.compile`, for a GPU or the virtual GPU.
        args: the kernel's arguments, as in a call.
        tensor: the name of the parameter whose tensor to show; by default all tensors.
        by: the meaning of the colours: "block", "warp", "thread" or "count" (the larger of an
            element's numbers of reads and writes); by default the block, or the thread if there is
            only one block.
        kind: "load" or "store" to show only these accesses (an atomic operation counts as a store).
        line: the Python line whose accesses to show: its number, part of its text or a SourceLine.

    Raises:
        UsageError: the kernel is not compiled, the arguments do not match its parameters, the
            tensor name, `by` or `kind` is unknown, or the line has no accesses to global memory.
    """
    args = bind("footprint", kernel, args)
    require_one_of("by", by, (None, "block", "warp", "thread", "count"))
    require_one_of("kind", kind, ("any", "load", "store"))
    runtime = [p for p in kernel.parameters if p.kind in ("tensor", "scalar")]
    shapes = {p.name: getattr(a, "shape", ()) for p, a in zip(runtime, args, strict=True)
              if p.kind == "tensor"}  # fmt: skip
    if tensor is not None:
        require_one_of("tensor", tensor, tuple(shapes))
        shapes = {tensor: shapes[tensor]}
    for name, shape in shapes.items():
        if math.prod(shape) > MOST_ELEMENTS:
            raise UsageError(
                got_needed(f"tensor {name}", f"{math.prod(shape):,} elements",
                           f"at most {MOST_ELEMENTS:,}", "pass a smaller tensor, or select "
                           "another one with tensor=…")
            )  # fmt: skip

    columns = tuple(column for column, *_, kinds in _WAYS if kind in kinds)
    make = functools.partial(Touches, columns, line)
    call = recorded(kernel, args, make)
    touches, error = call.read_to_the_end(make), call.error
    lines: frozenset[SourceLine] = frozenset()
    if line is not None and (touches.sources or error is None):
        lines = chosen_lines(line, touches.sources, "performs a global access")
    found = {name: touches.tensors.get(name) for name in shapes}
    touched = {name: _columns(found[name], tuple(shape)) for name, shape in shapes.items()}
    if lines and tensor is None:  # show only the accesses of one line
        touched = {n: f for n, f in touched.items() if f["count"].any()} or touched
    launches = call.recording.launches
    sizes = [(math.prod(r.grid) * math.prod(r.block), r.grid, r.block) for r in launches]
    _, grid, block = max(sizes, default=(0, (0, 0, 0), (0, 0, 0)))
    return Footprint(
        name=kernel.name,
        touched=touched,
        threads={name: f.threads if f else 0 for name, f in found.items()},
        grid=grid,
        block=block,
        launches=len(sizes),
        all_threads=sum(size for size, *_ in sizes),
        by=by or ("block" if math.prod(grid) > 1 else "thread"),
        kind=kind,
        error=error,
        lines=tuple(sorted(lines, key=lambda s: (s.filename, s.line))),
    )


def _columns(found: TensorTouches | None, shape: tuple[int, ...]) -> dict[str, Array]:
    """Return a tensor's entry in `Footprint.touched`; found: None if no thread touched the
    tensor."""
    if found is None:
        nobody = np.broadcast_to(np.int32(-1), shape)
        columns = {"block": nobody, "thread": nobody}
        columns |= {column: np.broadcast_to(np.int32(0), shape) for column, *_ in _WAYS}
    else:
        names = ("block", "thread", *(column for column, *_ in _WAYS))
        columns = {name: found.column(name).reshape(shape) for name in names}
    columns["warp"] = np.floor_divide(columns["thread"], LANES, dtype=np.int16, casting="unsafe")
    columns["count"] = columns["loads"] + columns["stores"] + columns["atomics"]
    return columns


def _times(counts: Array) -> str:
    low, often = int(counts.min()), times(high := int(counts.max()))
    if low == high:
        return often if counts.size == 1 else f"each {often}"
    return f"up to {often}"
