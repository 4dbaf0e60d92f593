"""compile(): caching, calling, and what a student reads when it cannot work."""

import linecache
import operator
import os
import re
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest
import torch

import forgekit as fk
from forgekit.compiling.backends import backend_for
from forgekit.compiling.compiled import CompiledKernel
from forgekit.compiling.parameters import match_parameters
from forgekit.devices import Target
from forgekit.errors import ArgumentMismatchError, CompileError, PlatformError, UsageError
from tests.kernels import postponed, simple

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    """The virtual GPU, an empty cache in memory and on disk."""
    for name in ("FORGEKIT_ARCH", "FORGEKIT_DISK_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "cache"))
    fk.cache_clear()
    yield
    fk.cache_clear()


def define(source: str, name: str, **names: object):
    """Run source as a notebook cell would be run: its text reaches the compiler by linecache."""
    define.count = getattr(define, "count", 0) + 1
    file = f"/tmp/ipykernel_{os.getpid()}/{define.count}.py"
    source = textwrap.dedent(source)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"__name__": "__main__", **names}
    exec(compile(source, file, "exec"), scope)
    return scope[name]


CELL = """
import cutlass.cute as cute

{constant}

@cute.kernel
def kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx] * {factor}

@cute.jit
def scale(mX: cute.Tensor, mY: cute.Tensor):
    kernel(mX, mY).launch(grid=(1, 1, 1), block=(8, 1, 1))
"""


def scaled(fn: object) -> fk.CompiledKernel:
    x, y = fk.arange(8), fk.empty(8)
    run = fk.compile(fn, x, y)
    run(x, y)
    scaled.result = (y[1:] / x[1:]).tolist()[0]
    return run


# -- caching ------------------------------------------------------------------------------
def test_the_second_compile_comes_from_memory():
    x, y = fk.randn(100), fk.empty(100)
    first = fk.compile(simple.copy, x, y)
    assert first.origin == "compiled"
    second = fk.compile(simple.copy, fk.randn(7), fk.empty(7))
    assert second is first
    assert second.origin == "memory"
    assert fk.compile(simple.copy, x, y, cache=False) is not first


def test_other_specs_architectures_and_options_are_other_kernels():
    x, y = fk.randn(64), fk.empty(64)
    keys = {
        fk.compile(simple.copy, x, y).key,
        fk.compile(simple.copy, fk.spec(x, static=True), y).key,
        fk.compile(simple.copy, fk.spec(x, align=4), y).key,
        fk.compile(simple.copy, x.double(), y.double()).key,
        fk.compile(simple.copy, x, y, arch="sm_80").key,
        fk.compile(simple.copy, x, y, options="--opt-level 1").key,
    }
    assert len(keys) == 6


def test_a_redefined_cell_misses():
    first = scaled(define(CELL.format(constant="", factor="2.0"), "scale"))
    assert scaled.result == 2.0
    second = scaled(define(CELL.format(constant="", factor="3.0"), "scale"))
    assert scaled.result == 3.0
    assert second.key != first.key


def test_a_captured_constant_is_part_of_the_key():
    fn = define(CELL.format(constant="FACTOR = 2.0", factor="FACTOR"), "scale")
    scaled(fn)
    assert scaled.result == 2.0
    fn.__wrapped__.__globals__["FACTOR"] = 5.0
    scaled(fn)
    assert scaled.result == 5.0


def test_a_helper_function_is_part_of_the_key():
    helper = "def helper(v):\n    return v * {}\n"
    source = CELL.format(constant=helper.format("2.0"), factor="1.0").replace(
        "mX[tidx] * 1.0", "helper(mX[tidx])"
    )
    fn = define(source, "scale")
    scaled(fn)
    assert scaled.result == 2.0
    fn.__wrapped__.__globals__["helper"] = define(helper.format("7.0"), "helper")
    scaled(fn)
    assert scaled.result == 7.0


def test_an_objects_configuration_is_part_of_the_key():
    x, y = fk.arange(40), fk.empty(40)
    two, three = (fk.compile(simple.Scale(f), x, y) for f in (2.0, 3.0))
    two(x, y)
    fk.check(y, 2 * x)
    three(x, y)
    fk.check(y, 3 * x)
    assert fk.compile(simple.Scale(2.0), x, y) is two


