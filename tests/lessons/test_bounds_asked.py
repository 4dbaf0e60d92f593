"""Test that the numbers and answers in exercises about bounds agree with computed results."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import forgekit as fk
from forgekit.course import load_part
from forgekit.lessons.exercise import exercise

ROOT = Path(__file__).resolve().parents[2]
KEPT = ast.Import | ast.ImportFrom | ast.FunctionDef


def functions(notebook: str) -> ModuleType:
    """Execute only a notebook's imports and definitions; return them as a module."""
    path = ROOT / notebook
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, KEPT)]
    module = ModuleType(path.stem)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(path.parent))  # the folder of the week's helper modules
        exec(compile(tree, str(path), "exec"), vars(module))
    return module


def asked(name: str) -> Any:
    return load_part(exercise(name).folder, "exercise")


def timed(function: Any, specs: Any, *args: Any, blocks: int = 16) -> tuple[Any, Any]:
    run = fk.compile(function, *specs, device="virtual")
    p = fk.profile(run, *args, blocks=blocks)
    return p, p.time("H200")


@pytest.mark.parametrize("kernel", "ABCD")
def test_what_bounds(kernel):
    import torch

    about, n = asked("week0/what_bounds"), 4096
    of = {nr: functions(f"week0_copy_transpose/{nr}.py") for nr in
          ("04_copy_fast", "07_transpose", "08_transpose_to_the_limit")}  # fmt: skip
    limit = of["08_transpose_to_the_limit"]
    x, y = (fk.zeros(n, n, dtype=torch.float16, device="virtual") for _ in range(2))
    function, specs = {
        "A": (of["04_copy_fast"].flat(of["04_copy_fast"].copy_elements), (x, y)),
        "B": (limit.make_transpose(64, 64), (x, y)),
        "C": (of["07_transpose"].scatter, (x, y)),
        "D": (limit.vectorised, limit.eights(x, y)),
    }[kernel]
    p, time = timed(function, specs, x, y)
    grid = p.launches[0].grid
    waves = p.shared_load_wavefronts + p.shared_store_wavefronts
    found = (grid[0] * grid[1], p.warp_instructions, waves,
             p.global_load_sectors + p.global_store_sectors)  # fmt: skip
    for said, number in zip(about.COUNTS[kernel], found, strict=True):
        assert said * 1000 == pytest.approx(number, rel=0.02, abs=500)
    words = {"shared memory": "shared-memory wavefronts"}
    assert time.bound_text == words.get(about.RIGHT[kernel], about.RIGHT[kernel])
    quotients = {b: about._us(kernel, b) for b in about.RATES}
    assert max(quotients, key=quotients.get) == about.RIGHT[kernel]
    row = f"| {kernel} | {about.COUNTS[kernel][0]} | {about.COUNTS[kernel][1]:,} |"
    assert row in about.EXERCISE.task


@pytest.mark.parametrize("call", ["A", pytest.param("B", marks=pytest.mark.weekly), "C", "D"])
def test_what_helps(call):
    about, notebook = asked("week1/what_helps"), functions("week1_reduce/03_bytes_in_flight.py")
    kernel, rows, columns, blocks, us = about.CALLS[call]
    x, y = fk.zeros(rows, columns, device="virtual"), fk.zeros(rows, device="virtual")
    p, time = timed(getattr(notebook, kernel), notebook.whole_vectors(x, y), x, y, blocks=8)
    assert p.launches[0].grid[0] == blocks
    assert time.us == pytest.approx(us, rel=0.03)
    assert time.bound_text == about.BOUNDS[call]
    said = f"| {call} | `{kernel}` | {rows:,} × {columns:,} | {blocks:,} | {us} µs |"
    assert said in about.EXERCISE.task


@pytest.mark.parametrize("call", "ABC")
def test_one_launch_or_bytes(call):
    about, e = asked("week2/one_launch_or_bytes"), exercise("week2/fuse_three")
    launches, rows, us = about.CALLS[call]
    x, y = (fk.zeros(rows, 512, device="virtual") for _ in range(2))
    bias = fk.zeros(1, 512, device="virtual")
    specs = (fk.spec(x, static=[1], align=16), fk.spec(bias, static=[0, 1], align=16), 0.5,
             fk.spec(y, static=[1], align=16))  # fmt: skip
    function = e.as_given() if launches == 3 else e.reference()
    p, time = timed(function, specs, x, bias, 0.5, y)
    assert len(p.launches) == launches
    assert time.us == pytest.approx(us, rel=0.03)
    assert time.bound_text == about.BOUNDS[call]
    assert f"| {call} | {launches} | {rows:,} |" in about.EXERCISE.task


@pytest.mark.weekly
@pytest.mark.parametrize("step", ["warp_a_row", "elements_unrolled", "vectors", "unrolled"])
def test_recorded_times_of_a_notebook_are_predicted(step):
    """These kernels are not part of the calibration; `book/virtual_gpu.md` states the prediction
    errors."""
    import torch

    from forgekit.benching.recorded import recorded

    name = "03_bytes_in_flight"
    notebook, times = functions(f"week1_reduce/{name}.py"), recorded(f"week1/{name}")
    found = {}
    for shape, dtype in (((32768, 4096), "float32"), ((32768, 4096), "float16"),
                         ((1048576, 64), "float32"), ((64, 262144), "float32")):  # fmt: skip
        x = fk.empty(*shape, dtype=getattr(torch, dtype), device="virtual")
        y = fk.empty(shape[0], dtype=x.dtype, device="virtual")
        specs = notebook.whole_vectors(x, y) if "vectors" in step or step == "unrolled" else (x, y)
        _, time = timed(getattr(notebook, step), specs, x, y, blocks=8)
        found[shape, dtype] = time.us / times.row(step, dtype, shape).ms / 1000
    assert {k: v for k, v in found.items() if not 1 / 1.16 <= v <= 1.16} == {}
