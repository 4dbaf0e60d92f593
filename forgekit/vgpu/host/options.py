"""Manage the virtual GPU's options, which are set for a thread, for the process or in the
environment."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace

from forgekit.vgpu import environment
from forgekit.vgpu.errors import usage_error
from forgekit.vgpu.listeners import Listener
from forgekit.vgpu.sampling import FEWEST
from forgekit.vgpu.sanitizer import Finding
from forgekit.vgpu.wording import brief

# Threads per batch, chosen so that an instruction's registers fit into a core's L2 cache. (Measured
# on an AMD EPYC with 1 MiB of L2 cache per core: 16 to 64 thousand threads are equally fast; fewer
# or more are slower.)
BATCH_THREADS = 32 * 1024

SCHEDULES = ("default", "adversarial")

goes_on = False  # True if scripts continue after a finding; `reporting` sets it
COLLECTED: list[Finding] = []  # findings of a script that continued


@dataclass
class Options:
    """The virtual GPU's options. Environment variables can set the defaults.

    blocks: the number of blocks (at least 8) to run per launch if the launch is only counted;
    `forgekit.vgpu.sampling` chooses them, and the kernel's results are then incomplete. None: run
    all blocks. budget: the number of instructions in a batch after which a kernel counts as
    endless; listeners: objects that observe every launch; batch_threads: the number of threads that
    run in lockstep; progress: True to show a bar during long launches; prints: True to show
    kernels' output.

    sanitize: True to look for races, unwritten memory and other mistakes, and to raise
    SanitizerError after the launch. findings: a list that receives the findings and notes; no
    exception is then raised, and inner blocks cannot switch the sanitizer off. The default is None,
    or `COLLECTED` if scripts continue after a finding. launched: a list that receives the name of
    each launched kernel. schedule: `default` (lockstep) or `adversarial`: threads run in
    adversarial orders, asynchronous copies complete at adversarial times, and unwritten memory
    contains noise, all determined by `seed`.
    """

    budget: int = field(
        default_factory=functools.partial(environment.number, "FORGEKIT_BUDGET", 4_000_000)
    )
    blocks: int | None = None
    listeners: tuple[Listener, ...] = ()
    batch_threads: int = BATCH_THREADS
    progress: bool = True
    prints: bool = True
    sanitize: bool = field(
        default_factory=functools.partial(environment.is_on, "FORGEKIT_SANITIZER", True)
    )
    findings: list[Finding] | None = field(default_factory=lambda: COLLECTED if goes_on else None)
    launched: list[str] | None = None
    schedule: str = "default"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.blocks is not None and not (isinstance(self.blocks, int) and self.blocks >= FEWEST):
            needed = f"a whole number of at least {FEWEST}"
            raise usage_error(
                "blocks", brief(self.blocks), needed, "leave it out to run all blocks"
            )
        if not isinstance(self.schedule, str) or self.schedule not in SCHEDULES:
            needed = f"one of {', '.join(SCHEDULES)}"
            remedy = "leave it out for the usual order"
            raise usage_error("schedule", brief(self.schedule), needed, remedy)


_options: ContextVar[Options | None] = ContextVar("forgekit_vgpu_options", default=None)
_of_process: Options | None = None  # for threads that have not set any


def current() -> Options:
    """Return the current options of this thread.

    Raises:
        UsageError: an environment variable has an invalid value.
    """
    return _options.get() or _of_process or Options()


@contextmanager
def options(**changes: object) -> Iterator[Options]:
    """Change the virtual GPU's options within a `with` block. changes: fields of `Options`.

    The options change only in this thread; with `all_threads=True`, they also change in threads
    that start within the block.
    """
    global _of_process
    all_threads = bool(changes.pop("all_threads", False))
    before, chosen = (_options.get(), _of_process), _changed(changes)
    _options.set(chosen)
    if all_threads:
        _of_process = chosen
    try:
        yield chosen
    finally:
        _options.set(before[0])
        if all_threads:
            _of_process = before[1]


def _changed(changes: dict[str, object]) -> Options:
    known = [f.name for f in fields(Options)]
    for name in changes:
        if name not in known:
            needed = f"one of {', '.join(known)}"
            raise usage_error("option", brief(name), needed, "check the name")
    before = current()
    given = before.findings is not None and before.findings is not COLLECTED
    if given and not changes.get("sanitize", True):
        del changes["sanitize"]
    return replace(before, **changes)  # type: ignore[arg-type]