def test_line_numbers_follow_a_moved_cell():
    """The same kernel three lines further down is compiled again: messages name lines."""
    source = CELL.format(constant="", factor="2.0").replace("mX[tidx] *", "mX[tidx + 100] *")
    for shift in ("", "\n\n\n"):
        fn = define(shift + source, "scale")
        line = next(
            i for i, t in enumerate((shift + textwrap.dedent(source)).splitlines(), 1) if "100" in t
        )
        with pytest.raises(fk.KernelError, match=f"line {line}: "):
            scaled(fn)


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
    """Two at once, then this one; then what is damaged or switched off is compiled again."""
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
    raw[-100] ^= 0xFF
    file.write_bytes(raw)
    fk.cache_clear()
    assert fk.compile(simple.copy, x, y).origin == "compiled"
    fk.cache_clear()
    assert fk.compile(simple.copy, x, y).origin == "disk", "the damaged file was replaced"


def test_the_disk_can_be_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGEKIT_DISK_CACHE", "off")
    for _ in range(2):
        fk.cache_clear()
        assert fk.compile(simple.copy, fk.zeros(7), fk.zeros(7)).origin == "compiled"
    assert not (tmp_path / "cache").exists()


def test_constants_and_scalars_survive_the_disk():
    x = fk.arange(8)
    for origin in ("compiled", "disk"):
        y = fk.empty(8)
        run = fk.compile(postponed.apply, x, y, 1.0, operator.mul)
        run(x, y, 3.0)
        assert run.origin == origin
        assert fk.check(y, 3 * x, on_fail="raise")
        fk.cache_clear()


# -- calling ------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_one_compile_serves_every_size(n):
    x, y = fk.randn(n), fk.empty(n)
    fk.compile(simple.copy, fk.randn(5), fk.empty(5))(x, y)
    assert fk.check(y, x, on_fail="raise")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_float_type(dtype):
    x, y = fk.randn(100, dtype=dtype), fk.empty(100, dtype=dtype)
    fk.compile(simple.transpose, x.view(10, 10), y.view(10, 10))(x.view(10, 10), y.view(10, 10))
    assert fk.check(y.view(10, 10), x.view(10, 10).T, on_fail="raise")


@pytest.mark.parametrize(
    ("x_static", "y_static"),
    [(False, False), (True, True), ((1,), False), ((0,), (1,)), ((), (0, 1))],
)
def test_static_and_dynamic_modes_mix(x_static, y_static):
    x, y = fk.randn(9, 20), fk.empty(20, 9)
    run = fk.compile(simple.transpose, fk.spec(x, static=x_static), fk.spec(y, static=y_static))
    run(x, y)
    assert fk.check(y, x.T, on_fail="raise")


def test_strided_and_offset_tensors():
    base = fk.randn(40, 50)
    for x in (base[3:20, 5:30], base.T, base[::2, ::3], base[:, :1], base[:1]):
        y = fk.empty(x.shape[1], x.shape[0])
        fk.compile(simple.transpose, x, y)(x, y)
        assert fk.check(y, x.T, on_fail="raise")


def test_a_scalar_is_passed_at_each_call():
    x, y = fk.randn(10), fk.empty(10)
    run = fk.compile(simple.add, x, y, 0.0)
    for value in (1.5, 3, -2.0):
        run(x, y, value)
        assert fk.check(y, x + value, on_fail="raise")
    run(mX=x, mY=y, value=4.0)
    assert fk.check(y, x + 4, on_fail="raise")
    with pytest.raises(ArgumentMismatchError, match="argument value: got 'a', needed a number"):
        run(x, y, "a")


def test_a_constexpr_is_compiled_in():
    x, y = fk.arange(8), fk.empty(24)
    run = fk.compile(simple.repeat, x, y, 3)
    run(x, y)
    assert fk.check(y, x.repeat(3), on_fail="raise")
    run(x, y, 3)
    with pytest.raises(ArgumentMismatchError, match="argument times: got 2, needed 3"):
        run(x, y, 2)
    assert fk.compile(simple.repeat, x, y).key != run.key  # the default is 2


