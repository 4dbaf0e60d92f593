"""Test Dask with a waiting worker and, weekly, with worker processes that are killed while they
work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forgekit.benching.suites import running, spread
from forgekit.benching.suites.running import (
    CaseOutcome,
    Settings,
    failed_case,
    merge,
    new_results,
    run_cases,
)
from forgekit.benching.suites.suite import Case
from forgekit.errors import PlatformError, UsageError
from tests.benching.suites import spread_work
from tests.benching.suites.suite_made import GPU

dask = pytest.importorskip("dask", reason="Dask is not installed: uv sync --extra remote")
LocalCluster = pytest.importorskip(
    "distributed", reason="Dask is not installed: uv sync --extra remote"
).LocalCluster

CASES = [Case("copy_transpose", (n, 40), "float32") for n in (8, 16, 24, 33, 34, 35, 36, 37)]
SETTINGS = Settings(device="virtual")


@pytest.mark.weekly
def test_the_cases_of_a_worker_that_is_killed_are_run_again(tmp_path: Path) -> None:
    what = {2: "raise", 6: "die"}
    pieces = [(case, SETTINGS, tmp_path, what.get(k, "")) for k, case in enumerate(CASES)]
    outcomes = spread.spread(
        spread_work.run_or_die,
        pieces,
        scheduler="local:2",
        failed=lambda piece, error: failed_case(piece[:2], error),
    )
    results = merge(new_results("x"), outcomes)
    assert (tmp_path / "killed").exists()
    # only unfinished work may run again
    assert len((tmp_path / "runs").read_text().splitlines()) <= len(CASES) + 2
    assert {p.name for p in tmp_path.glob("gpu *")} == {"gpu 0", "gpu 1"}
    assert [r.case for r in results.rows] == CASES  # in the suite's order
    assert [r.status for r in results.rows] == ["ok", "ok", "error", *["ok"] * 5]
    assert results.rows[2].error == "ValueError: no"
    here = merge(new_results("x"), run_cases(CASES, SETTINGS))
    del results.rows[2], here.rows[2]
    assert results.to_dict() == here.to_dict()


@pytest.mark.weekly
def test_what_kills_every_worker_is_a_failure() -> None:
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        [(index, said)] = spread.spread(
            spread_work.kill_worker,
            [7],
            scheduler="local:1",
            failed=lambda item, error: f"{item}: {type(error).__name__}",
        )
    assert (index, said) == (0, "7: KilledWorker")


def test_a_worker_whose_context_is_lost_leaves_before_its_next_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[int] = []
    lost = CaseOutcome((), GPU, lost="an illegal memory access")
    monkeypatch.setattr(running, "run_case", lambda case, settings: lost)
    monkeypatch.setattr(spread, "_lost", False)
    monkeypatch.setattr(spread.os, "_exit", left.append)
    assert spread.run_case_here((CASES[0], SETTINGS)) is lost and not left
    spread.run_case_here((CASES[1], SETTINGS))
    assert left == [1]


def test_a_case_that_never_came_back_is_a_row() -> None:
    outcome = failed_case((CASES[0], Settings(peers=("torch",))), RuntimeError("killed"))
    assert [(r.contender, r.error) for r in outcome.rows] == [
        ("forgekit", "RuntimeError: killed"),
        ("torch", "RuntimeError: killed"),
    ]
    assert outcome.machine is None


@pytest.mark.parametrize(
    "text",
    ["two", "local:0", "local", "localhost:8786", "tcp://host", "tls://host:1", "ucx://host:1"],
)
def test_schedulers_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError, match=r"needed local:2 or tcp://host:8786"):
        spread.check_scheduler(text)


def test_more_workers_than_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    spread.check_scheduler("local:2")
    with pytest.raises(UsageError, match="at most 2 GPUs; use local:2"):
        spread.check_scheduler("local:3")


def test_gpus_that_are_hidden_stay_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert spread._environment(1) == {"CUDA_VISIBLE_DEVICES": "6"}


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "_CONNECT_S", 0.2)
    with pytest.raises(PlatformError, match="a scheduler with workers"):
        list(spread.spread(spread_work.kill_worker, [1], scheduler="tcp://127.0.0.1:9",
                           failed=lambda item, error: None))  # fmt: skip


@contextmanager
def waiting_worker(threads: int) -> Iterator[str]:
    """Return the address of a scheduler whose only worker is in this process."""
    with LocalCluster(n_workers=1, threads_per_worker=threads, processes=False,
                      dashboard_address=None, protocol="tcp") as cluster:  # fmt: skip
        yield cluster.scheduler_address


def run_or_raise(piece: tuple[Case, Settings]) -> CaseOutcome:
    if piece[0] == CASES[2]:
        raise ValueError("no")
    return spread.run_case_here(piece)


def test_a_waiting_worker_runs_the_cases() -> None:
    pieces = [(case, SETTINGS) for case in CASES[:4]]
    with waiting_worker(1) as address:
        outcomes = spread.spread(run_or_raise, pieces, scheduler=address, failed=failed_case)
        results = merge(new_results("x"), outcomes)
    assert [r.case for r in results.rows] == CASES[:4]
    assert [r.status for r in results.rows] == ["ok", "ok", "error", "ok"]
    assert results.rows[2].error == "ValueError: no"
    here = merge(new_results("x"), run_cases(CASES[:4], SETTINGS))
    del results.rows[2], here.rows[2]
    assert results.to_dict() == here.to_dict()


def test_workers_of_several_threads_are_refused() -> None:
    with (
        waiting_worker(2) as address,
        pytest.raises(UsageError, match="workers with 2 threads, needed workers with one thread"),
    ):
        list(spread.spread(spread_work.kill_worker, [1], scheduler=address,
                           failed=lambda item, error: None))  # fmt: skip
