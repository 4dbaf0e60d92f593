"""Test compile(): calls to its result, and its error messages."""

import re
import textwrap

import pytest
import torch

import forgekit as fk
from forgekit.errors import ArgumentMismatchError, CompileError, PlatformError, UsageError
from tests.compiling.cells import CELL, define
from tests.kernels import simple


@pytest.fixture(scope="module", autouse=True)
def virtual_gpu(tmp_path_factory):
    """Provide the virtual GPU, and a disk cache that all tests in this module share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("FORGEKIT_ARCH", raising=False)
        patch.setenv("FORGEKIT_DEVICE", "virtual")
        patch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


# -- calling ------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_one_compile_serves_every_size(n):
    x, y = fk.randn(n), fk.empty(n)
    fk.compile(simple.copy, fk.randn(5), fk.empty(5))(x, y)
    assert fk.check(y, x, on_fail="raise")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_float_type(dtype):
    x, y = fk.randn(100, dtype=dtype), fk.empty(100, dtype=dtype)
    fk.compile(simple.transpose, x.view(10, 10), y.view(10, 10))(x.view(10, 10), y.view(10, 10))
    assert fk.check(y.view(10, 10), x.view(10, 10).T, on_fail="raise")


@pytest.mark.parametrize(
    ("x_static", "y_static"),
    [(True, True), ((1,), False), ((0,), (0, 1))],
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
        (lambda run, x, y: run(x, y=y), "unknown name 'y', needed one of mX, mY"),
        (lambda run, x, y: run(x, None), "argument mY: got None, .* writes to its arguments"),
        (lambda run, x, y: run(x, y.numpy()), "argument mY: got a float32 array of shape"),
        (lambda run, x, y: run(x.half(), y), "mX, dtype: got torch.float16, needed torch.float32"),
        (lambda run, x, y: run(x, y[:, None]), "argument mY, rank: got 2"),
        (lambda run, x, y: run(x[::2], y), "argument mX, stride of mode 0: got 2, needed 1"),
        (lambda run, x, y: run(x[1:], y), "argument mX, alignment: .* needed the .* of 16 bytes"),
        (lambda run, x, y: run(x.to("meta"), y), "argument mX: got a tensor on meta"),
    ],
)
def test_what_was_not_compiled_for_never_reaches_the_machine(call, match):
    x, y = fk.randn(64), fk.empty(64)
    run = fk.compile(simple.copy, x, y)
    with pytest.raises(ArgumentMismatchError, match=match):
        call(run, x, y)
    assert y.isnan().all(), "nothing ran"


# -- inspection ---------------------------------------------------------------------------
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
        fk.compile(define(source, "scale"), fk.zeros(8), fk.zeros(8))
    assert caught.value.line == line
    assert "The compiler's own words" in str(caught.value)


def test_printing_a_runtime_value_warns():
    source = CELL.format(constant="", factor="2.0").replace(
        "    mY[tidx]", "    print(tidx)\n    mY[tidx]"
    )
    with pytest.warns(UserWarning, match=r"^cell, line \d+: print\(tidx\)\n.*cute.printf"):
        fk.compile(define(source, "scale"), fk.zeros(8), fk.zeros(8))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda x: fk.compile(simple.copy, x), "an argument for parameter 'mY'"),
        (lambda x: fk.compile(simple.copy, x, x, x), "got 3 arguments, needed 2"),
        (lambda x: fk.compile(simple.copy, x, None), "mY: got None, .* writes to its arguments"),
        (lambda x: fk.compile(simple.copy, x.numpy(), x), r"mX: got a NumPy array.*from_numpy"),
        (lambda x: fk.compile(simple.copy, x, [1.0]), r"mY: got a list.*torch.tensor\("),
        (lambda x: fk.compile(None, x), "got None, needed a @cute.jit function"),
        (lambda x: fk.compile(simple.copy, x, x, arch="sm_70"), "sm_70"),
        (lambda x: fk.compile(simple.copy, x, x, device="tpu"), "tpu"),
    ],
)
def test_bad_calls_of_compile(make, match):
    with pytest.raises(UsageError, match=match):
        make(fk.randn(4))


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
        with pytest.raises(ArgumentMismatchError, match=f"whole number from {low:,} to {high:,}"):
            check_argument(p, value, "cpu", {})
