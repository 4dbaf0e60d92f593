"""Test check(): values, tolerances, patterns of mismatches, and reports inside and outside a
notebook."""

import math
import tracemalloc

import numpy as np
import pytest
import torch

from forgekit.checking.check import check
from forgekit.checking.compare import _CHUNK, compare
from forgekit.errors import CheckError, UsageError
from forgekit.tensors import arange, empty, randint, randn

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def no_wish(monkeypatch):
    monkeypatch.delenv("FORGEKIT_CHECK", raising=False)


def broken(expected, places, value=5.0):
    actual = expected.clone()
    actual[places] = value
    return actual


# Equal values


@pytest.mark.parametrize(
    "dtype", [*FLOATS, torch.int32, torch.uint8, torch.bool, torch.float8_e4m3fn]
)
def test_equal(dtype):
    x = randint(0, 2, 33, 7).to(dtype)
    report = check(x, x.clone(), name="y")
    assert report and report.ok and report.wrong == 0
    name = str(dtype).removeprefix("torch.")
    assert str(report) == repr(report) == f"OK  y: 231 elements equal ({name}, exact)"


def test_a_single_element():
    one = torch.ones(1)
    assert str(check(one, one.clone())) == "OK  1 element equal (float32, exact)"
    assert compare(one, one + 1).headline == "WRONG  1 of 1 element differs (all, float32)"


@pytest.mark.parametrize("dtype", FLOATS)
def test_one_rounding_is_within_tolerance_and_a_wrong_scale_is_not(dtype):
    reference = randn(1000, dtype=torch.float64)
    result = reference.to(dtype)
    assert check(result, reference)
    assert not compare((reference * 1.05).to(dtype), reference)


@pytest.mark.parametrize("dtype", FLOATS)
def test_rtol_decides(dtype):
    expected = torch.full((4,), 2.0, dtype=torch.float64)
    assert compare(torch.full((4,), 3.0, dtype=dtype), expected, rtol=0.5, atol=0)
    assert not compare(torch.full((4,), 3.0, dtype=dtype), expected, rtol=0.49, atol=0)
    assert compare(torch.full((4,), 3.0, dtype=dtype), expected, rtol=0, atol=1)
    assert not compare(torch.full((4,), 3.0, dtype=dtype), expected, rtol=0, atol=0.99)


def test_atol_shrinks_with_small_values():
    """In a row of a softmax over 4096 columns, an atol of 1e-5 would hide an error of 4 %."""
    expected = torch.full((64, 4096), 1 / 4096)
    assert not compare(expected * 1.001, expected)
    assert compare(expected * 1.001, expected, atol=1e-5)
    assert compare(expected.half(), expected)
    # fp16 has few digits for values this small
    tiny = torch.full((8,), 3.3e-7, dtype=torch.float64)
    assert compare(tiny.half(), tiny)


def test_cancelled_sums_are_no_mistake():
    expected = torch.tensor([30.0, 0.0])
    assert compare(expected + torch.tensor([1e-5, 5e-6]), expected)


def test_one_huge_value_does_not_loosen_the_tolerance():
    expected = torch.tensor([1.0, 3e38])
    assert not compare(torch.tensor([1.01, 3e38]), expected)


@pytest.mark.parametrize(
    ("got", "expected", "equal"),
    [
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (INF, INF, True),
        (INF, -INF, False),
        (-INF, -INF, True),
        (INF, NAN, False),
        (NAN, INF, False),
        (3e38, INF, False),
        (INF, 3e38, False),
        (-0.0, 0.0, True),
        (0.0, INF, False),
        (0.0, 1.0, False),
    ],
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype, got, expected, equal):
    if dtype == torch.float16:  # float16 rounds 3e38 to infinity
        got, expected = (6e4 if value == 3e38 else value for value in (got, expected))
    ones = [1.0, 2.0]
    report = compare(
        torch.tensor([got, *ones], dtype=dtype), torch.tensor([expected, *ones], dtype=dtype)
    )
    assert report.ok is equal
    assert report.nan_counts == (math.isnan(got), math.isnan(expected))
    assert report.inf_counts == (math.isinf(got), math.isinf(expected))


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.int64, torch.uint8])
def test_expected_that_nobody_computed_is_not_right(dtype):
    """`run(y, x)` copies the poison over the input, so both sides are poison."""
    for shape in ((1,), (3, 5)):
        poisoned = empty(*shape, dtype=dtype)
        report = compare(poisoned.clone(), poisoned)
        assert not report.ok and report.wrong == poisoned.numel()
        assert "so it cannot be the reference; did you swap the arguments" in str(report)
        assert (
            "<img" not in report._repr_mimebundle_()["text/html"] and str(report).count("\n") == 0
        )
        assert not compare(torch.ones_like(poisoned), poisoned).ok
    partly = poisoned.clone()
    partly[0, 0] = 1
    assert compare(partly.clone(), partly).ok
    assert compare(empty(0, dtype=dtype), empty(0, dtype=dtype)).ok
    assert compare(empty(3, dtype=torch.bool), empty(3, dtype=torch.bool)).ok


