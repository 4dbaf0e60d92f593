"""Test gates: the submissions that they accept, and their messages about other submissions."""

from __future__ import annotations

import inspect
import math
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit import devices
from forgekit.compiling.compiled import CompiledKernel
from forgekit.lessons.exercise import exercise
from forgekit.lessons.gates import (
    FINITE_START,
    Case,
    Counter,
    Evidence,
    GateError,
    Group,
    Misconception,
    Submission,
    answer,
    answers,
    clean,
    counted,
    counters,
    found,
    hinted,
    large,
    looks_like,
    submission,
    values,
)
from forgekit.lessons.gates.asked import _full, words_of
from forgekit.lessons.gates.values import (
    _FAR,
    _FAR_S,
    _FAR_SUM,
    _far_size,
    drawn_sizes,
    shared_out,
    unknown_size,
)
from forgekit.tracing import recordings
from tests.lessons.submitted import load

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

STORE = "mY[i] = 3.0 * mX[i] + 1.0"


@pytest.fixture
def scale() -> Any:
    """Return a function that creates a submission from the solution of week0/scale with some text
    replaced."""

    def make(**swaps: str) -> Any:
        e, code = exercise("week0/scale"), exercise("week0/scale").source.solution
        for old, new in ({"store": STORE} | {"guard": "i < mX.shape[0]"}).items():
            assert new in code
            code = code.replace(new, swaps.get(old, new))
        return load(e, code)

    return make


def case(n: int, dtype: torch.dtype) -> Case:
    x = fk.arange(n, dtype=dtype, device="virtual")
    y = fk.empty(n, dtype=dtype, device="virtual")
    return Case((x, y), {1: 3 * x.float() + 1}, f"{n} of {str(dtype).removeprefix('torch.')}")


def stopped(group: Group, submission: Any) -> GateError:
    with pytest.raises(GateError) as error:
        group.run(Submission(submission))
    return error.value


# -- calls ------------------------------------------------------------------------------------
def test_gates_share_the_runs_of_a_call(scale, monkeypatch):
    """The group Values uses the results in adversarial orders. The usual order runs only once, for
    values and counts."""
    calls, call = [], CompiledKernel.__call__
    monkeypatch.setattr(CompiledKernel, "__call__", lambda *args: calls.append(call(*args)))
    monkeypatch.setattr(recordings, "_kept", [])
    count = counters(case, (9,), [Counter("warp_instructions", "instructions")], name="counts")
    orders = clean(case, [(8,), (130,)], seeds=3)
    groups = [values(case, [(8,), (130,), (9,), (1,)]), orders, count]
    submission = Submission(scale(), groups=groups)
    told = [group.run(submission) for group in groups]
    compared = "4 sizes in float32, up to n = 130; tensors from 0 to 129"
    assert told[:2] == [compared, "no findings in 3 orders"]
    assert len(calls) == 3 + 1 + 1
    with pytest.raises(GateError) as error:
        groups[0].run(Submission(scale(store="mY[i] = 3.0 * mX[i]"), groups=groups))
    assert error.value.happened.startswith("With 8 of float32, the result is wrong")


def test_each_size_is_of_one_type_where_there_are_enough():
    sizes, types = [(1,), (2,), (3,), (4,), (5,)], ("float32", "float16")
    assert shared_out(sizes, types, {(1,): "float16", (9,): "float32"}) == [
        *(("float32", (n,)) for n in (2, 3)), *(("float16", (n,)) for n in (1, 4, 5))
    ]  # fmt: skip
    assert len(shared_out(sizes[:3], types, {})) == 6


def test_what_no_submission_knows_decides_the_drawn_sizes(monkeypatch):
    def drawn():
        return Submission(3).seed, unknown_size([(7, 300), (50, 20)])

    found = [drawn(), drawn()]
    assert 50 < found[0][1][0] <= 62 and 150 <= found[0][1][1] <= 300
    monkeypatch.setattr(submission, "_SECRET", submission._SECRET ^ 1)
    assert found[0] == found[1] != drawn() and drawn()[0] != found[0][0]


def test_an_unknown_fact_is_refused():
    with pytest.raises(fk.UsageError, match="asked: got 'barrier'"):
        words_of({"barrier": 1})


