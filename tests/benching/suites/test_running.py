"""Test the run of a suite's cases: each case is checked, then measured; a failure becomes a row."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch

from forgekit import ops, ref
from forgekit.benching.measuring import Measured
from forgekit.benching.suites import operations, peers, running
from forgekit.benching.suites.operations import make_inputs, moved_bytes, result_shape, why_wrong
from forgekit.benching.suites.peers import contenders
from forgekit.benching.suites.results import SuiteResults
from forgekit.benching.suites.running import (
    CaseOutcome,
    Settings,
    exit_status,
    measure_host,
    merge,
    new_results,
    run_case,
    run_cases,
)
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing
from forgekit.devices import Target
from tests.benching.suites.suite_made import GPU

CPU = torch.device("cpu")
TRANSPOSE = Case("copy_transpose", (33, 65), "float16")
CASES = [
    Case("copy_transpose", (37, 50), "float16"),
    Case("reduce_sum", (37, 3000), "float16"),
    Case("reduce_sum", (37, 3000), "float32"),
    Case("reduce_sum", (3000, 37), "bfloat16", 0),
    Case("softmax", (37, 500), "float32"),
    Case("softmax", (37, 50), "bfloat16", 0),
    Case("softmax_backward", (37, 500), "float16"),
    Case("softmax_backward", (37, 50), "float32", 0),
]


def computed(case: Case) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    inputs = make_inputs(case, CPU)
    dim = () if case.op == "copy_transpose" else (case.dim,)
    return inputs, getattr(ref, case.op)(*inputs, *dim)


# --- correct results


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("part", [2**25, 100])  # elements per comparison: all, or a few rows
def test_a_wrong_element_is_found_and_named(
    case: Case, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "_PART", part)
    inputs, result = computed(case)
    assert result.shape == result_shape(case)
    assert why_wrong(case, inputs, result) is None
    index = tuple(size * 2 // 3 for size in result.shape)
    for value in (result[index] + result.float().abs().max() / 4, float("nan"), float("inf")):
        wrong = result.clone()
        wrong[index] = value
        said = why_wrong(case, inputs, wrong)
        assert said and said.startswith(f"1 of {result.numel():,} elements are wrong")
        assert f"at {list(index)}: got" in said


@pytest.mark.parametrize("case", CASES, ids=str)
def test_torch_is_right(case: Case) -> None:
    inputs = make_inputs(case, CPU)
    call = peers.PEERS["torch"](case, inputs)
    assert why_wrong(case, inputs, call()) is None


@pytest.mark.parametrize("case", [c for c in CASES if c.op == "reduce_sum"], ids=str)
def test_a_sum_that_leaves_out_an_element_is_wrong(case: Case) -> None:
    (x,) = make_inputs(case, CPU)
    less = x.clone().narrow(case.dim, 0, 1).zero_()
    without = torch.cat([less, x.narrow(case.dim, 1, x.shape[case.dim] - 1)], dim=case.dim)
    assert why_wrong(case, (x,), ref.reduce_sum(without, case.dim))


def test_a_transpose_is_exact_and_has_its_shape_and_type() -> None:
    inputs, result = computed(CASES[0])
    result[3, 4] *= 1.001
    assert "1 of 1,850" in str(why_wrong(CASES[0], inputs, result))
    assert "should be (50, 37)" in str(why_wrong(CASES[0], inputs, inputs[0]))
    assert "should be (50, 37) torch.float16" in str(
        why_wrong(CASES[0], inputs, inputs[0].t().float())
    )


def test_bytes_count_each_input_and_the_output_once() -> None:
    assert [moved_bytes(c) for c in CASES[:4]] == [
        2 * 2 * 37 * 50, 2 * (37 * 3000 + 37), 4 * (37 * 3000 + 37), 2 * (37 * 3000 + 37),
    ]  # fmt: skip
    assert moved_bytes(CASES[6]) == 3 * 2 * 37 * 500


# --- on the virtual GPU


def test_without_a_gpu_it_counts() -> None:
    outcome = run_case(TRANSPOSE, Settings(peers=("torch", "quack"), device="virtual"))
    [row] = outcome.rows
    assert (row.contender, row.status, row.timing) == ("forgekit", "ok", None)
    assert row.counters and row.counters.kernels == 1
    assert row.counters.touched_bytes == moved_bytes(TRANSPOSE)
    assert outcome.machine and outcome.machine.gpu == "virtual GPU (sm_90a)"
    assert [x.split(":")[0] for x in outcome.left_out] == ["torch", "quack"]
    assert "quack" not in sys.modules


def test_what_is_too_large_for_the_virtual_gpu_is_counted() -> None:
    cases = [TRANSPOSE, Case("softmax", (2048, 1024), "float32")]
    settings = Settings(backends=("ref",), device="virtual", arch="sm_80")
    results = merge(new_results("x"), run_cases(cases, settings))
    assert [row.case for row in results.rows] == cases[:1]
    assert results.gpus == ("virtual GPU (sm_80)",)
    assert "1 of 2 cases have more than 1,048,576 elements" in results.left_out[0]


def test_a_backend_by_name() -> None:
    rows = run_case(TRANSPOSE, Settings(backends=("kernel", "ref"), device="virtual")).rows
    assert [row.contender for row in rows] == ["forgekit", "forgekit ref"]
    assert all(row.own and row.status == "ok" for row in rows)
    assert rows[1].counters is None  # torch on the CPU launches no kernel


def test_variants_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def softmax(x: torch.Tensor, dim: int = -1, *, variant: str | None = None,
                backend: str | None = None) -> torch.Tensor:  # fmt: skip
        given.append((dim, variant, backend))
        return x.softmax(dim)

    monkeypatch.setattr(ops, "softmax", softmax)
    some = contenders(backends=["kernel"], variants=["best", "online"], peers=[])
    assert [c.name for c in some] == ["forgekit", "forgekit online"]
    case = Case("softmax", (3, 4), "float32", 0)
    for contender in some:
        contender.prepare(case, make_inputs(case, CPU))()
    assert given == [(0, None, None), (0, "online", None)]
    with pytest.raises(peers.AbsentError, match="copy_transpose has no variants"):
        some[1].prepare(TRANSPOSE, make_inputs(TRANSPOSE, CPU))
    with pytest.raises(peers.AbsentError, match="reduce_sum has no variant 'online'"):
        some[1].prepare(CASES[1], make_inputs(CASES[1], CPU))


# --- simulated GPU with fixed times


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run cases on the CPU as if on a GPU; return the measured calls."""
    measured: list[str] = []

    class Stand(Target):
        torch_device = CPU

    @contextmanager
    def use_target(device: str | None, arch: str | None) -> Iterator[Target]:
        yield Stand("gpu", "sm_90a", "NVIDIA H200")

    def measure(call: Callable[[], Any], *, moved_bytes: int, repeats: int) -> Measured:
        measured.append(f"{moved_bytes} bytes, {repeats} times")
        return Measured(moved_bytes, Timing(1.0, 0.9, 1.1))

    monkeypatch.setattr(running, "use_target", use_target)
    monkeypatch.setattr(running, "measure", measure)
    monkeypatch.setattr(running, "machine_info", lambda target: GPU)
    monkeypatch.setattr(running, "lacking_memory", lambda case, target: "")
    return measured