def test_an_optional_tensor_may_be_left_out():
    x, b = fk.randn(10), fk.randn(10, seed=1)
    for origin in ("compiled", "disk"):
        y = fk.empty(10)
        run = fk.compile(simple.copy_optional, x, y)
        run(x, y)
        assert run.origin == origin
        assert fk.check(y, x, on_fail="raise")
        fk.cache_clear()
    fk.compile(simple.copy_optional, x, y, b)(x, y, b)
    assert fk.check(y, b, on_fail="raise")


def test_a_stream_is_supplied():
    x, y = fk.randn(10), fk.empty(10)
    fk.compile(simple.add_on_stream, x, y)(x, y)
    assert fk.check(y, x + 2, on_fail="raise")


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda run, x, y: run(x), "arguments of copy: got 1, needed 2: mX, mY"),
        (lambda run, x, y: run(x, y, y), "got 3, needed 2"),
        (lambda run, x, y: run(x, y=y), "unknown name, 'y', needed one of mX, mY"),
        (lambda run, x, y: run(x, None), "argument mY: got None, .* returns nothing, it writes"),
        (lambda run, x, y: run(x, y.numpy()), "argument mY: got ndarray, needed a torch tensor"),
        (lambda run, x, y: run(x.half(), y), "argument mX, dtype: got torch.float16"),
        (lambda run, x, y: run(x, y[:, None]), "argument mY, rank: got 2"),
        (lambda run, x, y: run(x[::2], y), "argument mX, stride of mode 0: got 2, needed 1"),
        (lambda run, x, y: run(x[1:], y), "argument mX, alignment"),
        (lambda run, x, y: run(x.to("meta"), y), "argument mX: got a tensor on meta"),
    ],
)
def test_what_was_not_compiled_for_never_reaches_the_machine(call, match):
    x, y = fk.randn(64), fk.empty(64)
    run = fk.compile(simple.copy, x, y)
    with pytest.raises(ArgumentMismatchError, match=match):
        call(run, x, y)
    assert y.isnan().all(), "nothing ran"


# -- looking at it ------------------------------------------------------------------------
def test_artefacts():
    run = fk.compile(simple.copy, fk.randn(4), fk.empty(4))
    assert ".target sm_90a" in run.ptx
    assert "simple.py" in run.ptx, "line info is on"
    assert run.cubin.startswith(b"\x7fELF")
    assert 8 <= run.registers <= 64
    assert run.spill_bytes == 0
    assert 160 <= run.code_bytes <= len(run.cubin)
    assert len(run.key) == 64
    assert run.compile_ms > 0
    assert repr(run).startswith("<copy(mX: float32 (?):(1) align 16, mY:")
    try:
        assert "LDG" in run.sass
        addresses = re.findall(r"^\s+/\*([0-9a-f]{4,})\*/  ", run.sass, re.MULTILINE)
        assert 16 * len(addresses) == run.code_bytes
    except PlatformError as error:
        assert "nvidia-cuda-nvdisasm" in str(error)


def test_host_only_functions_run():
    fn = define(
        """
        import cutlass.cute as cute
        @cute.jit
        def fill(mX: cute.Tensor):
            mX[0] = 42.0
        """,
        "fill",
    )
    x = fk.zeros(4)
    fk.compile(fn, x)(x)
    assert x[0] == 42.0


# -- mistakes -----------------------------------------------------------------------------
def test_a_mistake_in_the_kernel_comes_with_its_line():
    source = CELL.format(constant="", factor="2.0").replace("mY[tidx]", "mY[tidx, 0]")
    line = next(
        i for i, t in enumerate(textwrap.dedent(source).splitlines(), 1) if "mY[tidx, 0]" in t
    )
    with pytest.raises(CompileError) as caught:
        scaled(define(source, "scale"))
    assert caught.value.line == line
    assert "The compiler's own words" in str(caught.value)


