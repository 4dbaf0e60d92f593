"""Test compile()'s cache in memory and on disk: its key, and sharing between processes."""

import operator
import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest
import torch

import forgekit as fk
from forgekit.compiling.backends import backend_for
from forgekit.compiling.fingerprint import fingerprint
from forgekit.compiling.parameters import Job, match_parameters
from forgekit.devices import Target
from forgekit.errors import ArgumentMismatchError
from tests.compiling.cells import CELL, define
from tests.kernels import postponed, simple

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    """Provide the virtual GPU and empty caches in memory and on disk."""
    for name in ("FORGEKIT_ARCH", "FORGEKIT_DISK_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "cache"))
    fk.cache_clear()
    yield
    fk.cache_clear()


def factor(fn: object) -> tuple[float, str]:
    """Return the factor by which a cell's kernel multiplies, and its cache key."""
    x, y = fk.arange(8), fk.empty(8)
    run = fk.compile(fn, x, y)
    run(x, y)
    return float(y[1] / x[1]), run.key


def test_the_second_compile_comes_from_memory():
    x, y = fk.randn(100), fk.empty(100)
    first = fk.compile(simple.copy, x, y)
    assert first.origin == "compiled"
    second = fk.compile(simple.copy, fk.randn(7), fk.empty(7))
    assert second is first
    assert second.origin == "memory"
    assert fk.compile(simple.copy, x, y, cache=False) is not first


def test_a_function_that_launches_nothing_comes_from_disk():
    x, y = fk.randn(8), fk.empty(8)
    assert fk.compile(simple.launches_nothing, x, y).ptx == ""
    fk.cache_clear()
    run = fk.compile(simple.launches_nothing, x, y)
    run(x, y)
    assert run.origin == "disk"


def test_other_specs_architectures_and_options_are_other_kernels():
    x, y = fk.randn(64), fk.empty(64)
    keys = {
        fk.compile(simple.copy, x, y).key,
        fk.compile(simple.copy, fk.spec(x, static=True), y).key,
        fk.compile(simple.copy, x, y, arch="sm_80").key,
        fk.compile(simple.copy, x, y, options="--opt-level 1").key,
    }
    assert len(keys) == 4


def test_a_redefined_cell_misses():
    two, three = (define(CELL.format(constant="", factor=f), "scale") for f in ("2.0", "3.0"))
    (of_two, key), (of_three, other_key) = factor(two), factor(three)
    assert (of_two, of_three) == (2.0, 3.0) and key != other_key


def test_a_function_that_exec_made_misses_when_its_text_changes():
    """Functions that exec creates have no source file."""

    def made(text: str) -> str:
        scope = {"__name__": "generated"}
        exec(f"{text}\ndef make():\n    return lambda x: x * factor", scope)
        return fingerprint(scope["make"]).digest

    assert made("factor = 2") == made("factor = 2")
    assert made("factor = 2") != made("factor = 3")


def test_a_captured_constant_is_part_of_the_key():
    fn = define(CELL.format(constant="FACTOR = 2.0", factor="FACTOR"), "scale")
    assert factor(fn)[0] == 2.0
    fn.__wrapped__.__globals__["FACTOR"] = 5.0
    assert factor(fn)[0] == 5.0


def test_a_helper_function_is_part_of_the_key():
    helper = "def helper(v):\n    return v * {}\n"
    source = CELL.format(constant=helper.format("2.0"), factor="1.0").replace(
        "mX[tidx] * 1.0", "helper(mX[tidx])"
    )
    fn = define(source, "scale")
    assert factor(fn)[0] == 2.0
    fn.__wrapped__.__globals__["helper"] = define(helper.format("7.0"), "helper")
    assert factor(fn)[0] == 7.0


def test_an_objects_configuration_is_part_of_the_key():
    x, y = fk.arange(40), fk.empty(40)
    two, three = (fk.compile(simple.Scale(f), x, y) for f in (2.0, 3.0))
    two(x, y)
    fk.check(y, 2 * x)
    three(x, y)
    fk.check(y, 3 * x)
    assert fk.compile(simple.Scale(2.0), x, y) is two


def test_line_numbers_follow_a_moved_cell():
    """A kernel that moves down three lines is compiled again, because messages contain line
    numbers."""
    source = CELL.format(constant="", factor="2.0").replace("mX[tidx] *", "mX[tidx + 100] *")
    for shift in ("", "\n\n\n"):
        fn = define(shift + source, "scale")
        line = next(
            i for i, t in enumerate((shift + textwrap.dedent(source)).splitlines(), 1) if "100" in t
        )
        with pytest.raises(fk.KernelError, match=f"line {line}: "):
            factor(fn)


PROGRAM = """
import forgekit as fk
from tests.kernels import simple

x, y = fk.randn(1000), fk.empty(1000)
run = fk.compile(simple.copy, x, y)
run(x, y)
assert fk.check(y, x, on_fail="raise")
print(run.origin, run.registers, len(run.ptx), len(run.cubin), run.key)
"""


def test_processes_share_the_disk(tmp_path):
    """Two processes compile concurrently, and this process then loads their kernel. A damaged file
    is compiled again."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM]
    processes = [subprocess.Popen(command, env=env, stdout=-1, text=True) for _ in range(2)]
    outputs = [p.communicate(timeout=300)[0].split() for p in processes]
    x, y = fk.randn(7), fk.empty(7)
    found = fk.compile(simple.copy, x, y)
    found(x, y)
    assert fk.check(y, x, on_fail="raise") and found.origin == "disk"
    assert {o[0] for o in outputs} <= {"compiled", "disk"}
    facts = [str(n) for n in (found.registers, len(found.ptx), len(found.cubin))]
    assert all(output[1:] == [*facts, found.key] for output in outputs)
    (file,) = (tmp_path / "cache").iterdir()
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    file.write_bytes(raw)
    fk.cache_clear()
    assert fk.compile(simple.copy, x, y).origin == "compiled"
    fk.cache_clear()
    assert fk.compile(simple.copy, x, y).origin == "disk", "the damaged file was replaced"


def test_constants_and_scalars_survive_the_disk():
    x = fk.arange(8)
    for origin in ("compiled", "disk"):
        y = fk.empty(8)
        run = fk.compile(postponed.apply, x, y, 1.0, operator.mul)
        run(x, y, 3.0)
        assert run.origin == origin
        assert fk.check(y, 3 * x, on_fail="raise")
        fk.cache_clear()


# -- the fingerprint -------------------------------------------------------------------------
def test_a_key_is_the_same_before_and_after_helpers_were_compiled():
    """CuTe DSL replaces the code object of each function that it compiles. A process that loads a
    kernel from disk does not compile the kernel's helpers, but must compute the same key for the
    next kernel."""
    from forgekit.kernels.rows import RowTile
    from forgekit.kernels.softmax import Softmax

    other = Softmax(RowTile(64, loads=3))
    before = fingerprint(other)
    x = fk.spec(fk.zeros(2, 64))
    fk.compile(Softmax(RowTile(32, loads=2)), x, x, device="virtual", cache=False)
    assert fingerprint(other) == before and before.portable


def test_a_global_with_the_name_of_a_local_does_not_count(monkeypatch):

    monkeypatch.setitem(globals(), "tidx", torch.zeros(1))
    monkeypatch.setitem(globals(), "mX", torch.zeros(1))
    first = fingerprint(locals_only)
    monkeypatch.setitem(globals(), "tidx", torch.ones(2))
    monkeypatch.setitem(globals(), "mX", torch.ones(2))
    assert fingerprint(locals_only) == first
    monkeypatch.setitem(globals(), "FACTOR_OF_LOCALS", 3)
    assert fingerprint(locals_only) != first


FACTOR_OF_LOCALS = 2


def locals_only(mX):
    tidx = len(mX)
    return tidx * FACTOR_OF_LOCALS


def test_a_constant_of_a_users_module_is_part_of_the_key(tmp_path):

    constants = types.ModuleType("constants")
    constants.__file__ = str(tmp_path / "constants.py")
    constants.FACTOR, constants.OTHER = 2.0, 1.0
    fn = define("def f(v):\n    return v * constants.FACTOR\n", "f", constants=constants)
    first = fingerprint(fn)
    constants.OTHER = 5.0
    assert fingerprint(fn) == first
    constants.FACTOR = 3.0
    assert fingerprint(fn) != first


def test_defaults_are_part_of_the_key():
    """The text of a default may stay the same while its value changes."""

    fn = define("def f(v, a=A, *, b=B):\n    return v * a * b\n", "f", A=1, B=2)
    first = fingerprint(fn)
    fn.__kwdefaults__ = {"b": 3}
    second = fingerprint(fn)
    fn.__defaults__ = (4,)
    assert len({first, second, fingerprint(fn)}) == 3


# -- on a GPU -------------------------------------------------------------------------------
@pytest.mark.gpu
def test_on_a_gpu(monkeypatch):
    monkeypatch.setenv("FORGEKIT_DEVICE", "gpu")
    x, y = fk.randn(1000), fk.empty(1000)
    run = fk.compile(simple.copy, x, y)
    run(x, y)
    assert fk.check(y, x, on_fail="raise")
    assert fk.compile(simple.copy, x, y).origin == "memory"
    fk.cache_clear()
    again = fk.compile(simple.copy, x, y)
    assert again.origin == "disk"
    y = fk.empty(1000)
    again(x, y)
    assert fk.check(y, x, on_fail="raise")
    with pytest.raises(ArgumentMismatchError, match="dtype"):
        again(x.half(), y)
    with torch.cuda.stream(torch.cuda.Stream()):
        for fn in (simple.copy, simple.add_on_stream):
            y = fk.empty(1000)
            fk.compile(fn, x, y)(x, y)
            assert fk.check(y, x + (2 if fn is simple.add_on_stream else 0), on_fail="raise")


@pytest.mark.parametrize("fn", [simple.copy, simple.add_on_stream])
def test_what_a_gpu_is_given_survives_the_disk(fn, monkeypatch):
    """The test launches nothing, so it also exports and loads the object file without a GPU."""
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 0, raising=False)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    x, y = fk.randn(100), fk.empty(100)
    target, backend = Target("gpu", "sm_90a", "pretended"), backend_for("gpu")
    job = Job(fn, match_parameters(fn, (x, y)), target)
    made = backend.compile(job)
    parts = backend.parts(made)
    found = backend.load(job, parts)
    assert found.executable is not None and len(parts["object"]) > len(made.cubin) > 0
    assert (found.ptx, found.cubin, found.ptxas) == (made.ptx, made.cubin, made.ptxas)
    assert fk.CompiledKernel(job, found, found.executable).registers > 0
    passed = []
    backend.launcher(job, lambda *args: passed.append(args))(x, y)
    assert passed == [(x, y)]

    def refuse(*_: object) -> None:
        raise TypeError("text of TVM-FFI")

    with pytest.raises(ArgumentMismatchError, match="argument mX: got a tensor on cpu, needed a"):
        backend.launcher(job, refuse)(x, y)