def run(*cases: Case, **settings: Any) -> SuiteResults:
    return merge(new_results("mine"), run_cases(cases, Settings(**settings)))


def test_times_of_all_contenders(timed: list[str]) -> None:
    results = run(TRANSPOSE, peers=("torch",), repeats=7)
    assert [(r.contender, r.status) for r in results.rows] == [("forgekit", "ok"), ("torch", "ok")]
    assert timed == [f"{moved_bytes(TRANSPOSE)} bytes, 7 times"] * 2
    assert exit_status(results) == 0 and not results.left_out
    assert results.percent(results.rows[0]) == pytest.approx(moved_bytes(TRANSPOSE) / 1e6 / 40)


def test_a_wrong_result_is_not_timed(timed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "copy_transpose", lambda x: x.t().contiguous() * 1.01)
    results = run(TRANSPOSE, CASES[0], peers=("torch",))
    assert [r.status for r in results.rows] == ["wrong", "ok"] * 2
    assert "elements are wrong; the worst is at" in str(results.rows[0].error)
    assert len(timed) == 2 and exit_status(results) == 1


def test_a_wrong_peer_is_marked_and_is_not_our_failure(
    timed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(peers.PEERS, "torch", lambda case, inputs: partial(inputs[0].t().mul, 2))
    results = run(TRANSPOSE, peers=("torch",))
    assert [r.status for r in results.rows] == ["ok", "wrong"] and exit_status(results) == 0


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("no\nmore"), RuntimeError("no"), KeyError()]
)
def test_a_failure_is_a_row_and_the_run_goes_on(
    timed: list[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 33:
            raise error
        return ref.copy_transpose(x)

    monkeypatch.setattr(ops, "copy_transpose", fail)
    results = run(TRANSPOSE, CASES[0], peers=("torch",))
    assert [r.status for r in results.rows] == ["error", "ok", "ok", "ok"]
    said = "no message" if isinstance(error, KeyError) else "no"
    assert results.rows[0].error == f"{type(error).__name__}: {said}"
    assert exit_status(results) == 1


def test_a_lost_context_ends_the_run(timed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(ops, "copy_transpose", fail)
    monkeypatch.setattr(running, "lost_context", lambda: "all is lost")
    results = run(TRANSPOSE, CASES[0], peers=("torch",))
    assert [r.status for r in results.rows] == ["error", "skipped", "skipped"]
    assert f"{TRANSPOSE} broke the GPU's context (all is lost)" in str(results.rows[1].error)


def test_too_little_memory_is_said(timed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "lacking_memory", lambda case, target: "needs about 13.0 GB")
    results = run(TRANSPOSE, peers=("torch",))
    assert [(r.status, r.error) for r in results.rows] == [("skipped", "needs about 13.0 GB")] * 2
    assert exit_status(results) == 0 and not timed


@pytest.mark.parametrize(
    ("error", "status"),
    [(torch.OutOfMemoryError("no"), "skipped"), (RuntimeError("an illegal access"), "error")],
)
def test_inputs_that_cannot_be_made(
    timed: list[str], monkeypatch: pytest.MonkeyPatch, error: Exception, status: str
) -> None:
    def fail(case: Case, device: torch.device) -> tuple[torch.Tensor, ...]:
        raise error

    monkeypatch.setattr(running, "make_inputs", fail)
    monkeypatch.setattr(running, "lost_context", lambda: "lost")
    [row, after] = run(TRANSPOSE, TRANSPOSE).rows
    assert (row.status, row.error) == (status, f"{type(error).__name__}: {error}")
    assert ("broke the GPU's context" in str(after.error)) is (status == "error")


def test_memory_needed_is_that_of_the_tensors_and_of_a_part() -> None:
    large = Case("softmax_backward", (65600, 32768), "float16")
    assert 4 * 2 * large.elements < operations.memory_needed(large) < 5 * 2 * large.elements
    assert operations.memory_needed(TRANSPOSE) < 2**30


def test_outcomes_are_merged_in_the_suite_s_order(timed: list[str]) -> None:
    settings = Settings()
    outcomes = [(k, run_case(case, settings)) for k, case in enumerate((TRANSPOSE, CASES[0]))]
    results = merge(new_results("x"), reversed(outcomes))
    assert [r.case for r in results.rows] == [TRANSPOSE, CASES[0]]
    assert len(results.machines) == 1
    outcomes.append((2, CaseOutcome(outcomes[0][1].rows, None)))
    assert merge(new_results("x"), outcomes).rows[2].machine is None


# --- peers


def test_quack_is_imported_when_asked_for(
    timed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"backends": ("ref",), "peers": ("quack",)}
    assert "pip install quack-kernels" in run(CASES[4], **asked).left_out[0]
    package, module = types.ModuleType("quack"), types.ModuleType("quack.softmax")
    package.__spec__ = importlib.machinery.ModuleSpec("quack", None)
    module.softmax_fwd = lambda x: x.softmax(-1)  # type: ignore[attr-defined]
    module.softmax_bwd = lambda dy, y: ref.softmax_backward(dy, y)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "quack", package)
    monkeypatch.setitem(sys.modules, "quack.softmax", module)
    results = run(CASES[4], CASES[5], CASES[6], TRANSPOSE, **asked)
    found = {r.case: r.status for r in results.rows if r.contender == "quack"}
    assert found == {CASES[4]: "ok", CASES[6]: "ok"}
    assert results.left_out == [
        "quack: quack has no softmax along dim 0 to measure",
        "quack: quack has no copy_transpose to measure",
    ]


def test_torch_compile_starts_afresh_with_static_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    dynamo = types.SimpleNamespace(reset=lambda: calls.append("reset"))
    monkeypatch.setitem(vars(torch), "_dynamo", dynamo)  # importing it takes seconds
    monkeypatch.setattr(torch, "compile", lambda f, **options: calls.append(options) or f)
    inputs = make_inputs(TRANSPOSE, CPU)
    call = peers.PEERS["torch.compile"](TRANSPOSE, inputs)
    assert calls == ["reset", {"dynamic": False}] and why_wrong(TRANSPOSE, inputs, call()) is None


# --- host times


def test_host_times(timed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "host_us", lambda call: 7.123 if call().numel() else 0)
    results = new_results("none")
    measure_host(results, ["copy_transpose"], Settings(peers=("torch", "quack")))
    assert results.host_us == {"copy_transpose": {"forgekit": 7.12, "torch": 7.12}}
    assert "quack: host time of copy_transpose" in results.left_out[0]