# -- values -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("work", "modes", "size"),
    [
        ("one warp per row", ("m", "n"), (32, 9)),
        ("eight lanes per row", ("m", "n"), (128, 9)),
        ("one block per two rows", ("m", "n"), (4, 9)),
        ("one thread per column", ("m", "n"), (7, 1024)),
        ("one block per 32 columns", ("m", "n"), (7, 64)),
        ("one warp per 1,024 elements", ("n", "k"), (64, 64)),
        ("one cluster per head", ("heads", "n"), (2, 9)),
    ],
)
def test_a_size_without_a_remainder_shows_a_block_too_many(work, modes, size):
    assert _full(work, modes, (7, 9)) == size


def test_values_tells_what_it_compared(scale):
    told = values(case, [(8,), (130,)]).run(Submission(scale()))
    assert told == "2 sizes in float32, up to n = 130; tensors from 0 to 129"
    types = values(case, [(8,)], ("float32", "float16"))
    converted = scale(store="mY[i] = (3.0 * mX[i] + 1.0).to(mY.element_type)")
    told = types.run(Submission(converted, arch="sm_80"))
    assert told == "1 size in 2 types, up to n = 8; tensors from 0 to 7"
    clamp = exercise("week0/clamp")
    told = clamp.grade(clamp.reference()).passed[0].seen
    assert re.search(r"tensors from -\S+e\+36 to .*, inf, -inf, NaN; low from -\S+ to", told)
    whole = exercise("week1/row_range")
    told = whole.grade(whole.reference()).passed[0].seen
    assert re.search(r"up to m = \d,\d\d\d, n = 3\d,\d\d\d; ", told) and "inf" not in told
    error = stopped(types, scale())
    assert error.happened.startswith(
        "The kernel does not compile for 8 of float16.\nThis line stores a value"
    )


def test_a_nan_that_was_computed_is_not_called_unwritten():
    """The wrong rows are the last rows, so it could look as if the kernel had written only the
    first rows."""
    e = exercise("week0/add_row")
    nan = e.source.solution.replace("mX[i, j] +", "mX[i, j] * cute.math.log(1.5 - i) +")
    report = e.grade(load(e, nan))
    assert "NaN" in report.failure.happened and "what is written" not in report.failure.likely


class WithGpu(Submission):
    """Simulates a GPU: a call on the GPU runs on the virtual GPU, which adds `wrong` to the
    results."""

    ran: list[str]
    wrong = 0.0

    def compiled(self, case: Case, device: str = "virtual") -> Any:
        return super().compiled(case, "virtual")

    def arguments(self, case: Case, device: str = "virtual") -> dict[int, Any]:
        return super().arguments(case, "virtual")

    def run(self, case: Case, device: str = "virtual") -> dict[int, Any]:
        self.ran = [*getattr(self, "ran", []), device]
        args = super().run(case, device)
        if device == "gpu":
            args[1] += self.wrong
        return args


def test_with_a_gpu_each_case_runs_there_after_the_virtual_one(scale, monkeypatch):
    real = devices.current_target
    here = SimpleNamespace(kind="gpu")
    monkeypatch.setattr(devices, "current_target", lambda d=None, a=None: real(d, a) if d else here)
    group, submission = values(case, [(8,), (130,)]), WithGpu(scale())
    where = "2 sizes in float32, on the virtual GPU and on this GPU, up to n = 130"
    assert group.run(submission) == where + "; tensors from 0 to 129"
    assert submission.ran == ["virtual", "gpu"] * 2
    submission.wrong = 1.0
    with pytest.raises(GateError) as error:
        group.run(submission)
    assert "wrong on the GPU but right on the virtual GPU" in error.value.happened


def test_the_first_size_that_fails_is_told_with_the_first_misconception_that_fits(scale):
    misconceptions = [
        # an exception means that the misconception does not match
        Misconception("never", lambda e: 1 / 0 > 0),
        looks_like(lambda x, y: x, "copied"),
        hinted("NaN", "left out"),
        found("out-of-bounds", "beyond the end", text="mX[8]"),
        looks_like(lambda x, y: 3 * x, "one left away"),
    ]
    group = values(case, [(8,), (130,)], misconceptions=misconceptions, look_at="look here")
    copied = stopped(group, scale(store="mY[i] = mX[i]"))
    assert copied.happened.startswith("With 8 of float32, the result is wrong.\nWRONG  mY: 8 of 8")
    assert (copied.reason, copied.look_at) == ("Looks like: copied", "look here")
    assert stopped(group, scale(store="mY[i] = 3.0 * mX[i]")).likely == "Looks like: one left away"
    assert stopped(group, scale(guard="i < 5")).reason == "Why: left out"
    late = stopped(group, scale(guard="i < 8"))
    assert late.happened.startswith("With 130 of float32") and late.likely == "left out"
    beyond = stopped(group, scale(guard="i < 128"))
    assert beyond.happened.startswith("With 8 of float32, the kernel was stopped.\nOut of bounds: ")
    assert beyond.likely == "beyond the end"
    unknown = stopped(group, scale(store="mY[i] = 4.0 * mX[i]"))
    assert (unknown.likely, unknown.look_at) == ("", "look here")