def test_worst_differences_are_those_of_wrong_elements():
    expected = torch.tensor([1000.0, 0.001])
    actual = torch.tensor([1000.5, 0.101])
    lines = str(compare(actual, expected, rtol=1e-3, atol=1e-3)).splitlines()
    assert not any("worst difference" in line for line in lines)  # 0.5 is within the tolerance
    assert any("worst relative difference: 100 at [1]" in line for line in lines)


def test_float64_overflow_inside_is_no_problem():
    x = torch.tensor([1e308, -1e308], dtype=torch.float64)
    assert check(x, x.clone())
    assert not compare(x, -x)


def test_integers_are_exact():
    big = torch.tensor([2**62, 2**62 + 1])
    assert check(big, big.clone())
    report = compare(big, torch.tensor([2**62, 2**62]))  # equal as float64
    assert report.wrong == 1 and report.first[0].got == 2**62 + 1
    assert not compare(
        torch.tensor([200], dtype=torch.uint8), torch.tensor([201], dtype=torch.uint8)
    )
    unsigned = torch.tensor([0, 2**32 - 1], dtype=torch.uint32)
    report = compare(unsigned, torch.tensor([1, 2**32 - 1], dtype=torch.uint32))
    assert report.wrong == 1 and report.worst_absolute.absolute == 1
    report = compare(big, big + 1, rtol=0.5)  # no tolerance applies, and none is printed
    assert report.wrong == 2 and "tolerance" not in str(report)


def test_booleans():
    x = torch.tensor([True, False, True])
    assert check(x, x.clone())
    report = compare(x, ~x)
    assert report.wrong == 3 and report.hints == (
        "every element of actual is the negation of expected",
    )


def test_wider_expected():
    assert check(randn(9).half(), randn(9))
    assert check(randn(9).bfloat16(), randn(9).numpy().astype(np.float64))
    assert check(randint(0, 9, 4), randint(0, 9, 4).long())


def test_array_likes_and_scalars():
    assert check([1, 2, 3], [1, 2, 3])
    assert check(np.float32(0.1), 0.1)
    assert check(torch.tensor([0.1, 0.2], dtype=torch.float16), [0.1, 0.2])
    assert check(torch.tensor(3), 3)
    assert check(randn(4).requires_grad_(), randn(4))
    assert check(randn(4, 6).T, randn(4, 6).T.contiguous())


def test_empty_and_zero_dimensional():
    assert (
        str(check(torch.zeros(0, 3), torch.zeros(0, 3))) == "OK  0 elements, shape (0, 3) (float32)"
    )
    report = compare(torch.tensor(1.0), torch.tensor(2.0))
    assert report.worst_absolute.index == () and "[]" in str(report)


# Values that cannot be compared


def test_shapes():
    with pytest.raises(UsageError, match=r"shape of actual: got \(3,\), needed \(4,\)"):
        check(torch.zeros(3), torch.zeros(4))
    with pytest.raises(UsageError, match=r"compare with expected\.T, because"):
        check(torch.zeros(3, 4), torch.zeros(4, 3))


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (torch.float32, torch.float16),
        (torch.float16, torch.bfloat16),
        (torch.float32, torch.int32),
        (torch.int32, torch.float32),
        (torch.int64, torch.int32),
        (torch.bool, torch.int32),
        (torch.uint8, torch.int8),
    ],
)
def test_dtypes(actual, expected):
    name = str(actual).removeprefix("torch.")
    with pytest.raises(UsageError, match=rf"dtype of expected: got .*, needed {name} or a wider"):
        check(torch.zeros(2, dtype=actual), torch.zeros(2, dtype=expected))


@pytest.mark.parametrize(
    "value", [torch.zeros(2, dtype=torch.complex64), np.zeros(2, complex), ["a", "b"]]
)
def test_values_that_are_no_numbers(value):
    with pytest.raises(UsageError, match="actual: got"):
        check(value, torch.zeros(2))


