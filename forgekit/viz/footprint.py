"""Show which thread touched which element of a kernel's tensors, as data, words and a picture."""

from __future__ import annotations

import functools
import io
import math
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.errors import KernelError, MemoryAccessError, UsageError, got_needed

if TYPE_CHECKING:
    import torch
    from matplotlib.figure import Figure

    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.vgpu.tracing import AccessTrace

__all__ = ["Footprint", "footprint"]

Array = np.ndarray[Any, np.dtype[Any]]

# Column of `touched`, past participle, whether it counts for kind="load" and for kind="store".
_WAYS = (("loads", "read", True, False), ("stores", "written", False, True),
         ("atomics", "updated", False, True))  # fmt: skip
_COLUMNS = tuple(column for column, *_ in _WAYS)


@dataclass(frozen=True, eq=False)
class Footprint:
    """What a kernel touched in its tensors; a notebook shows it as a picture.

    Attributes:
        name: the host function's name.
        touched: tensor name -> arrays of the tensor's shape: `block` and `thread`, the first that
            touched the element (linear indexes, x fastest; -1: none did), `loads`, `stores`,
            `atomics` and their sum `count`, how often it was touched.
        threads: tensor name -> how many threads touched it.
        grid, block: blocks in the grid and threads in a block, each (x, y, z), of the largest
            launch. launches: how many kernels the function launched.
        by: what the colours tell apart, "block" or "thread". kind: "any", "load" or "store".
        error: what stopped the kernel, else None.
        recorded, accesses: how many accesses of one thread were recorded, and how many happened.
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
    recorded: int
    accesses: int

    @property
    def many_blocks(self) -> bool:
        return math.prod(self.grid) > 1

    # -- words --------------------------------------------------------------------------------
    @property
    def headline(self) -> str:
        """`copy: 8 blocks of 128 threads`"""
        if not self.launches:
            return f"{self.name}: nothing was launched"
        blocks, threads = _size(self.grid, "block"), _size(self.block, "thread")
        more = f", the largest of {self.launches} launches" if self.launches > 1 else ""
        return f"{self.name}: {blocks} of {threads}{more}"

    @property
    def summary(self) -> str:
        """All that the picture says with numbers, in a line for each tensor."""
        lines = [f"footprint of {self.headline}"]
        lines += [f"  {name}: {self.told(name)}" for name in self.touched]
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    @property
    def notes(self) -> list[str]:
        """What stopped the kernel, and what is missing from the record."""
        notes = []
        if self.error is not None:
            lines = [line.strip() for line in str(self.error).split("\n")]
            notes += [f"stopped: {lines[0]}", *lines[1:2]]
            if self.launches:
                notes.append("Shown is what had happened before.")
        if self.recorded < self.accesses:
            notes.append(
                f"only the first {self.recorded:,} of {self.accesses:,} accesses are shown"
            )
        return notes

    def verb(self, name: str) -> str:
        """`read`, `written`, `read and written`, …, or `untouched`."""
        verbs = [verb for column, verb, *_ in _WAYS if self.touched[name][column].any()]
        return " and ".join(verbs) or "untouched"

    def told(self, name: str) -> str:
        """`8 of 8 elements read, each once, by 8 threads`"""
        found, total = self.touched[name], self.touched[name]["count"].size
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
        text = f"{'; '.join(parts)}, by {_plural(threads, 'thread')}"
        idle = self.all_threads - threads
        return text + (f"; {_plural(idle, 'thread')} had none" if idle else "")

    def __repr__(self) -> str:
        return self.summary

    # -- pictures -----------------------------------------------------------------------------
    @functools.cached_property
    def figure(self) -> Figure:
        """The picture, a matplotlib Figure: a panel a tensor."""
        from forgekit.viz.footprint_figure import draw

        return draw(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from forgekit.viz.png import img_tag

        alt = self.summary.replace("\n ", ";")
        return {"text/plain": self.summary, "text/html": img_tag(self.figure, alt)}


def footprint(
    kernel: CompiledKernel,
    *args: Any,
    tensor: str | None = None,
    by: str | None = None,
    kind: str = "any",
) -> Footprint:
    """Run a kernel on the virtual GPU and show which thread touched which element.

    It runs on copies: the tensors passed stay as they are, and what it prints is not shown. A
    kernel that fails does not raise here; the picture then shows what had happened until then.

    Args:
        kernel: what `forgekit.compile` returned, for a GPU or the virtual one.
        args: its arguments, as in a call.
        tensor: show this tensor only, by the name of its parameter.
        by: "block" or "thread", what the colours tell apart; by default the block, or the thread
            where there is one block only.
        kind: "load" or "store" shows these alone (an atomic operation counts as a store).

    Raises:
        UsageError: not a compiled kernel, arguments it was not compiled for, an unknown tensor
            name, `by` or `kind`.
    """
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.compiling.parameters import bind_call

    if not isinstance(kernel, CompiledKernel):
        remedy = "compile it first: run = fk.compile(copy, x, y); fk.footprint(run, x, y)"
        raise UsageError(got_needed("footprint", kernel, "a compiled kernel", remedy))
    _one_of("by", by, (None, "block", "thread"))
    _one_of("kind", kind, ("any", "load", "store"))
    runtime = [p for p in kernel.parameters if p.kind in ("tensor", "scalar")]
    if len(args) != len(runtime):
        args = bind_call(kernel.name, kernel.parameters, args, {})
    shapes = {p.name: getattr(a, "shape", ()) for p, a in zip(runtime, args, strict=True)
              if p.kind == "tensor"}  # fmt: skip
    if tensor is not None:
        _one_of("tensor", tensor, tuple(shapes))
        shapes = {tensor: shapes[tensor]}

    trace, error = _run(kernel.on_virtual_gpu(), args)
    blocks = [math.prod(r.grid) for r in trace.launches]
    if isinstance(error, MemoryAccessError) and blocks and blocks[-1] > 1:
        # Blocks run together, and the first wrong access stops them all: one by one, those before
        # it come to their end.
        trace, _ = _run(kernel.on_virtual_gpu(), args, batch_threads=1)
    touched, threads = {}, {}
    for name, shape in shapes.items():
        touched[name], threads[name] = _touched(trace, name, tuple(shape), kind)
    sizes = [(math.prod(r.grid) * math.prod(r.block), r.grid, r.block) for r in trace.launches]
    _, grid, block = max(sizes, default=(0, (0, 0, 0), (0, 0, 0)))
    return Footprint(
        name=kernel.name,
        touched=touched,
        threads=threads,
        grid=grid,
        block=block,
        launches=len(sizes),
        all_threads=sum(size for size, *_ in sizes),
        by=by or ("block" if math.prod(grid) > 1 else "thread"),
        kind=kind,
        error=error,
        recorded=len(trace.accesses),
        accesses=trace.total,
    )


def _one_of(what: str, got: object, known: tuple[object, ...]) -> None:
    if got not in known:
        needed = "one of " + ", ".join(repr(k) for k in known)
        raise UsageError(got_needed(what, repr(got), needed, "choose one of these"))


def _run(
    kernel: CompiledKernel, args: tuple[Any, ...], **options: int
) -> tuple[AccessTrace, KernelError | None]:
    """Run on copies, quietly; what was recorded, and what stopped it."""
    from forgekit import vgpu
    from forgekit.vgpu.tracing import AccessTrace

    trace = AccessTrace()
    storages: dict[tuple[str, int], torch.UntypedStorage] = {}
    copies = [_copy(a, storages) for a in args]
    try:
        with vgpu.options(listeners=(trace,), **options), redirect_stdout(io.StringIO()):
            kernel(*copies)
    except KernelError as error:
        return trace, error.with_traceback(None)  # whose frames hold the whole machine
    return trace, None


def _copy(value: Any, storages: dict[tuple[str, int], torch.UntypedStorage]) -> Any:
    """A tensor's copy on the CPU, laid out as it is; tensors that share memory still do."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    original = value.untyped_storage()
    key = (str(value.device), original.data_ptr())
    if key not in storages:
        storages[key] = original.clone() if value.device.type == "cpu" else original.cpu()
    layout = value.storage_offset(), value.size(), value.stride()
    return torch.empty(0, dtype=value.dtype).set_(storages[key], *layout)