def test_a_mistake_in_one_result_is_not_explained_by_another():
    x = torch.arange(4.0)
    largest = looks_like(lambda x: x.max().expand(4), "the largest everywhere")
    of_equal = Case((x * 0,), {1: x * 0, 2: x}, "equal values")
    of_others = Case((x,), {1: x, 2: x}, "other values")
    assert not largest.when(Evidence(got={1: x * 0, 2: -x}, case=of_equal))
    assert largest.when(Evidence(got={1: x * 0 + 3, 2: x}, case=of_others))


def test_a_mistake_as_near_as_the_right_result_is_no_explanation():
    x = torch.arange(1.0, 5.0)
    case = Case((x,), {1: x}, "")
    near, far = (looks_like(lambda x, by=by: x * by, "scaled", rtol=1e-2) for by in (1.001, 1.1))
    assert not near.when(Evidence(got={1: x * 1.002}, case=case))
    assert far.when(Evidence(got={1: x * 1.102}, case=case))


@pytest.mark.parametrize(
    ("got", "shown"),
    [((3.0, -100.0), True), ((3.0, 0.0), True), ((3.0, 2.5), False), ((-100.0, -100.0), False)],
)
def test_a_finite_start_is_one_whole_number_below_all_that_is_right(got, shown):
    x = torch.tensor([[3.0, -7.0], [-1000.0, -2000.5]])
    result = torch.tensor(got)
    assert (
        FINITE_START.when(Evidence(got={1: result}, case=Case((x,), {1: x.amax(1)}, ""))) is shown
    )


def test_an_input_that_is_written_is_told(scale):
    both = scale(store=f"{STORE}\n        mX[i] = 0.0")
    assert (
        "changed its input mX: mX[1] was 1 before the call and is 0"
        in stopped(values(case, [(8,)]), both).happened
    )


def test_what_a_kernel_prints_is_not_shown(scale, capfd):
    talking = scale(store=f'{STORE}\n        print("type", mX)\n        cute.printf("i {{}}", i)')
    group = values(case, [(8,)])
    group.run(Submission(talking))
    clean(case, [(8,)]).run(Submission(talking))
    out = capfd.readouterr().out
    assert "type" not in out and "i 0" not in out


# -- submissions -----------------------------------------------------------------------
class Callable_:  # noqa: N801
    def __call__(self, x: Any) -> Any:
        return x


def plain(x: Any, y: Any) -> None:
    y.copy_(x)


@pytest.mark.parametrize(
    ("value", "says", "look_at"),
    [
        (None, "Expected a @cute.jit function, got None.", "without calling or compiling it"),
        (..., "Expected a @cute.jit function, got Ellipsis", "the @cute.jit function itself"),
        (3, "Expected a @cute.jit function, got 3", ""),
        (torch.arange(2), "Expected a @cute.jit function, got tensor([0, 1])", ""),
        (dict, "Expected a @cute.jit function, got <class 'dict'>", ""),
        (plain, "", ""),
        (Callable_(), "", ""),
    ],
)
def test_what_is_no_jit_function_is_told(value, says, look_at):
    error = stopped(values(case, [(8,)]), value)
    assert says in error.happened and look_at in error.look_at
    assert "Traceback" not in error.happened and "site-packages" not in error.happened


def test_a_compiled_kernel_is_told(scale):
    x, y = case(8, torch.float32).args
    error = stopped(values(case, [(8,)]), fk.compile(scale(), x, y, device="virtual"))
    assert error.happened == "Expected a @cute.jit function, got the compiled kernel scale."
    assert "Submit the @cute.jit function; the grader compiles it" in error.look_at


def test_another_number_of_arguments_is_told(scale):
    def three(n: int, dtype: torch.dtype) -> Case:
        x, y = case(n, dtype).args
        return Case((x, x, y), {2: x}, "three")

    error = stopped(values(three, [(8,)]), scale())
    assert error.happened == (
        "The grader passes 3 arguments, but the function is defined as scale(mX, mY)."
    )
    assert error.look_at == "Keep the skeleton's signature."