def test_the_nothing_that_a_kernel_returns():
    for pair, label in (((None, torch.ones(3)), "actual"), ((torch.ones(3), None), "expected")):
        with pytest.raises(UsageError, match=f"{label}: got None, .* writes to its arguments"):
            check(*pair)


def test_bad_arguments(monkeypatch):
    x = torch.zeros(2)
    with pytest.raises(UsageError, match="rtol: got -1"):
        check(x, x, rtol=-1)
    with pytest.raises(UsageError, match="on_fail: got 'print'"):
        check(x, x, on_fail="print")
    monkeypatch.setenv("FORGEKIT_CHECK", "shout")
    with pytest.raises(UsageError, match="FORGEKIT_CHECK: got 'shout'"):
        check(x, x)


# The report


def test_report_in_full():
    expected = arange(1, 1001)
    actual = broken(expected, slice(976, None), 0.0)
    with pytest.raises(CheckError) as caught:
        check(actual, expected, name="y", max_shown=2)
    assert caught.value.report.wrong == 24
    assert str(caught.value) == "\n".join(
        [
            "WRONG  y: 24 of 1,000 elements differ (2.4 %, float32)",
            "  tolerance: rtol 1e-05, atol 1e-05",
            "  worst difference: 1000 at [999]: got 0, expected 1000",
            "  worst relative difference: 1 at [976]: got 0, expected 977",
            "  pattern: every wrong element is 0",
            "  pattern: all mismatches are in the last 24 elements (976 to 999)",
            "  first mismatches  got  expected",
            "  [976]               0       977",
            "  [977]               0       978",
            "  ... and 22 more",
        ]
    )


def test_worst_is_found_beyond_the_first_chunk():
    expected = torch.ones(3 * _CHUNK + 5)
    actual = expected.clone()
    actual[7], actual[-2] = 3.0, -9.0
    report = compare(actual, expected)
    assert report.wrong == 2
    assert report.worst_absolute.index == (expected.numel() - 2,)
    assert report.worst_absolute.absolute == 10
    assert [m.index for m in report.first] == [(7,), (expected.numel() - 2,)]


def test_only_so_many_are_listed_also_across_chunks():
    expected = torch.ones(2 * _CHUNK)
    actual = expected.clone()
    actual[[1, 2, _CHUNK, _CHUNK + 1, _CHUNK + 2]] = 0
    report = compare(actual, expected, max_shown=3)
    assert [m.index for m in report.first] == [(1,), (2,), (_CHUNK,)]


def test_right_values_report_the_bound_that_they_met():
    expected = torch.tensor([1.0, 4.0])
    report = check(expected + torch.tensor([0.0, 1e-5]), expected)
    assert str(report) == "OK  2 elements within rtol 1e-05, atol 1e-05 (float32)"
    assert report.worst_absolute.absolute == pytest.approx(1e-5, rel=0.05)


def test_values_that_print_alike_are_told_apart():
    report = compare(np.array([1.0]), np.array([1.0 + 1e-10]))
    assert "got 1.0, expected 1.0000000001" in str(report)


def test_nearly_all_is_not_all():
    report = compare(broken(torch.zeros(100_000), slice(1, None), 1.0), torch.zeros(100_000))
    assert "99,999 of 100,000 elements differ (over 99.9 %" in str(report)


def test_codes_tell_nan_missing_and_wrong():
    actual = torch.tensor([1.0, 0.0, NAN, 9.0, 0.0])
    codes = compare(actual, torch.tensor([1.0, 2.0, 3.0, 4.0, 0.0])).codes
    assert codes.tolist() == [0, 2, 3, 1, 0]
    numbers = empty(3, dtype=torch.int32)
    numbers[1] = 7
    assert compare(numbers, torch.tensor([1, 2, 3], dtype=torch.int32)).codes.tolist() == [2, 1, 2]


# Hints contain only facts


def grid(rows=40, columns=1000):
    return randn(rows, columns)


