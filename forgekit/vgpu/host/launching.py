"""Run a kernel launch on the virtual GPU, in batches of blocks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from forgekit.vgpu import environment, plugins, sampling
from forgekit.vgpu.adversary import Adversary
from forgekit.vgpu.errors import KernelError, SanitizerError
from forgekit.vgpu.host.limits import blocks_at_once, check_limits
from forgekit.vgpu.host.options import current, options
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.listeners import Listener
from forgekit.vgpu.machine import WARP, Machine
from forgekit.vgpu.machine.printf import Printer
from forgekit.vgpu.memory import GlobalMemory, TensorInfo
from forgekit.vgpu.memory.storage import block_bytes
from forgekit.vgpu.program import Program
from forgekit.vgpu.sampling import Part
from forgekit.vgpu.sanitizer import Sanitizer
from forgekit.vgpu.sanitizer.findings import unwritten

# Limit on a batch's shared and local memory. A low limit also saves time, because this memory is
# filled before each batch.
BATCH_BYTES = 64 << 20

_TOGETHER = 4  # how much larger a batch may become if blocks may wait for each other

_PROGRESS_AFTER_S = 2.0
_LONG_S = 10.0  # if a launch will take longer, suggest counting a sample
_advised = False

# The repetition of an endless launch may use 1 / _OF_AN_ENDLESS of the budget.
_OF_AN_ENDLESS = 20


def launch(program: Program, record: LaunchRecord, memory: GlobalMemory) -> None:
    """Run every block of a launch.

    Raises:
        LaunchError: the grid, block, cluster or shared memory exceeds the architecture's limits.
        KernelError: a mistake stopped the kernel; see `forgekit.errors`.
        SanitizerError: the kernel completed, but the sanitizer found a mistake.
    """
    try:
        check_limits(program, record)
        _launch(program, record, memory)
    except SanitizerError:
        raise
    except KernelError as error:
        raise plugins.active.stopped(error) from error.__cause__


def _launch(program: Program, record: LaunchRecord, memory: GlobalMemory) -> None:
    chosen = current()
    record = _place_symbols(program, record, memory)
    if chosen.launched is not None:
        chosen.launched.append(record.kernel)
    sanitizer = Sanitizer(program, record, memory) if chosen.sanitize else None
    listeners = (*chosen.listeners, *(sanitizer.listeners if sanitizer else ()))
    try:
        try:
            _run_batches(sanitizer.program if sanitizer else program, record, memory, listeners)
        except KernelError as error:
            if sanitizer is not None and sanitizer.read_blank and chosen.findings is not None:
                sanitizer = _rerun_precisely(sanitizer, record, memory, error)
            raise
        if sanitizer is not None and sanitizer.needs_precise_rerun:
            sanitizer = _rerun_precisely(sanitizer, record, memory)
        if sanitizer is not None:
            sanitizer.finish()
    finally:
        if sanitizer is not None and chosen.findings is not None:
            chosen.findings += sanitizer.findings
    if sanitizer is not None and chosen.findings is None:
        errors = [f for f in sanitizer.findings if f.severity == "error"]
        if errors:
            raise SanitizerError("\n\n".join(f.message for f in errors), errors)


def _rerun_precisely(
    first: Sanitizer, record: LaunchRecord, memory: GlobalMemory, error: KernelError | None = None
) -> Sanitizer:
    """Repeat a launch with a precise sanitizer. error: the error that stopped the launch, and will
    also stop the repetition."""
    sanitizer = first.look_again()
    budget = current().budget
    if error is not None and error.kind == "endless":  # stop the repetition sooner
        budget //= _OF_AN_ENDLESS
    with options(prints=False, budget=budget):  # the first run has already printed the output
        try:
            _run_batches(sanitizer.program, record, memory, sanitizer.listeners)
        except KernelError:
            if error is None:
                raise
        sanitizer.compare(
            lambda program, listeners: _run_batches(program, record, memory, listeners)
        )
    return sanitizer


def finish_call(memory: GlobalMemory) -> None:
    """End a call to a host function after all its launches; add notes on unwritten elements."""
    chosen = current()
    if chosen.sanitize and chosen.findings is not None:
        chosen.findings += unwritten(memory)


def _run_batches(
    program: Program,
    record: LaunchRecord,
    memory: GlobalMemory,
    listeners: Sequence[Listener],
) -> None:
    chosen = current()
    parts = sampling.parts(record, chosen.blocks)
    n_blocks = sum(len(part.blocks) for part in parts)
    per_batch = n_blocks if record.cooperative else _blocks_in_a_batch(program, record)
    if chosen.schedule == "adversarial" and program.polls(0, len(program.instructions)):
        # The blocks may wait for each other, so run more of them together: at most the number that
        # fits on a GPU, and at most a number that limits the run time.
        threads = record.block_warps * WARP
        most = min(blocks_at_once(threads), _TOGETHER * chosen.batch_threads // threads)
        per_batch = max(per_batch, most // record.cluster_blocks * record.cluster_blocks)
    backwards = chosen.schedule == "adversarial" and Adversary(chosen.seed, 0).backwards
    batches = _batches(parts, per_batch, -1 if backwards else 1)
    printer = Printer(chosen.prints)
    try:
        with np.errstate(all="ignore"):
            for part in _with_progress(batches, n_blocks) if chosen.progress else batches:
                run_batch(program, record, memory, part.blocks, printer, listeners, part)
    finally:
        printer.close()


def _batches(parts: Sequence[Part], size: int, step: int) -> Iterator[Part]:
    """Divide the parts into batches, one at a time, because all batches of a very large grid would
    not fit into memory."""
    for part in parts:
        for start in range(0, len(part.blocks), size)[::step]:
            yield part._replace(blocks=part.blocks[start : start + size])


def _blocks_in_a_batch(program: Program, record: LaunchRecord) -> int:
    """Return the number of blocks that run in lockstep, a multiple of the cluster size.

    A cooperative launch instead runs all its blocks together, because they may wait for each other.
    """
    threads = record.block_warps * WARP
    of_a_block = block_bytes(program.shared_bytes(record), threads, program.local_bytes)
    by_memory = BATCH_BYTES // max(of_a_block, 1)
    together = record.cluster_blocks
    return max(1, min(current().batch_threads // threads, by_memory) // together) * together


def run_batch(
    program: Program,
    record: LaunchRecord,
    memory: GlobalMemory,
    blocks: Sequence[int],
    printer: Printer | None = None,
    listeners: Sequence[Listener] | None = None,
    part: Part | None = None,
) -> Machine:
    """Run some blocks of a launch to completion, and print their output in block order.

    part: the part of a sample (see `sampling.py`) to which the blocks belong.
    """
    chosen = current()
    machine = Machine(
        program,
        record,
        memory,
        blocks,
        budget=chosen.budget,
        listeners=chosen.listeners if listeners is None else listeners,
        printer=printer or Printer(chosen.prints),
        adversary=(Adversary(chosen.seed, blocks[0]) if chosen.schedule == "adversarial" else None),
    )
    machine.part = part
    for listener in machine.listeners:
        listener.on_batch(machine)
    try:
        machine.run(program.steps)
    except KernelError:
        for listener in machine.listeners:
            listener.on_stop(machine)
        raise
    finally:
        machine.printer.flush()
    for listener in machine.listeners:
        listener.on_batch_end(machine)
    return machine


def _with_progress(batches: Iterable[Part], n_blocks: int) -> Iterator[Part]:
    """Yield the batches, and show a progress bar during a long launch."""
    began, bar, done = time.perf_counter(), None, 0
    try:
        for part in batches:
            yield part
            done += len(part.blocks)
            if bar is not None:
                bar.update(len(part.blocks))
            elif (took := time.perf_counter() - began) > _PROGRESS_AFTER_S and done < n_blocks:
                from tqdm import tqdm

                _advise(took * n_blocks / done)
                # None disables the bar if stderr is not a terminal.
                bar = tqdm(
                    total=n_blocks,
                    initial=done,
                    desc="virtual GPU",
                    unit="block",
                    leave=False,
                    disable=False if environment.ipython() else None,
                )
    finally:
        if bar is not None:
            bar.close()


def _advise(whole_s: float) -> None:
    """Print, once per process, that a launch is slow and how to count only a sample of its
    blocks."""
    global _advised
    if _advised or whole_s < _LONG_S or current().blocks is not None:
        return
    _advised = True
    long = f"{whole_s:.0f} s" if whole_s < 120 else f"{whole_s / 60:.0f} min"
    print(f"forgekit: this launch takes about {long} on the virtual GPU. To count only a sample of "
          "its blocks, use `forgekit profile --blocks 64 SCRIPT` or fk.profile(..., blocks=64).",
          file=sys.stderr)  # fmt: skip


def _place_symbols(program: Program, record: LaunchRecord, memory: GlobalMemory) -> LaunchRecord:
    """Place the program's module variables (format strings, constants) in memory, and record their
    addresses."""
    symbols = {}
    for v in program.module.variables.values():
        if v.space in ("global", "const"):
            data = np.frombuffer(v.data or bytes(v.size_bytes), np.uint8).copy()
            info = TensorInfo(v.name, "bytes", 1, (v.size_bytes,), (1,))
            symbols[v.name] = memory.add_array(data, info).address
    return replace(record, symbols=symbols)


def translate_pointers(params: bytes, memory: GlobalMemory, slots: Sequence[int]) -> bytes:
    """Return the parameters with pointers to real tensors replaced by virtual addresses.

    slots: the byte offsets of the 8-byte words that may contain a pointer.
    """
    words = bytearray(params)
    for at in slots:
        value = int.from_bytes(words[at : at + 8], "little")
        virtual = memory.translate(value) if value else None
        if virtual is not None:
            words[at : at + 8] = virtual.to_bytes(8, "little")
    return bytes(words)