def test_a_mistake_that_the_compiler_finds_is_told_with_its_line(scale):
    error = stopped(values(case, [(8,)]), scale(store="mY[i] = three * mX[i]"))
    assert error.happened.startswith("The kernel does not compile for 8 of float32.\n")
    assert "three" in error.happened and "line 1" in error.happened
    assert "site-packages" not in error.happened and len(error.happened.splitlines()) < 20


def test_the_kernel_handed_in_for_its_host_function_is_told():
    e = exercise("week0/scale")
    kernel = load(e, e.source.solution + "\nscale = scale_kernel\n")
    error = stopped(values(case, [(8,)]), kernel)
    assert "kernel" in f"{error.happened} {error.look_at}"
    assert "site-packages" not in error.happened


# -- clean, counters --------------------------------------------------------------------------
def test_clean_tells_the_finding_and_its_misconception():
    e = exercise("week0/rotate")
    rotate = load(e, e.source.skeleton)

    def rows(n: int, dtype: torch.dtype) -> Case:
        x = fk.randn(n, 64, device="virtual")
        return Case((x, fk.empty(n, 64, device="virtual")), {1: x.roll(-2, dims=1)}, f"{n} rows")

    misconceptions = [found("shared-race", "elsewhere", text="mX["), found("shared-race", "a race")]
    group = clean(rows, [(1,), (2,)], misconceptions=misconceptions, look_at="there")
    both = Submission(rotate, groups=[group])
    assert values(rows, [(1,), (2,)]).run(both)  # in the usual order, all values are right
    with pytest.raises(GateError) as caught:
        group.run(both)
    error = caught.value
    assert error.happened.startswith(
        "With 1 rows, the sanitizer reports an error.\nrotate: 1 finding"
    )
    assert (error.likely, error.look_at) == ("a race", "there")
    good = load(e, e.source.solution)
    assert clean(rows, [(2,)], seeds=3).run(Submission(good)) == "no findings in 3 orders"


def test_a_right_result_does_not_hide_a_finding(scale):
    read = scale(store="mY[i] = cute.arch.fmax(3.0 * mX[i] + 1.0, -cute.arch.fmax(mY[i], 1e30))")
    group = clean(case, [(8,)])
    submission = Submission(read, groups=[group])
    assert values(case, [(8,)]).run(submission)
    with pytest.raises(GateError, match="the sanitizer reports an error"):
        group.run(submission)


def test_counters_tell_value_threshold_baseline_and_ideal(scale):
    good = scale()
    passing = Counter("global_load_sectors", "sectors loaded", at_least=128, at_most=128)
    ratio = Counter(lambda p: p["global_load_sectors"] / 1000, "thousands", at_most=1)
    told = counters(case, (1024,), [passing, ratio], name="x").run(Submission(good))
    assert told == "sectors loaded 128, thousands 0.1"
    high = Counter("global_load_sectors", "sectors loaded", at_most=64, baseline=4096, ideal=32,
                   misconceptions=[counted(lambda p: p.global_load_sectors > 1e6, "far too many"),
                          counted(lambda p: p.global_load_sectors == 128, "twice")],
                   look_at="its own")  # fmt: skip
    error = stopped(counters(case, (1024,), [passing, high], name="x", look_at="of all"), good)
    assert error.happened == (
        "Sectors loaded: 128 with 1024 of float32; needed at most 64 (as given: 4,096, "
        "ideal: 32).\n100 % at cell.py, line 12: mY[i] = 3.0 * mX[i] + 1.0"
    )
    assert (error.likely, error.look_at) == ("twice", "its own")
    low = Counter("shared_load_requests", "shared loads", at_least=2, at_most=3)
    error = stopped(counters(case, (1024,), [low], name="x", look_at="of all"), good)
    assert (
        "Shared loads: 0 with 1024 of float32; needed at least 2 and at most 3." in error.happened
    )
    assert error.look_at == "of all"


def test_counters_of_a_kernel_that_is_stopped(scale):
    group = counters(case, (1000,), [Counter("global_load_sectors", "s", at_most=1)], name="x")
    error = stopped(group, scale(guard="i >= 0"))
    assert error.happened.startswith("With 1000 of float32, the kernel was stopped.\nOut of bounds")


