"""Distribute independent items of work, such as the cases of a suite, to Dask workers, one per GPU.

    --scheduler local:2                    two local workers, which use GPUs 0 and 1 if present
    --scheduler tcp://10.0.0.5:8786        workers waiting at this address

A worker is a process with one thread, so two items never share a GPU:

    dask scheduler
    CUDA_VISIBLE_DEVICES=0 dask worker tcp://10.0.0.5:8786 --nworkers 1 --nthreads 1

If a worker is lost, Dask passes its item to another worker. This module needs the extra `remote`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from forgekit.errors import PlatformError, brief, got_needed, usage_error

if TYPE_CHECKING:
    from distributed import Client

    from forgekit.benching.suites.running import CaseOutcome, Settings
    from forgekit.benching.suites.suite import Case

Item = TypeVar("Item")
Result = TypeVar("Result")

_WAIT_S = 60  # seconds to wait for workers, which import torch
_CONNECT_S = 10

_lost = False  # True once this worker can no longer use its GPU


def check_scheduler(scheduler: str) -> None:
    """Raise UsageError if a scheduler is neither `local:N` nor an address, or if N exceeds the
    number of GPUs. Raise PlatformError if Dask is not installed.
    """
    count = local_workers(scheduler)
    if count is None and not re.fullmatch(r"tcp://[^\s/]+:\d+", scheduler):
        needed, remedy = "local:2 or tcp://host:8786", "copy the address from `dask scheduler`"
        raise usage_error("--scheduler", brief(scheduler), needed, remedy)
    try:
        import distributed  # noqa: F401
    except ImportError:
        remedy = "install it with `uv sync --extra remote`"
        raise PlatformError(
            got_needed("--scheduler", "no Dask", "dask[distributed]", remedy)
        ) from None
    if count is None:
        return
    import torch

    gpus = torch.cuda.device_count()
    if gpus and count > gpus:
        remedy = f"use local:{gpus}"
        raise usage_error("--scheduler", scheduler, f"at most {gpus} GPUs", remedy)


def local_workers(scheduler: str) -> int | None:
    """Return N for `local:N`, or None for the address of a scheduler."""
    found = re.fullmatch(r"local:([1-9]\d*)", scheduler)
    return int(found[1]) if found else None


def spread(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    scheduler: str,
    failed: Callable[[Item, BaseException], Result],
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) of `function` for each item, in the order of completion.

    function: a module-level function that workers can import. scheduler: `local:N` or an address.
    failed(item, error): returns the item's result if `function` raises an exception, or if three
    workers were lost while running the item.

    Raises:
        UsageError, PlatformError: as for `check_scheduler`; also if the scheduler does not respond
            or a worker has several threads.
    """
    check_scheduler(scheduler)
    from distributed import as_completed

    with _client(scheduler) as client:
        futures = client.map(function, items, pure=False, key="forgekit")
        indices = {future.key: index for index, future in enumerate(futures)}
        try:
            for future in as_completed(futures, loop=client.loop, raise_errors=False):
                index = indices[future.key]
                try:
                    result = future.result()
                except Exception as error:
                    result = failed(items[index], error)
                future.release()  # otherwise Dask would repeat the item if its worker were lost
                yield index, result
        finally:
            client.cancel(futures)


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Client]:
    from distributed import Client

    count = local_workers(scheduler)
    with contextlib.ExitStack() as stack:
        where: Any = scheduler if count is None else stack.enter_context(_cluster(count))
        try:
            client = stack.enter_context(Client(where, timeout=_CONNECT_S, set_as_default=False))
            client.wait_for_workers(count or 1, timeout=_WAIT_S)
        except (OSError, TimeoutError) as error:
            said = f"{scheduler}: {str(error).splitlines()[0] if str(error) else 'no answer'}"
            needed, remedy = "a scheduler with workers", "start `dask scheduler` and `dask worker`"
            raise PlatformError(got_needed("--scheduler", said, needed, remedy)) from None
        workers = client.scheduler_info(n_workers=-1)["workers"]
        threads = max(worker["nthreads"] for worker in workers.values())
        if threads > 1:
            remedy = "start them with `dask worker --nthreads 1`"
            got = f"workers with {threads} threads"
            raise usage_error(
                "--scheduler", got, "workers with one thread and one GPU each", remedy
            )
        yield client


def _cluster(count: int) -> Any:
    """Start local workers, each with its own GPU if the machine has any; Dask replaces lost
    workers.
    """
    from distributed import Nanny, Scheduler, SpecCluster

    quiet = {"dashboard": False, "silence_logs": logging.CRITICAL}
    workers = {
        number: {
            "cls": Nanny,
            "options": {**quiet, "nthreads": 1, "env": _environment(number)},
        }
        for number in range(count)
    }
    local = {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    return SpecCluster(
        workers=workers,
        scheduler={"cls": Scheduler, "options": local},
        silence_logs=logging.CRITICAL,
    )


def _environment(number: int) -> dict[str, str]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    chosen = visible.split(",")[number : number + 1] if visible else []
    return {"CUDA_VISIBLE_DEVICES": chosen[0] if chosen else str(number)}


def run_case_here(piece: tuple[Case, Settings]) -> CaseOutcome:
    """Run `run_case` on a worker. A worker whose GPU context broke exits at the next case; Dask
    then starts a new process and passes the case to another worker.
    """
    global _lost
    from forgekit.benching.suites.running import run_case

    if _lost:
        os._exit(1)
    outcome = run_case(*piece)
    _lost = bool(outcome.lost)
    return outcome
