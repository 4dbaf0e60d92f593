"""The search of `forgekit tune` on the virtual GPU, with times that stand in for a GPU's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from forgekit import ops
from forgekit.benching import tuning
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing
from forgekit.benching.tuning import adds_alike, candidates, clearly_faster, tune_case
from forgekit.devices import use_target
from forgekit.errors import PlatformError, UsageError
from forgekit.ops import operators, tuned
from forgekit.ops.row_launch import row_vectors
from forgekit.ops.row_limits import RowProblem, why_not
from forgekit.ops.softmax import _softmax
from forgekit.ops.tile_choice import RULES, RowChoice, choose_rows

ARCH = "sm_90a"
CASE = Case("softmax", (6, 1024), "float16")
SHARED = 227 * 1024
TABLE = (64, 1, 2)  # threads, rows, loads of CASE
GOOD = RowChoice("registers", 128, 1, 1, 8)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FORGEKIT_TUNING", str(tmp_path))
    monkeypatch.setattr(tuning, "time_gpu", fewest_loads)
    tuned.forget()
    with use_target("virtual", ARCH):
        yield tmp_path
    tuned.forget()


def fewest_loads(call: Any, *, repeats: int) -> Timing:
    """In place of a GPU's times: the fewer loads the faster; then the fewer rows a block."""
    tile = call.func.fn.tile
    ms = tile.loads + tile.rows / 4 + 10 * (tile.cluster > 1)
    return Timing(ms, 0.999 * ms, 1.001 * ms)


def choice_used() -> tuple[int, ...]:
    """threads, rows, loads of what the launcher compiled for CASE."""
    x = torch.empty(CASE.shape, dtype=torch.float16)
    place = x.stride(), x.data_ptr() % 16
    run: Any = operators.plan(_softmax, (-1, None), ARCH, x.dtype, x.shape, *place)[0]
    return run.fn.tile.threads, run.fn.tile.rows, run.fn.tile.loads


def with_candidates(monkeypatch: pytest.MonkeyPatch, *choices: RowChoice) -> None:
    monkeypatch.setattr(tuning, "candidates", lambda *args, **options: list(choices))