# -- answers ----------------------------------------------------------------------------------
def test_answer_asks_its_check_and_survives_it():
    group = answer(lambda v: None if v == 3 else f"{v} is not 3.", look_at="count")
    assert group.name == "Answer" and group.run(Submission(3)) == ""
    assert (stopped(group, 4).happened, stopped(group, 4).look_at) == ("4 is not 3.", "count")
    for open_ in (None, ..., [None], {"a": ...}, (1, (2, None))):
        error = stopped(group, open_)
        assert error.unanswered and "There is no answer yet" in error.happened
    assert "cannot be used as an answer" in stopped(answer(lambda v: v + 1), "x").happened
    assert "cannot be used as an answer" in stopped(group, torch.arange(2)).happened


RIGHT = {"a": 8, "b": (2, [4.0, "Yes"]), "c": True}


@pytest.mark.parametrize(
    "given",
    [
        RIGHT,
        {"a": 8.0, "b": [2, (4.01, " yes ")], "c": True, "d": None},
        {
            "a": torch.tensor(8),
            "b": (np.array(2), [torch.tensor(4.0, dtype=torch.float16), "Yes"]),
            "c": True,
        },
        {"a": " 0x8", "b": ("2", ["4.0", "YES"]), "c": True},
    ],
)
def test_right_answers_pass_however_they_are_written(given):
    assert answers(RIGHT).run(Submission(given)) == "3 answers"


def test_nan_is_an_answer_as_a_word_and_as_a_number():
    for given in ("nan", " NaN", math.nan):
        assert answers({"a": "nan"}).run(Submission({"a": given}))
    assert (
        stopped(answers({"a": 0}, {("a", "nan"): "it is 0"}), {"a": math.nan}).likely == "it is 0"
    )
    assert answers({"a": 2_048}).run(Submission({"a": "2,048"}))
    infinite = stopped(answers({"a": "nan"}, {("a", "inf"): "inf / inf"}), {"a": math.inf})
    assert infinite.likely == "inf / inf"


@pytest.mark.parametrize(
    ("change", "says", "likely"),
    [
        ({"a": 32}, "'a': 32 is not right.", "that is all of them"),
        ({"a": 9}, "'a': 9 is not right.", ""),
        ({"b": (2, [4, "no"])}, "'b': (2, [4, 'no']) is not right.", ""),
        ({"b": (2, [4])}, "is not right", ""),
        ({"c": 1}, "'c': 1 is not right.", ""),  # a different answer, although 1 == True
        ({"a": "8 of 32"}, "'a': '8 of 32' is text. Write a number.", ""),
        ({"a": "32"}, "'a': '32' is not right", "that is all of them"),
        ({"c": False}, "'c': False is not right", "c again"),
        ({"a": 32, "c": False}, "'a': 32", "that is all of them"),  # reports only the first error
    ],
)
def test_a_wrong_answer_is_told_its_misconception(change, says, likely):
    misconceptions = {("a", 32): "that is all of them", ("c", False): "c again", ("b", 9): "not a"}
    error = stopped(answers(RIGHT, misconceptions), RIGHT | change)
    assert says in error.happened and error.likely == likely and not error.unanswered


def test_missing_answers_are_named_all():
    error = stopped(answers(RIGHT), {"a": None, "b": (2, [None, "yes"])})
    assert error.happened == "No answer yet: 'a', 'b', 'c'." and error.unanswered
    assert "Expected the skeleton's dict, got 8." in stopped(answers(RIGHT), 8).happened


def test_separate_groups_are_judged_though_one_before_failed():
    e = exercise("week0/which_layout")
    right = e.grade(load(e, e.source.solution))
    assert right
    wrong = e.source.solution.replace("(4, 6)", "(4, 7)", 1)
    assert wrong != e.source.solution
    report = e.grade(load(e, wrong))
    assert not report and report.left == ("Puzzle A",)
    assert [o.name for o in report.passed] == ["Puzzle B"]


def test_an_answers_own_comparison_is_not_asked():
    class Agreeable(float):
        def __eq__(self, other: object) -> bool:
            return True

        def __float__(self) -> float:
            return 8.0

        __hash__ = float.__hash__

    class Whole(int):
        def __float__(self) -> float:
            return 8.0

    class Stranger:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    group = answers({"sectors": 8, "pair": (1, 2), "word": "none"})
    good = {"sectors": 8.0, "pair": [1, 2], "word": "None"}
    assert group.run(Submission(good)) == "3 answers"
    for name, value in (
        ("sectors", Agreeable(7)),
        ("sectors", Whole(7)),
        ("sectors", Stranger()),
        ("word", Stranger()),
    ):
        with pytest.raises(GateError):
            group.run(Submission(good | {name: value}))


