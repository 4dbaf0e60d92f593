"""Test the suites' files: valid and invalid content."""

from __future__ import annotations

from pathlib import Path

import pytest

from forgekit.benching.suites.suite import DTYPES, OPERATORS, Case, load_suite, select
from forgekit.errors import UsageError


def shapes(cases: list[Case], op: str, dim: int = -1) -> set[tuple[int, int]]:
    return {c.shape for c in cases if c.op == op and c.dim == dim}


@pytest.mark.parametrize("name", ["smoke", "short", "long"])
def test_a_suite_has_each_operator_in_each_type_and_each_case_once(name: str) -> None:
    cases = load_suite(name)
    assert {(c.op, c.dtype) for c in cases} == {(op, t) for op in OPERATORS for t in DTYPES}
    assert len(set(cases)) == len(cases)
    assert {c.op for c in cases if c.dim == 0} == {"reduce_sum"}


def test_long_has_all_sizes_that_were_promised() -> None:
    grid = {(2**m, 2**n) for m in range(7, 14) for n in range(10, 14)}
    grid |= {(m, 2**n) for m in (64, 128, 256) for n in range(14, 18)}
    cases = load_suite("long")
    for op in OPERATORS:
        found = shapes(cases, op)
        assert grid <= found
        assert any(m > 65535 for m, _ in found) and any(m * n > 2**31 for m, n in found)
        assert any(m % 2 and n % 2 for m, n in found)
    assert (8192, 8192) in shapes(cases, "reduce_sum", dim=0)
    sizes = [c.elements > 2**31 for c in cases]
    assert sizes == sorted(sizes)  # cases that may break a GPU's context come last


@pytest.mark.parametrize("name", ["smoke", "short"])
def test_smaller_suites_are_in_order_of_size(name: str) -> None:
    assert len(load_suite(name)) < len(load_suite("long")) / 3
    assert max(c.elements for c in load_suite("smoke")) <= 2**17  # small enough for the virtual GPU


def test_record_has_the_sizes_that_peers_were_measured_at() -> None:
    softmax = shapes(load_suite("record"), "softmax")
    assert {(2048, 1024), (512, 4096), (8192, 8192), (32768, 4096), (32768, 32768),
            (64, 131072), (256, 131072)} <= softmax  # fmt: skip


def test_a_case_in_words() -> None:
    assert str(Case("reduce_sum", (3, 5), "float16", 0)) == "reduce_sum dim=0 3×5 float16"
    assert str(Case("softmax", (3, 5), "float16")) == "softmax 3×5 float16"


def mine(folder: Path, text: str) -> str:
    file = folder / "mine.toml"
    file.write_text(text)
    return str(file)


def test_a_suite_of_one_s_own(tmp_path: Path) -> None:
    text = '[[group]]\nops = ["softmax"]\ndtypes = ["float16"]\nM = [2, 3]\nN = [5]\n'
    assert load_suite(mine(tmp_path, text + text)) == [
        Case("softmax", (2, 5), "float16"),
        Case("softmax", (3, 5), "float16"),
    ]


ONE = "needed ops from copy_transpose, .* as positive integers"
GROUP = '[[group]]\nops = ["softmax"]\ndtypes = ["float16"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "a TOML file"),
        ("a = 1", r"needed \[\[group\]\] tables"),
        (GROUP, ONE),
        (GROUP + "shapes = [[2, 3]]\nM = [2]", ONE),
        (GROUP + "M = [2]", ONE),
        (GROUP + "shapes = []", ONE),
        (GROUP + "shapes = [[2, 3, 4]]", ONE),
        (GROUP + "shapes = [[2, 3.5]]", ONE),
        (GROUP + "shapes = [[2, 0]]", ONE),
        (GROUP + "shapes = [[2, 3]]\ndim = 1", ONE),
        (GROUP + "shapes = [[2, 3]]\ndim = 0.0", ONE),
        ("group = [5]", "group: got 5, " + ONE),
        (GROUP + "M = 5\nN = [5]", ONE),
        (GROUP + "shapes = [5]", ONE),
        (GROUP + "shapes = [[2, 3]]\nsize = 1", ONE),
        ('[[group]]\nops = ["gelu"]\ndtypes = ["float16"]\nshapes = [[2, 3]]', ONE),
        ('[[group]]\nops = ["softmax"]\ndtypes = ["int8"]\nshapes = [[2, 3]]', ONE),
        ('[[group]]\nops = ["softmax"]\nshapes = [[2, 3]]', ONE),
    ],
)
def test_a_file_that_is_no_suite_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_suite(mine(tmp_path, text))


def test_select() -> None:
    cases = load_suite("smoke")
    some = select(cases, ops=["softmax"], dtypes=["float16", "float32"])
    assert {(c.op, c.dtype) for c in some} == {("softmax", "float16"), ("softmax", "float32")}
    assert select(cases) == cases
    with pytest.raises(UsageError, match="at least one case"):
        select([c for c in cases if c.op == "softmax"], ops=["reduce_sum"])