def _touched(
    trace: AccessTrace, name: str, shape: tuple[int, ...], kind: str
) -> tuple[dict[str, Array], int]:
    """A tensor's entry in `Footprint.touched`, and how many threads touched it."""
    from forgekit.vgpu.tracing import KINDS, element_numbers, element_offsets

    total = math.prod(shape)
    if name not in trace.tensors:  # nothing was launched
        never = {c: np.full(shape, -1) for c in ("block", "thread")}
        return never | {c: np.zeros(shape, np.int64) for c in ("count", *_COLUMNS)}, 0
    row, element = trace.touches(name)
    wanted = [k for k, (*_, loads, stores) in enumerate(_WAYS)
              if kind == "any" or (loads if kind == "load" else stores)]  # fmt: skip
    keep = np.isin(trace.accesses.kind[row], wanted)
    row, element = row[keep], element[keep]
    found = {
        f"{k}s": np.bincount(element[trace.accesses.kind[row] == i], minlength=total)
        for i, k in enumerate(KINDS)
    }
    found["count"] = sum(found.values(), np.zeros(total, np.int64))
    for column in ("block", "thread"):
        first = np.full(total, -1)
        first[element[::-1]] = getattr(trace.accesses, column)[row[::-1]]  # the last one stays
        found[column] = first
    info = trace.tensors[name]
    same = element_numbers(info, element_offsets(info))  # elements that share memory
    columns = {c: values[same].reshape(shape) for c, values in found.items()}
    who = [getattr(trace.accesses, c)[row].astype(np.int64) for c in ("launch", "block", "thread")]
    return columns, len(np.unique((who[0] << 42) + (who[1] << 10) + who[2]))


# -- words ------------------------------------------------------------------------------------
def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _size(size: tuple[int, int, int], noun: str) -> str:
    """`8 blocks`, or `1,024 blocks (32 × 32)`."""
    used = size[: max((i + 1 for i, n in enumerate(size) if n > 1), default=1)]
    shape = f" ({' × '.join(f'{n:,}' for n in used)})" if len(used) > 1 else ""
    return _plural(math.prod(size), noun) + shape


def _times(counts: Array) -> str:
    """How often elements were touched, from counts above 0."""
    low, high = int(counts.min()), int(counts.max())
    often = {1: "once", 2: "twice"}.get(high, f"{high:,} times")
    if low == high:
        return often if counts.size == 1 else f"each {often}"
    return f"up to {often}"
