"""The search of `forgekit tune` on the virtual GPU, with times that stand in for a GPU's."""

from __future__ import annotations

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
from forgekit.benching.tuning import (
    CheckedCalls,
    DroppedError,
    candidates,
    clearly_faster,
    plan,
    same_bits,
    tune_case,
)
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


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FORGEKIT_TUNING", str(tmp_path))
    tuned.forget()
    with use_target("virtual", ARCH):
        yield tmp_path
    tuned.forget()


def fewest_loads(call: Callable[[], Any], choice: RowChoice, repeats: int) -> Timing:
    """In place of a GPU's times: the fewer loads the faster; then the fewer rows a block."""
    ms = choice.loads + choice.rows / 4 + 10 * (choice.cluster > 1)
    return Timing(ms, 0.999 * ms, 1.001 * ms)


def choice_used() -> tuple[int, ...]:
    """threads, rows, loads of what the launcher compiled for CASE."""
    x = torch.empty(CASE.shape, dtype=torch.float16)
    place = x.stride(), x.data_ptr() % 16
    run: Any = operators.plan(_softmax, (-1, None), ARCH, x.dtype, x.shape, *place)[0]
    return run.fn.tile.threads, run.fn.tile.rows, run.fn.tile.loads


def with_candidates(monkeypatch: pytest.MonkeyPatch, *choices: RowChoice) -> None:
    monkeypatch.setattr(tuning, "candidates", lambda *args, **options: list(choices))


