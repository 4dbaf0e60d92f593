"""Test explain()'s descriptions of layouts and tensors."""

from __future__ import annotations

import subprocess
import sys

import pytest

import forgekit as fk
from forgekit.errors import UsageError
from forgekit.layouts import Layout
from forgekit.layouts.wording import distinct_offsets
from tests.layouts.test_parse import PRINTED


def test_a_matrix() -> None:
    assert str(fk.explain("(4,8):(8,1)")) == (
        "(4,8):(8,1)\n"
        "A layout; 4 x 8 = 32 elements, row-major: the elements of a row are adjacent. "
        "It spans 32 elements (cosize): one-to-one and without gaps. "
        "Element (1,2) is at 1·8 + 2·1 = 10.\n"
        "\n"
        "mode  size:stride  what it does\n"
        "0     4:8          neighbours 8 elements apart\n"
        "1     8:1          neighbours 1 element apart (contiguous)"
    )


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ((4, 8), ["neighbours 8 elements apart"]),
        (((4, 8), (1, 4)), ["column-major", "1·1 + 2·4 = 9"]),
        ("(32,32):(33,1)", ["row-major", "spans 1055 elements (cosize)", "31 gaps"]),
        ("(4,4):(1,2)", ["not one-to-one, 16 coordinates share 10 offsets"]),
        ("(32,4):(0,1)", ["broadcast", "stride 0 repeats the same elements"]),
        ("(4,8):(-1,4)", ["1 element apart, backwards"]),
        ("(1,8):(0,1)", ["one element, no step", "8 elements"]),
        (PRINTED["nested"], ["32-bit float (f32) in global memory (gmem)", "2·? + 3·32", "? x ?"]),
        (
            PRINTED["argument, divisible"],
            ["aligned to 32 bytes", "a multiple of 8", "column-major"],
        ),
        (PRINTED["shared, swizzled"], ["shared memory", "bits 3 to 5", "maps to 74"]),
        (PRINTED["shared, pointer"], ["byte addresses are swizzled", "= 66 before the swizzle"]),
        (PRINTED["registers"], ["a thread's own registers"]),
        (PRINTED["identity"], ["each element is a coordinate; the first is (0,0)"]),
        (PRINTED["nested identity"], ["adds 1 to entry 0 of entry 1 of the coordinate"]),
        (PRINTED["layout of layout"], ["moved by (1,0) and passed to (4,4):(4,1)"]),
        (PRINTED["empty"], ["1 element"]),
    ],
)
def test_says(value: object, says: list[str]) -> None:
    words = str(fk.explain(value))
    for part in says:
        assert part in words, words


@pytest.mark.parametrize("text", PRINTED.values(), ids=list(PRINTED))
def test_everything_printed_is_explained(text: str) -> None:
    explanation = fk.explain(text)
    assert explanation.paragraph.endswith(".") and len(explanation.paragraph) < 600
    assert all(len(line) <= 120 for line in str(explanation).splitlines()[2:])


def test_a_nested_mode_shows_its_parts() -> None:
    rows = fk.explain("(4,(2,3)):(1,(4,8))").rows
    assert [(mode, layout) for mode, layout, _ in rows] == [
        ("0", "4:1"),
        ("1", "(2,3):(4,8)"),
        ("1.0", "2:4"),
        ("1.1", "3:8"),
    ]


def test_an_element_of_a_coordinate_tensor_only_where_it_is_known() -> None:
    said = "Element (1,2) is the coordinate (1,2)"
    assert said in str(fk.explain("tensor<(0,0) o (2,3):(1@0,1@1)>"))
    for text in ("tensor<(0,4) o (2,3):(1@0,1@1)>", "(2,3):(?@0,1@1)"):
        assert "is the coordinate" not in str(fk.explain(text))


def test_notebooks_get_a_table() -> None:
    bundle = fk.explain(PRINTED["shared, pointer"])._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/html"].count("<tr") == 3
    assert "S&lt;3,4,3&gt;" in bundle["text/html"]


@pytest.mark.parametrize(
    "layout", ["(2,3,4):(12,4,1)", "(4,4):(1,2)", "(3,2):(-1,4)", "(4,2):(3,4)"]
)
def test_distinct_offsets_are_counted_right(layout: str) -> None:
    of = Layout.of(layout)
    assert distinct_offsets(of) == len({of(i) for i in range(of.size())})


def test_the_unreadable_is_refused() -> None:
    with pytest.raises(UsageError, match="needed"):
        fk.explain("hello")


def test_explaining_and_the_names_of_viz_need_no_heavy_import() -> None:
    code = (
        "import sys, forgekit as fk, forgekit.viz; fk.explain('(4,8):(8,1)'); fk.Layout(4);"
        "heavy = 'torch', 'cutlass', 'numpy', 'matplotlib', 'PIL', 'IPython';"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
