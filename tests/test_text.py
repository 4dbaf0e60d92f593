from __future__ import annotations

import pytest

from forgekit.text import Cell, Table, extent, plural, seconds, shortened, size, spans


def test_numbers():
    assert [plural(1, "sector"), plural(2560, "sector")] == ["1 sector", "2,560 sectors"]
    assert [plural(3, "branch"), plural(2, "copy"), plural(0, "way")] == [
        "3 branches", "2 copies", "0 ways"]  # fmt: skip
    assert [size(999), size(1e3), size(2_621_440), size(999_600)] == [
        "999 B", "1.00 kB", "2.62 MB", "1.00 MB"]  # fmt: skip
    assert [size(5e12), size(1280, exact=True)] == ["5,000 GB", "1,280 bytes"]
    assert [seconds(0), seconds(1.4e-7), seconds(1.2e-3), seconds(75)] == [
        "0 s", "140 ns", "1.20 ms", "75.0 s"]  # fmt: skip
    assert extent((8, 1, 1), "block") == "8 blocks"
    assert extent((32, 1, 4), "block") == "128 blocks (32 × 1 × 4)"
    assert spans([]) == "" and spans([*range(16), 24]) == "0–15, 24" and spans([3]) == "3"
    assert spans([*range(0, 32, 2)]) == "0, 2, … 30" and spans([0, 2, 4]) == "0, 2, 4"
    assert shortened("abcdef", 4) == "abc…" and shortened("abc", 3) == "abc"


TABLE = Table(
    ("step", "time\nms", "beside"),
    [("naive", "12.5", "–"), (Cell("a < b"), Cell("not measured", 2))],
    left=(0, 2),
)


def test_a_table_as_text():
    assert TABLE.lines() == [
        "       time",
        "step     ms  beside",
        "naive  12.5  –",
        "a < b  not measured",
    ]
    assert TABLE.lines(widest={0: 4})[2:] == ["nai…  12.5  –", "a <…  not measured"]
    wide = Table(("", "n"), [(Cell("far wider than both", 2),), ("a", "1")])
    assert wide.lines() == ["                  n", "far wider than both", "a                 1"]


def test_a_table_as_markdown():
    assert Table(("op", "ms"), [("sum", "1")]).markdown() == "| op | ms |\n|---|---:|\n| sum | 1 |"


def test_a_table_as_html():
    html = TABLE.html()
    assert '<td colspan="2"' in html and "time<br>ms" in html and "a &lt; b" in html
    assert html.count("<tr") == 3 and html.count('scope="col"') == 3
    marked = Table((), [("x",)], styles={0: "red"}).html()
    assert 'background:red"' in marked and "<thead>" not in marked


@pytest.mark.parametrize("rows", [[], [()]])
def test_an_empty_table(rows):
    assert Table((), rows).lines() == ([""] if rows else [])
    assert Table(("a", "b"), []).lines() == ["a  b"]