def with_first_candidates(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(
        tuning, "candidates", lambda *a, **options: candidates(*a, **options)[:count]
    )


def entries(folder: Path) -> Any:
    return json.loads((folder / "tuned-virtual-gpu-sm-90a.json").read_text())["entries"]


# -- what is tried --------------------------------------------------------------------------------
@pytest.mark.parametrize(("op", "itemsize"), RULES)
@pytest.mark.parametrize(("clusters", "shared"), [(1, 99 * 1024), (16, SHARED)])
def test_candidates_can_run_and_are_neighbours(
    op: Any, itemsize: int, clusters: int, shared: int
) -> None:
    limits = {"clusters": clusters, "shared": shared}
    for rows, size in ((8192, 8192), (2048, 1024), (64, 131072), (1, 2**24), (9, 64), (70, 8193)):
        vector, unaligned = row_vectors(size, (size,), (0,), itemsize, 1, sums=op == "sum")
        problem = RowProblem(op, rows, size, "", vector, unaligned)
        table = choose_rows(op, rows, size, itemsize, vector, unaligned, clusters)
        found = candidates(problem, table, **limits)
        assert len(found) >= 3 and table not in found and len(set(found)) == len(found)
        for c in found:
            assert why_not(c, problem, clusters, shared) is None, c
            assert c.loads in range(table.loads // 2, 2 * table.loads + 1), c
            assert c.cluster in (max(1, table.cluster // 2), table.cluster, 2 * table.cluster)
        strict = candidates(problem, table, exact=True, **limits)
        assert strict == [c for c in found if adds_alike(c, table)]


def test_the_candidates_of_a_usual_softmax() -> None:
    problem = RowProblem("softmax", 8192, 8192, "bfloat16", 8, False)
    table = RowChoice("shared", 192, 1, 6, 8, whole=5)
    found = candidates(problem, table, clusters=16, shared=SHARED)
    assert [(c.kernel, c.threads, c.rows, c.loads, c.cluster, c.whole) for c in found] == [
        ("registers", 192, 1, 6, 1, 5), ("shared", 192, 2, 6, 1, 5), ("shared", 352, 1, 3, 1, 2),
        ("shared", 256, 1, 4, 1, 4), ("shared", 128, 1, 8, 1, 8), ("shared", 96, 1, 11, 1, 10),
        ("shared", 96, 2, 11, 1, 10), ("shared", 96, 1, 6, 2, 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "shape", "dtype"),
    [("reduce_sum", (37, 301), "float32"),
     *(pytest.param(*case, marks=pytest.mark.weekly) for case in (
         ("softmax", (37, 300), "float16"), ("softmax_backward", (37, 300), "bfloat16"),
         ("reduce_sum", (3, 5000), "bfloat16")))],
)  # fmt: skip
def test_what_is_said_to_keep_every_bit_does(
    op: str, shape: tuple[int, int], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_first_candidates(monkeypatch, 2)
    found = tune_case(Case(op, shape, dtype), exact=True)
    assert (found.dropped, found.left_out, len(found.times)) == ({}, "", 3)


def test_other_bits_are_dropped_where_all_are_to_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("reduce_sum", (64, 4000), "float32")
    table = tune_case(case, exact=True).table
    other = replace(table, threads=table.threads // 2, whole=0)
    with_candidates(monkeypatch, other)
    assert other in tune_case(case).times
    assert tune_case(case, exact=True).dropped == {other: "other bits than the table's choice"}


@pytest.mark.weekly
@pytest.mark.parametrize("case", [
    Case("softmax", (3, 777), "float32"),
    Case("softmax_backward", (5, 2056), "float16"), Case("reduce_sum", (1, 1), "float32"),
    Case("reduce_sum", (1, 40000), "bfloat16"),
], ids=str)  # fmt: skip
def test_all_that_is_tried_is_right(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "time_gpu", lambda call, **options: Timing(1.0, 1.0, 1.0))
    found = tune_case(case)
    assert (found.dropped, found.left_out) == ({}, "") and len(found.times) > 3


# -- what is dropped ------------------------------------------------------------------------------
def test_a_candidate_that_is_wrong_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    short = RowChoice("registers", 32, 1, 2, 8)  # holds half of a row
    many = RowChoice("registers", 2048, 1, 1, 8)  # no GPU has such blocks
    with_candidates(monkeypatch, short, many, GOOD)
    found = tune_case(CASE)
    assert list(found.dropped) == [short, many]
    assert found.dropped[short].startswith("wrong: 6,144 of 6,144 elements are wrong")
    assert "2048" in found.dropped[many] or "2,048" in found.dropped[many]
    assert found.best == GOOD


def test_a_candidate_that_differs_from_run_to_run_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right, runs = tuning.run_of_choice, [0]

    def unsteady(call: Any, choice: RowChoice, rows: int) -> Callable[..., None]:
        def run(x: torch.Tensor, y: torch.Tensor) -> None:
            right(call, choice, rows)(x, y)
            runs[0] += 1
            if runs[0] == 2:  # the last bit of one element
                y.view(torch.int16)[3, 5] += 1

        return run

    monkeypatch.setattr(tuning, "run_of_choice", unsteady)
    found = tune_case(CASE)
    assert found.dropped == {found.table: "two runs gave different bits"}
    assert found.left_out == "the table's own choice: two runs gave different bits"


def test_a_table_that_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(tuning, "choose_rows", lambda *args: RowChoice("registers", 32, 1, 2, 8))
    with_candidates(monkeypatch, GOOD)
    found = tune_case(CASE)
    assert found.left_out.startswith("the table's own choice: wrong") and len(found.dropped) == 1
    tuning.keep(found)
    assert found.times == {} and not list(folder.iterdir())


def test_a_gpu_that_is_lost_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> None:
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(tuning, "lost_context", lambda: "gone")
    monkeypatch.setattr(tuning, "run_of_choice", fails)
    with pytest.raises(PlatformError, match=r"broke the GPU's context \(gone\)"):
        tune_case(CASE)


def test_more_rows_than_a_kernel_takes_are_refused() -> None:
    with pytest.raises(UsageError, match="--shape: got 1073741825x1, needed at most 1073741824"):
        tune_case(Case("softmax", (2**30 + 1, 1), "float16"))


# -- what is kept ---------------------------------------------------------------------------------
def test_the_best_is_stored_and_used(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    x = torch.randn(CASE.shape).half()
    ops.softmax(x)
    assert choice_used() == TABLE
    with_candidates(monkeypatch, GOOD, RowChoice("registers", 32, 1, 4, 8))
    found = tune_case(CASE)
    assert found.best == GOOD and len(found.times) == 3
    assert choice_used() == TABLE  # nothing of the search stays in the launchers
    tuning.keep(found)
    assert choice_used() == (128, 1, 1)
    torch.testing.assert_close(ops.softmax(x), x.softmax(-1))
    kept = entries(folder)["softmax float16 6x1024 vector=8"]
    assert (kept["ms"], kept["table_ms"]) == (1.25, 2.25)

    monkeypatch.setattr(tuning, "time_gpu", lambda *args, **options: Timing(1.0, 0.9, 1.1))
    found = tune_case(CASE)  # nothing is faster: the table stays, and an old entry goes
    assert found.best is None
    assert found.table.loads == 2  # what was stored is not what it is compared with
    tuning.keep(found)
    assert choice_used() == TABLE and entries(folder) == {}


@pytest.mark.parametrize(
    ("candidate", "faster"),
    [
        ([(0.97, 0.96, 0.975), (0.97, 0.96, 0.975)], True),
        ([(0.985, 0.983, 0.987)], False),  # less than 2 %
        ([(0.9, 0.8, 0.991)], False),  # within the band
        ([(0.9, 0.89, 0.91), (1.0, 0.99, 1.01)], False),  # not again
    ],
)
def test_what_counts_as_faster(candidate: list[tuple[float, ...]], faster: bool) -> None:
    table = [Timing(1.0, 0.99, 1.01), Timing(1.01, 1.0, 1.02)]
    assert clearly_faster([Timing(*times) for times in candidate], table) is faster


def test_all_rounds_decide_not_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    lucky, steady = GOOD, RowChoice("registers", 64, 2, 2, 8)
    with_candidates(monkeypatch, lucky, steady)
    times = {TABLE: [10.0, 10.0], (128, 1, 1): [5.0, 12.0], (64, 2, 2): [8.0, 8.0]}

    def next_time(call: Any, *, repeats: int) -> Timing:
        tile = call.func.fn.tile
        ms = times[tile.threads, tile.rows, tile.loads].pop(0)
        return Timing(ms, ms, ms)

    monkeypatch.setattr(tuning, "time_gpu", next_time)
    found = tune_case(CASE)
    assert found.best == steady and found.times[steady].median_ms == 8.0
