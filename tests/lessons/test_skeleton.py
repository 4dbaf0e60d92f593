"""Test how skeletons are derived from solutions: which lines are removed, and errors for marks that
do not pair up."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from forgekit.errors import UsageError
from forgekit.lessons.skeleton import Source, read_source

HEAD = '''"""Solution of week0/x."""

import math
from math import (
    pi,
)

'''


def source(tmp_path: Path, code: str) -> Source:
    file = tmp_path / "x.py"
    file.write_text(HEAD + textwrap.dedent(code), encoding="utf-8")
    return read_source(file)


def test_marked_lines_become_one_placeholder(tmp_path):
    read = source(
        tmp_path,
        """
        # above
        def area(r):
            # [fill]
            #| half = None
            #|
            #|     return half  # to begin with
            square = r * r

            # of the circle
            return pi * square
            # [/fill]


        y = area(2)
        """,
    )
    assert read.solution == (
        "# above\ndef area(r):\n    square = r * r\n\n    # of the circle\n    return pi * square\n"
        "\n\ny = area(2)\n"
    )
    assert read.skeleton == (
        "# above\ndef area(r):\n    # FILL ME IN (roughly 2 lines)\n    half = None\n\n"
        "        return half  # to begin with\n\n\ny = area(2)\n"
    )
    assert read.path == tmp_path / "x.py"


def test_one_line_is_one_line_and_several_places_are_marked_each(tmp_path):
    read = source(
        tmp_path,
        """
        # [fill]
        a = 1
        # [/fill]
        b = 2
        # [fill]
        c = 3
        # [/fill]
        """,
    )
    assert read.solution == "a = 1\nb = 2\nc = 3\n"
    assert read.skeleton.count("# FILL ME IN (roughly 1 line)") == 2
    assert "a = 1" not in read.skeleton and "c = 3" not in read.skeleton


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("a = 1\n", "got no marked lines"),
        ("", "got no marked lines"),
        ("# [fill]\na = 1\n", "got no marked lines"),  # the mark is opened but never closed
        ("a = 1\n# [/fill]\n", "x.py, line 9: got '# [/fill]', needed marks in pairs"),
        ("# [fill]\n# [fill]\na = 1\n# [/fill]\n", "x.py, line 9: got '# [fill]', needed marks in"),
    ],
)
def test_marks_that_do_not_pair_up_are_refused(tmp_path, code, says):
    with pytest.raises(UsageError) as refused:
        source(tmp_path, code)
    assert says in str(refused.value) and "x.py" in str(refused.value)
