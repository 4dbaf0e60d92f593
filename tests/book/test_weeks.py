"""What the pages of weeks 1 and 2 offer to try: it runs, and counts what they say."""

from __future__ import annotations

import re
from typing import Any

import pytest

import forgekit as fk
from tests.book.conftest import ROOT


def tried(week: str) -> Any:
    """What the last line of the page's code gives, on the virtual GPU."""
    (code,) = re.findall(
        r"^```python\n(.+?)^```", (ROOT / week / "README.md").read_text("utf-8"), re.M | re.S
    )
    *lines, last = code.splitlines()
    names: dict[str, Any] = {}
    with fk.use_target("virtual", arch="sm_90a"):
        exec("\n".join(lines), names)
        return eval(last, names)


@pytest.mark.parametrize(
    ("week", "times", "few", "many", "share"),
    [
        ("week1_reduce", {"naive": 8, "smem": 1, "shuffle": 1}, "vectorized", "shuffle", 0.53),
        ("week2_softmax", {"three_pass": 2, "two_pass": 1.5, "online": 1}, "vectorized", "online",
         0.43),
    ],
)  # fmt: skip
def test_it_counts_what_the_page_says(
    week: str, times: dict[str, float], few: str, many: str, share: float
) -> None:
    found = tried(week)
    assert found.failed == {}
    for name, wanted in times.items():
        moved = found[name].counters.global_bytes
        assert moved / found.moved_bytes == pytest.approx(wanted, rel=0.01)
    fewer, more = (found[name].counters.thread_instructions for name in (few, many))
    assert fewer / more == pytest.approx(share, abs=0.005)