ALL = slice(None)
HINTS = [  # mistakes in a matrix, with their hints
    (lambda e: broken(e, (ALL, slice(976, None))),
     "all mismatches are in the last 24 columns (976 to 999)"),
    (lambda e: broken(e, slice(32, None)), "all mismatches are in the last 8 rows (32 to 39)"),
    (lambda e: broken(e, slice(0, 3)), "all mismatches are in the first 3 rows (0 to 2)"),
    (lambda e: broken(e, (ALL, 5)), "all mismatches are in column 5"),
    (lambda e: broken(e, (ALL, slice(8, 16))), "all mismatches are in columns 8 to 15"),
    (lambda e: broken(e, (ALL, slice(1, None, 2))),
     "all mismatches are in every second column, starting at 1"),
    (lambda e: broken(e, (ALL, slice(0, None, 33))),
     "all mismatches are in every 33rd column, starting at 0"),
    (lambda e: broken(e, slice(3, None, 4)), "all mismatches are in every 4th row, starting at 3"),
    (lambda e: broken(e, (3, 4)), "a single element differs"),
    (lambda e: e * NAN,
     "every element of actual is NaN (never stored, or computed as NaN)"),
    (lambda e: e * 0, "every element of actual is 0"),
    (lambda e: e * 0 + 3, "every element of actual is 3"),
    (lambda e: e * 2, "actual equals expected times 2"),
    (lambda e: e / 1000, "actual equals expected times 0.001"),
    (lambda e: -e, "actual equals expected times -1"),
    (lambda e: e.flip(0), "actual equals expected with its rows in reverse order"),
    (lambda e: e.flip(1), "actual equals expected with its columns in reverse order"),
    (lambda e: e.T.reshape(40, 1000),
     "actual contains the values of expected in transposed order"),
    (lambda e: e.reshape(-1).roll(1).reshape(40, 1000),
     "actual equals expected shifted: each value is one position later"),
    (lambda e: e.reshape(-1).roll(-1).reshape(40, 1000),
     "actual equals expected shifted: each value is one position earlier"),
    (lambda e: broken(e, (slice(2, None), slice(2, None)), NAN),
     "every wrong element is NaN (never stored, or computed as NaN)"),
]  # fmt: skip
HINTS_ELSEWHERE = [
    (arange(1, 1025), lambda e: broken(e, slice(1, None, 2)),
     "exactly every second element differs, starting at 1"),
    (arange(1, 1025), lambda e: broken(e, slice(100, 110)),
     "all mismatches are in elements 100 to 109"),
    (randn(4, 5, 6), lambda e: broken(e, (ALL, ALL, slice(4, None))),
     "all mismatches are in the last 2 columns (4 to 5)"),
    (grid(64, 64), lambda e: e.T, "actual equals the transpose of expected"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "spoil", "hint"), [*((grid(), *row) for row in HINTS), *HINTS_ELSEWHERE],
    ids=lambda x: x[:40] if isinstance(x, str) else "",
)  # fmt: skip
def test_hints(expected, spoil, hint):
    assert hint in compare(spoil(expected), expected).hints


def test_a_ratio_holds_for_small_elements_beside_a_huge_one():
    expected = torch.tensor([29.0, 14.0, -3.4e38, 17.0, 24.0])
    got = torch.tensor([19.0, 14.0, -3.399e38, 13.0, 18.0])
    assert not any("times" in hint for hint in compare(got, expected).hints)
    assert "actual equals expected times 2" in compare(expected / 2, expected / 4).hints
    expected[::2] = got[::2] = INF
    assert not any("times" in hint for hint in compare(got, expected).hints)


def test_no_hint_without_a_pattern():
    expected = grid(64, 64)
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(64, 64, generator=generator) < 0.5
    assert (
        compare(torch.where(mask, expected + randn(64, 64, seed=9), expected), expected).hints == ()
    )


def test_almost_a_pattern_is_none():
    expected = grid(64, 64)
    actual = broken(expected, (slice(None), slice(48, None)))
    actual[0, 0] = 9
    assert not any("last" in hint for hint in compare(actual, expected).hints)
    nearly = expected.T.clone()
    nearly[3, 5] += 1
    assert "actual equals the transpose of expected" not in compare(nearly, expected).hints
    doubled = expected * 2
    doubled[63, 63] += 1
    assert compare(doubled, expected).hints == ()


def test_a_claim_about_all_elements_is_checked_on_all():
    """Of 256 x 256 elements, every 16th is compared first; the wrong element is not one of them."""
    expected = grid(256, 256)
    for claimed in (expected.T, expected.flip(0), expected * 2):
        actual = claimed.clone()
        actual[3, 5] += 1
        assert not any("actual is" in hint for hint in compare(actual, expected).hints)


def test_irregular_columns_are_not_every_second():
    expected = grid(4, 10)
    actual = broken(expected, (slice(None), [1, 3, 4, 6, 9]))
    assert not any("every second" in hint for hint in compare(actual, expected).hints)