def test_printing_a_runtime_value_warns():
    source = CELL.format(constant="", factor="2.0").replace(
        "    mY[tidx]", "    print(tidx)\n    mY[tidx]"
    )
    with pytest.warns(UserWarning, match=r"^cell, line \d+: print\(tidx\)\n.*cute.printf"):
        scaled(define(source, "scale"))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda x: fk.compile(simple.copy, x), "one for parameter 'mY' too"),
        (lambda x: fk.compile(simple.copy, x, x, x), "got 3 arguments, needed 2"),
        (lambda x: fk.compile(simple.copy, x, None), "mY: got None, .* returns nothing, it writes"),
        (lambda x: fk.compile(simple.copy, x.numpy(), x), r"mX: got a NumPy array.*from_numpy"),
        (lambda x: fk.compile(simple.copy, x, [1.0]), r"mY: got a list.*torch.tensor\("),
        (lambda x: fk.compile(None, x), "got None, needed a function"),
        (lambda x: fk.compile(simple.copy, x, x, arch="sm_70"), "sm_70"),
        (lambda x: fk.compile(simple.copy, x, x, device="tpu"), "tpu"),
    ],
)
def test_bad_calls_of_compile(make, match):
    with pytest.raises(UsageError, match=match):
        make(fk.randn(4))


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


def test_a_key_is_the_same_before_and_after_helpers_were_compiled():
    """The DSL puts other code in place of each function it has compiled; a process that finds one
    kernel on disk does not compile its helpers, and must still find the next kernel."""
    from forgekit.compiling.fingerprint import fingerprint
    from forgekit.kernels.rows import RowTile
    from forgekit.kernels.softmax import Softmax

    other = Softmax(RowTile(64, loads=3))
    before = fingerprint(other)
    x = fk.spec(fk.zeros(2, 64))
    fk.compile(Softmax(RowTile(32, loads=2)), x, x, device="virtual", cache=False)
    assert fingerprint(other) == before and before.portable


def test_a_global_with_the_name_of_a_local_does_not_count(monkeypatch):
    from forgekit.compiling.fingerprint import fingerprint

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
    from forgekit.compiling.fingerprint import fingerprint

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
    """Their text may stay while what it names has another value."""
    from forgekit.compiling.fingerprint import fingerprint

    fn = define("def f(v, a=A, *, b=B):\n    return v * a * b\n", "f", A=1, B=2)
    first = fingerprint(fn)
    fn.__kwdefaults__ = {"b": 3}
    second = fingerprint(fn)
    fn.__defaults__ = (4,)
    assert len({first, second, fingerprint(fn)}) == 3


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("Int8", -128, 127), ("Uint8", 0, 255), ("Int32", -(2**31), 2**31 - 1)],
)
def test_a_scalar_fits_its_type(kind, low, high):
    import cutlass

    from forgekit.compiling.parameters import Parameter, check_argument

    p = Parameter("n", "scalar", getattr(cutlass, kind))
    for value in (low, high):
        check_argument(p, value, "cpu", {})
    for value in (low - 1, high + 1):
        with pytest.raises(ArgumentMismatchError, match=f"whole number of {low:,} to {high:,}"):
            check_argument(p, value, "cpu", {})


@pytest.mark.parametrize("fn", [simple.copy, simple.add_on_stream])
def test_what_a_gpu_is_given_survives_the_disk(fn, monkeypatch):
    """All but the launch goes without a GPU: the object file is exported and loaded."""
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 0, raising=False)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    x, y = fk.randn(100), fk.empty(100)
    target, backend = Target("gpu", "sm_90a", "pretended"), backend_for("gpu")
    made, found = (CompiledKernel(fn, match_parameters(fn, (x, y)), target, "", "") for _ in "12")
    parts = backend.parts(backend.compile(fn, made), made)
    assert backend.load(found, parts) is not None and len(parts["object"]) > len(made.cubin) > 0
    assert (found.ptx, found.cubin, found.registers) == (made.ptx, made.cubin, made.registers)
    passed = []
    backend.caller(lambda *args: passed.append(args), made)(x, y)
    assert passed == [(x, y)]

    def refuse(*_: object) -> None:
        raise TypeError("words of TVM-FFI")

    with pytest.raises(ArgumentMismatchError, match="argument mX: got a tensor on cpu, needed one"):
        backend.caller(refuse, made)(x, y)
