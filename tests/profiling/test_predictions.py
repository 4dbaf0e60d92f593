"""Test predictions: they are made before the run, shown next to the answer, and all kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit.errors import UsageError
from forgekit.profiling import predictions as module

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from forgekit.profiling.profile import Profile, count
from tests.profiling import course_kernels as kernels

SECTORS = "global_load_sectors_per_request"  # 4 for the naive transpose


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_waiting", module._Waiting())
    monkeypatch.setattr(module, "_answered", {})


@pytest.fixture(scope="module")
def naive() -> tuple[Any, tuple[Any, Any]]:
    x, y = fk.randn(32, 32, device="virtual"), fk.empty(32, 32, device="virtual")
    return fk.compile(kernels.t_naive, x, y, device="virtual"), (x, y)


def profiled(naive: Any) -> Profile:
    run, args = naive
    return fk.profile(run, *args)


# -- predictions of anything, with a question
# ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("said", "answer", "says"),
    [
        (None, 15, "q: no prediction; the answer is 15"),
        (..., 15, "q: no prediction; the answer is 15"),
        (15, 15, "q: you said 15: right"),
        (14, 15, "q: you said 14; the answer is 15"),
        ("15", 15, "q: you said '15'; the answer is 15"),
        (2, 2.0, "q: you said 2: right"),
        (2.5, 2.0, "q: you said 2.50; the answer is 2"),
        (1000, 1024, "q: you said 1,000; the answer is 1,024"),
        (True, False, "q: you said True; the answer is False"),
        (np.int64(4), 4, "q: you said 4: right"),
        (float("nan"), float("inf"), "q: you said nan; the answer is inf"),
        ([4, 1], (4, 1), "q: you said [4, 1]: right"),
        ((11, [1, 5]), (11, (1, 5)), "q: you said (11, [1, 5]): right"),
        ((4, 1), (4, 1, 1), "q: you said (4, 1); the answer is (4, 1, 1)"),
        (4, (4, 1), "q: you said 4; the answer is (4, 1)"),
        (np.arange(2), 3, "q: you said array([0, 1]); the answer is 3"),
        (torch.arange(2), (0, 1), "q: you said tensor([0, 1]); the answer is (0, 1)"),
        (3, np.arange(2), "q: you said 3; the answer is array([0, 1])"),
    ],
)
def test_what_was_said_stands_beside_the_answer(
    said: Any, answer: Any, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prediction = fk.predict("q", said)
    state = "no prediction yet" if said is None or said is ... else "you say "
    assert repr(prediction).startswith(f"q: {state}")
    prediction.against(answer)
    assert capsys.readouterr().out == says + "\n"
    assert repr(fk.predictions()) == says


def test_what_theory_expects_is_right_beside_the_answer(capsys):
    for said, says in ((7.5, ": right: "), (7.1, ": right: "), (6, "; ")):
        fk.predict("new maxima", said).against(7.1, expected=7.5)
        assert capsys.readouterr().out.endswith(f"{says}7.50 expected, 7.10 in this run\n")
    fk.predict("layout", "folded ").against("Folded")
    assert capsys.readouterr().out.endswith(": right\n")


def test_all_are_kept_the_first_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert repr(fk.predictions()) == "no predictions yet"
    assert "no predictions yet" in fk.predictions()._repr_mimebundle_()["text/html"]
    fk.predict("offset", 14).against(15)
    fk.predict("start", None).against((3, 4))
    for again in (14, 15, 15, None, ...):  # equal predictions count once
        fk.predict("offset", again).against(15)
    assert repr(fk.predictions()).split("\n") == [
        "offset: you said 14; the answer is 15",
        "offset: you said 15: right",
        "start: no prediction; the answer is (3, 4)",
    ]
    fk.predict("start", (3, 4)).against((3, 4))  # an open prediction is not kept next to it
    assert repr(fk.predictions()).split("\n")[2:] == ["start: you said (3, 4): right"]
    fk.predict("arrays", np.arange(2)).against(np.arange(2))
    fk.predict("arrays", np.arange(2)).against(np.arange(2))
    assert "arrays: you said array([0, 1])" in repr(fk.predictions())


def test_one_question_of_two_runs_is_two_predictions(capsys: pytest.CaptureFixture[str]) -> None:
    for answer in (32, 4, 32):
        fk.predict("sectors", None).against(answer)
    assert [p.answer for p in fk.predictions().all] == [32, 4]
    fk.predict("sectors", 4).against(4)
    assert [(p.said, p.answer) for p in fk.predictions().all] == [(None, 32), (4, 4)]


def test_the_html_table_escapes_and_colours() -> None:
    fk.predict("<b>?", "<i>").against("<u>")
    fk.predict("right", 1).against(1)
    fk.predict("open", None).against(1)
    table = fk.predictions()._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;?" in table and "&lt;i&gt;" in table and "<u>" not in table
    assert table.count("#D55E00") == 1 and table.count("#009E73") == 1
    assert ">–<" in table


# -- predictions of a profile's metrics
# -----------------------------------------------------------------------
def test_the_next_profile_answers_and_shows_them(naive: Any) -> None:
    said = fk.predict(global_load_sectors_per_request=32, shared_load_bank_conflicts=0)
    assert repr(said).split("\n") == [
        "global load sectors per request: you say 32",
        "shared load bank conflicts: you say 0",
    ]
    p = profiled(naive)
    lines = [
        "global load sectors per request: you said 32; the answer is 4",
        "shared load bank conflicts: you said 0: right",
    ]
    assert repr(p).split("\n")[-2:] == lines and repr(fk.predictions()).split("\n") == lines
    shown = p._repr_mimebundle_()["text/html"]
    assert "global load sectors per request" in shown and "you said" in shown
    assert all(x.predicted is p.predicted for x in (p.sort("line"), p.filter(kind="global")))
    assert repr(p.sort("global_store_sectors").filter(line="mY")).endswith(lines[1])
    assert "you said" not in repr(profiled(naive))  # answered once


def test_only_the_last_ones_wait(naive: Any) -> None:
    fk.predict(global_load_sectors=1, global_store_sectors=2)
    fk.predict(global_load_requests=32)  # the cell is run again with a new line
    assert [p.metric for p in profiled(naive).predicted.all] == ["global_load_requests"]


def test_a_number_close_enough_is_right_and_zero_is_zero(naive: Any) -> None:
    actual = profiled(naive)["warp_instructions"]
    for said, right in ((actual * 1.009, True), (actual * 1.02, False), (actual, True)):
        fk.predict(warp_instructions=said)
        assert profiled(naive).predicted.all[0].right is right
    fk.predict(shared_load_bank_conflicts=1)
    assert not profiled(naive).predicted.all[0].right


@pytest.mark.parametrize("nothing", [None, ...])
def test_a_number_not_written_down_is_no_error(nothing: Any, naive: Any) -> None:
    said = fk.predict(global_load_sectors_per_request=nothing)
    assert repr(said) == (
        "global load sectors per request: no prediction yet\n"
        "(replace None with your number and run this cell again)"
    )
    assert repr(profiled(naive)).endswith("request: no prediction; the answer is 4")
    assert not fk.predictions().all[0].right


def test_counting_for_a_grade_leaves_them_waiting(naive: Any) -> None:
    fk.predict(global_load_sectors_per_request=4)
    assert not count(*naive).predicted.all
    assert profiled(naive).predicted.all[0].right


def test_nsight_computes_names_are_names_too(naive: Any) -> None:
    fk.predict(**{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 128})
    assert profiled(naive).predicted.all[0].right


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ({"global_load_sector": 4}, "did you mean global_load_sectors"),
        ({"sectors_per_load": 4}, "metric: got 'sectors_per_load', needed the name of a metric"),
        ({SECTORS: "4"}, f"{SECTORS}: got '4', needed a number"),
        ({SECTORS: True}, f"{SECTORS}: got True, needed a number"),
        ({SECTORS: (4,)}, f"{SECTORS}: got (4,), needed a number"),
    ],
)
def test_what_is_no_metric_or_no_number_is_refused(numbers: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        fk.predict(**numbers)
    assert says in str(refused.value)


def test_one_of_the_two_forms_is_needed() -> None:
    for call in (lambda: fk.predict(), lambda: fk.predict("blocks", 8, global_load_sectors=4)):
        with pytest.raises(
            UsageError, match=r"predict: got .* needed either a question or metrics"
        ):
            call()