def test_the_failing_call_can_be_drawn_again(monkeypatch):
    monkeypatch.setenv("FORGEKIT_PROGRESS", "off")
    e = exercise("week0/add_arrays")
    wrong = e.source.solution.replace("mA[i] + mB[i]", "mA[i] * mB[i]")
    report = e.grade(load(e, wrong))
    assert 'fk.exercise("week0/add_arrays").failed.show()' in repr(report).replace("\n      ", " ")
    _, *args = e.failed
    assert len(args) == 3 and args[0].shape == (8,)
    shown = e.failed.show()
    assert not shown.ok and shown.wrong == 8


def test_small_sizes_are_drawn_as_often_as_large_ones():
    """Half of the sizes are below the square root of the largest size."""
    drawn = [n for seed in range(300) for (n,) in drawn_sizes([(7,), (10_000,)], 1, seed)]
    assert min(drawn) >= 1 and max(drawn) <= 10_000
    assert 120 <= sum(n <= 100 for n in drawn) <= 180


def test_numbers_are_right_within_half_a_percent():
    group = answers({"rate": 200.0})
    for close in (199.1, 200, 200.9):
        group.run(Submission({"rate": close}))
    for far in (198.9, 201.1):
        with pytest.raises(GateError):
            group.run(Submission({"rate": far}))


# -- messages of failed gates -----------------------------------------------------------------
_SAID = """It raised DSLUserCodeError:
\x1b[91m\x1b[1merror[ARG_ANNOTATION_MISMATCH]:\x1b[0m expects a cute.Tensor
 \x1b[94m-->\x1b[0m {file}:3:9
  |
3 |         fn(x, y)
  |         \x1b[91m^^^^^^^^\x1b[0m
suggestion: pass another value"""


def test_colours_and_places_inside_forgekit_are_left_out():
    inside = os.path.join(os.path.dirname(fk.__file__), "lessons", "grading.py")
    assert GateError(_SAID.format(file=inside)).happened == (
        "It raised DSLUserCodeError:\n"
        "error[ARG_ANNOTATION_MISMATCH]: expects a cute.Tensor\n"
        "suggestion: pass another value"
    )


def test_places_in_a_students_code_stay():
    happened = GateError(_SAID.format(file="/home/ada/scale.py")).happened
    assert "\x1b" not in happened
    assert "--> /home/ada/scale.py:3:9\n  |\n3 |         fn(x, y)\n" in happened


def test_an_atomic_operation_reads_its_counter():
    e = exercise("week1/fix_the_counter")
    report = e.grade(load(e, e.source.solution.replace("mY[0] = best", "mY[0] = best + 1.0")))
    assert "result is wrong" in repr(report) and "no thread reads" not in repr(report)
    assert "expected" in report.failure.happened  # shows the values, because the reason is unknown


def test_loads_that_a_predicate_skips_are_not_called_removed():
    e = exercise("week1/segmented_sums")
    text = e.source.solution.replace("mY.shape[0]:\n        for", "mY.shape[0] - 1:\n        for")
    report = e.grade(load(e, text))
    skipped = "The PTX contains loads, but each thread's `if` or loop skips them."
    assert report.failure.likely == f"no thread reads mX or mStarts. {skipped}"


def test_the_book_gives_the_limits_of_the_sizes():
    page = (Path(__file__).parents[2] / "book" / "exercises.md").read_text(encoding="utf-8")
    assert f"beyond {_FAR[0]:,} elements" in page and f"beyond {_FAR_SUM:,} in" in page
    assert f"about {_FAR_S} s" in page
    assert f"elements, {large._SAMPLE} blocks run" in page and large._LENGTH == (1 << 20,)


def test_far_sizes_are_beyond_16_bits_where_the_solution_is_fast():
    def size(name, mode):
        e = exercise(name)
        group = inspect.getclosurevars(e.groups[0].run).nonlocals
        least = tuple(map(min, zip(*group["sizes"], strict=True)))
        known, dtype, legal = (10,) * len(least), group["dtypes"][0], group["legal"]
        submission = Submission(e.reference(), solution=e.reference)
        return _far_size(submission, group["make"], mode, known, dtype, least, legal)

    assert size("week0/scale", 0)[0] > 131_072
    assert 65_536 > size("week1/warp_argmax", 1)[1] > 32_768  # a mode that the outputs lack
    assert 1_024 < size("week1/compensated", 1)[1] < 32_768  # one thread per row
    assert size("week2/rms_norm", 1) is None  # the task limits a row's length