# -- what is tried --------------------------------------------------------------------------------
@pytest.mark.parametrize(("op", "itemsize"), RULES)
@pytest.mark.parametrize(("clusters", "shared"), [(1, 99 * 1024), (16, SHARED)])
def test_candidates_can_run_and_are_neighbours(
    op: Any, itemsize: int, clusters: int, shared: int
) -> None:
    for rows, size in ((8192, 8192), (2048, 1024), (64, 131072), (1, 2**24), (9, 64), (70, 8193)):
        vector, unaligned = row_vectors(size, (size,), (0,), itemsize, 1, sums=op == "sum")
        problem = RowProblem(op, rows, size, "", vector, unaligned)
        table = choose_rows(op, rows, size, itemsize, vector, unaligned, clusters)
        found = candidates(problem, table, clusters=clusters, shared=shared)
        assert len(found) >= 3 and table not in found and len(set(found)) == len(found)
        for c in found:
            assert why_not(c, problem, clusters, shared) is None, c
            assert c.loads in range(-(-table.loads // 2), 2 * table.loads + 1), c
            assert c.cluster in (max(1, table.cluster // 2), 1, table.cluster, 2 * table.cluster)
        assert candidates(problem, table, clusters=clusters, shared=shared, most=3) == found[:3]
        strict = candidates(problem, table, clusters=clusters, shared=shared, exact=True)
        assert set(strict) == {c for c in found if same_bits(c, table)}


def test_the_candidates_of_a_usual_softmax() -> None:
    problem = RowProblem("softmax", 8192, 8192, "bfloat16", 8, False)
    table = RowChoice("shared", 192, 1, 6, 8)
    found = candidates(problem, table, clusters=16, shared=SHARED)
    kept = {(c.kernel, c.threads, c.loads, c.cluster, c.whole) for c in found}
    assert {
        ("registers", 192, 6, 1, 5), ("shared", 256, 4, 1, 4), ("shared", 128, 8, 1, 8),
        ("shared", 96, 12, 1, 10), ("shared", 96, 6, 2, 5), ("registers", 352, 3, 1, 2),
    } <= kept  # fmt: skip
    assert [c.kernel for c in found[:2]] == ["shared", "shared"]  # the nearest


@pytest.mark.parametrize(
    ("op", "shape", "dtype"),
    [("reduce_sum", (37, 301), "float32"),
     *(pytest.param(*case, marks=pytest.mark.weekly) for case in (
         ("softmax", (37, 300), "float16"), ("softmax_backward", (37, 300), "bfloat16"),
         ("reduce_sum", (3, 5000), "bfloat16")))],
)  # fmt: skip
def test_what_is_said_to_keep_every_bit_does(op: str, shape: tuple[int, int], dtype: str) -> None:
    case = Case(op, shape, dtype)
    problem, table, found = plan(case, ARCH, most=2, exact=True)
    assert found
    calls = CheckedCalls(case, problem, ARCH, exact=True)
    for choice in (table, *found):
        calls.checked(choice)  # raises where a bit differs


def test_other_bits_are_refused_where_all_are_to_stay() -> None:
    case = Case("reduce_sum", (64, 4000), "float32")
    problem, table, _ = plan(case, ARCH)
    other = replace(table, threads=table.threads // 2, whole=0)
    CheckedCalls(case, problem, ARCH).checked(other)
    calls = CheckedCalls(case, problem, ARCH, exact=True)
    calls.checked(table)
    with pytest.raises(DroppedError, match="other bits"):
        calls.checked(other)


@pytest.mark.weekly
@pytest.mark.parametrize("case", [
    Case("softmax", (3, 777), "float32"),
    Case("softmax_backward", (5, 2056), "float16"), Case("reduce_sum", (1, 1), "float32"),
    Case("reduce_sum", (1, 40000), "bfloat16"),
], ids=str)  # fmt: skip
def test_all_that_is_tried_is_right(case: Case) -> None:
    outcome = tune_case(case, most=2, timer=fewest_loads)
    assert (outcome.dropped, outcome.left_out, outcome.tried) == ((), "", 3)


# -- what is dropped ------------------------------------------------------------------------------
def test_a_candidate_that_is_wrong_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    short = RowChoice("registers", 32, 1, 2, 8)  # holds half of a row
    many = RowChoice("registers", 2048, 1, 1, 8)  # no GPU has such blocks
    good = RowChoice("registers", 128, 1, 1, 8)
    with_candidates(monkeypatch, short, many, good)
    outcome = tune_case(CASE, most=3, timer=fewest_loads)
    assert [choice for choice, _ in outcome.dropped] == [short, many]
    assert outcome.dropped[0][1].startswith("wrong: 6,144 of 6,144 elements are wrong")
    assert "2048" in outcome.dropped[1][1] or "2,048" in outcome.dropped[1][1]
    assert outcome.best is not None and outcome.best.choice == good and outcome.tried == 4


def test_a_candidate_that_differs_from_run_to_run_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (problem, table, _), runs = plan(CASE, ARCH), [0]
    calls = CheckedCalls(CASE, problem, ARCH)
    plain = calls._call(table)

    def unsteady() -> None:
        plain()
        runs[0] += 1
        if runs[0] == 2:  # the last bit of one element
            calls.out.view(torch.int16)[3, 5] += 1

    monkeypatch.setattr(calls, "_call", lambda choice: unsteady)
    with pytest.raises(DroppedError, match="two runs"):
        calls.checked(RowChoice("registers", 64, 1, 2, 8))


def test_a_table_that_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "choose_rows", lambda *args: RowChoice("registers", 32, 1, 2, 8))
    with_candidates(monkeypatch, RowChoice("registers", 128, 1, 1, 8))
    outcome = tune_case(CASE, most=3, timer=fewest_loads)
    assert outcome.left_out.startswith("the table's own choice: wrong") and outcome.tried == 1
    tuning.keep(outcome)
    assert outcome.table is None and tuned.stored() == []


def test_a_gpu_that_is_lost_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(call: Callable[[], Any], choice: RowChoice, repeats: int) -> Timing:
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(tuning, "lost_context", lambda: "gone")
    monkeypatch.setattr(tuning, "on_gpu", fails)
    with pytest.raises(PlatformError, match=r"broke the GPU's context \(gone\)"):
        tune_case(CASE)


def test_without_a_gpu_there_are_no_times() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(PlatformError, match="need an NVIDIA GPU"):
        tune_case(CASE)


@pytest.mark.parametrize("case", [
    Case("copy_transpose", (8, 8), "float16"), Case("reduce_sum", (8, 8), "float16", 0),
    Case("softmax", (2**30 + 1, 1), "float16"),
], ids=str)  # fmt: skip
def test_what_has_no_rows_is_refused(case: Case) -> None:
    with pytest.raises(UsageError, match="needed rows of"):
        tune_case(case, timer=fewest_loads)


# -- what is kept ---------------------------------------------------------------------------------
def test_the_best_is_stored_and_used() -> None:
    x = torch.randn(CASE.shape).half()
    ops.softmax(x)
    assert choice_used() == (64, 1, 2)
    outcome = tune_case(CASE, most=5, timer=fewest_loads)
    assert outcome.tried == 6
    assert outcome.table is not None and outcome.best is not None
    assert outcome.best.choice.loads == 1
    assert outcome.gain == pytest.approx(1 - 1.25 / 2.25)
    assert choice_used() == (64, 1, 2)  # nothing of the search stays in the launchers
    tuning.keep(outcome)
    best = outcome.best.choice
    assert choice_used() == (best.threads, best.rows, best.loads) != (64, 1, 2)
    torch.testing.assert_close(ops.softmax(x), x.softmax(-1))
    assert torch.equal(ops.softmax(x), ops.softmax(x))
    [found] = tuned.stored()
    kept = found.entries["softmax float16 6x1024 vector=8"]
    assert (found.gpu, kept["ms"], kept["table_ms"]) == (f"virtual GPU ({ARCH})", 1.25, 2.25)


def test_where_nothing_is_faster_the_table_stays_and_an_old_entry_goes() -> None:
    tuning.keep(tune_case(CASE, most=5, timer=fewest_loads))
    assert choice_used() != (64, 1, 2)
    outcome = tune_case(CASE, most=3, timer=lambda *args: Timing(1.0, 0.9, 1.1))
    assert outcome.best is None and outcome.table is not None and outcome.gain == 0
    assert outcome.table.choice.loads == 2  # what was stored is not what it is compared with
    tuning.keep(outcome)
    assert choice_used() == (64, 1, 2) and tuned.stored()[0].entries == {}


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


def test_the_last_rounds_decide_not_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    lucky, steady = RowChoice("registers", 128, 1, 1, 8), RowChoice("registers", 64, 1, 2, 8)
    with_candidates(monkeypatch, lucky, steady)
    late = {lucky: 12.0, steady: 8.0}

    def timer(call: Callable[[], Any], choice: RowChoice, repeats: int) -> Timing:
        ms = late.get(choice, 10.0) if repeats == 50 else choice.loads / 10
        return Timing(ms, ms, ms)

    outcome = tune_case(CASE, most=3, timer=timer)
    assert outcome.best is not None and outcome.best.choice == steady