def test_tiles():
    expected = grid(64, 96)
    actual = expected.clone()
    actual[32:, 64:] += 1
    report = compare(actual, expected, tile=(32, 32))
    assert "mismatches are in 1 of 6 tiles (32x32), covering each completely" in report.hints
    actual[::32, ::32] += 1
    actual[32:, 64:] = expected[32:, 64:]
    actual[32, 64] += 1
    hints = compare(actual, expected, tile=(32, 32)).hints
    assert "each of the 6 tiles has 1 wrong element" in hints or len(hints) == 3
    hints = compare(actual, expected, tile=(64, 96)).hints
    assert not any("tiles" in hint for hint in hints)


# Raising and showing


def test_on_fail(monkeypatch):
    x, y = torch.zeros(3), torch.ones(3)
    with pytest.raises(CheckError):
        check(x, y)
    report = check(x, y, on_fail="report")
    assert not report and not report.ok
    monkeypatch.setenv("FORGEKIT_CHECK", "report")
    assert not check(x, y)
    with pytest.raises(CheckError):
        check(x, y, on_fail="raise")


def test_check_error_is_an_assertion():
    with pytest.raises(AssertionError):
        check(torch.zeros(1), torch.ones(1))


CELLS = {
    "last value": "check(torch.zeros(40), torch.ones(40), name='y')",
    "right": "check(torch.ones(40), torch.ones(40))",
    "middle": "check(torch.zeros(4), torch.ones(4))\nx = 1",
    "kept": "r = check(torch.zeros(4), torch.zeros(4))",
    "again": "r",
    "forced": "check(torch.zeros(4), torch.ones(4), on_fail='raise')",
    "usage": "x = 3\ncheck(torch.zeros(3), torch.zeros(4))",
}


@pytest.fixture(scope="module")
def notebook():
    """Return the outputs of CELLS, run in a real Jupyter kernel, without warnings from
    libraries."""
    import nbformat
    from nbclient import NotebookClient

    setup = "import torch\nfrom forgekit.checking.check import check"
    cells = [nbformat.v4.new_code_cell(source) for source in (setup, *CELLS.values())]
    book = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, timeout=100, allow_errors=True, kernel_name="python3").execute()
    return {
        name: [output for output in cell.outputs if output.get("name") != "stderr"]
        for name, cell in zip(CELLS, book.cells[1:], strict=True)
    }


@pytest.mark.parametrize("name", ["last value", "right", "middle", "kept", "again"])
def test_notebook_shows_each_report_once_and_raises_nothing(notebook, name):
    assert [output.output_type for output in notebook[name]] == ["display_data"]


def test_notebook_shows_text_and_picture(notebook):
    data = notebook["last value"][0].data
    assert data["text/plain"].startswith("WRONG  y: 40 of 40 elements differ (all, float32)")
    assert "data:image/png;base64," in data["text/html"]
    assert notebook["right"][0].data["text/plain"] == "OK  40 elements equal (float32, exact)"


def test_notebook_can_be_made_to_raise(notebook):
    (output,) = notebook["forced"]
    assert (output.output_type, output.ename) == ("error", "CheckError")


def test_notebook_shows_no_traceback(notebook):
    (output,) = notebook["usage"]
    assert output.traceback == [
        "\x1b[1;31mUsageError\x1b[0m: shape of actual: got (3,), needed (4,), the shape of "
        "expected; compare tensors of equal shape",
        "",
        "  cell [8], line 2: check(torch.zeros(3), torch.zeros(4))",
    ]


def test_html_reads_on_light_and_dark_pages():
    report = compare(broken(randn(8, 8), (0, 0)), randn(8, 8), name="<y>")
    html = report._repr_mimebundle_()["text/html"]
    assert "color:inherit" in html and "border-left:4px solid #D55E00" in html
    assert "&lt;y&gt;" in html and "<y>" not in html
    assert 'alt="WRONG  &lt;y&gt;: 1 of 64' in html
    bundle = compare(randn(3), randn(3))._repr_mimebundle_()
    assert "#009E73" in bundle["text/html"] and "<img" not in bundle["text/html"]
    assert set(bundle) == {"text/plain", "text/html"}
    again = compare(broken(randn(8, 8), (0, 0)), randn(8, 8), name="<y>")
    assert html == again._repr_mimebundle_()["text/html"]


def test_a_large_result_costs_little_memory():
    """For 4 Mi elements, check() makes no float64 copy of all elements."""
    expected = torch.zeros(2048, 2048)
    expected[:, ::3] = 2.0
    actual = expected.clone()
    actual[2000:, 100:200] = NAN
    tracemalloc.start()
    try:
        report = compare(actual, expected)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.wrong == 4800
    assert peak < 14 * expected.numel()  # bytes per element; measured 9, and 53 with a single chunk
