"""Test switching the virtual GPU on and off, arguments that do not fit, and several names for one
tensor."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from typing import NamedTuple

import pytest
import torch

import forgekit.vgpu
from forgekit.vgpu.errors import ArgumentMismatchError, LaunchError, MemoryAccessError, UsageError
from forgekit.vgpu.host import arguments, hooks

cutlass = pytest.importorskip("cutlass")
import cutlass.cute as cute  # noqa: E402
from cutlass.base_dsl.common import DSLRuntimeError, DSLUserCodeError  # noqa: E402
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_ptr  # noqa: E402
from cutlass.cutlass_dsl import CuTeDSL  # noqa: E402
from cutlass.utils import (  # noqa: E402
    PersistentTileSchedulerParams,
    StaticPersistentTileScheduler,
)

from tests.vgpu.kernels import copies, flow, tutorial  # noqa: E402


def dynamic(t: torch.Tensor):
    return from_dlpack(t).mark_layout_dynamic()


@cute.kernel
def mark_kernel(mX: cute.Tensor, i: cutlass.Int32):
    mX[i] = cutlass.Float32(1)


@cute.jit
def mark_one_by_one(mX: cute.Tensor):
    for i in range(mX.shape[0]):
        mark_kernel(mX, i).launch(grid=(1, 1, 1), block=(1, 1, 1))


def settings() -> dict[str, object]:
    names = ("arch", "lineinfo", "enable_tvm_ffi", "disable_file_caching", "keep_ptx", "dump_dir")
    return {name: getattr(CuTeDSL._get_dsl().envar, name) for name in names}


@pytest.fixture
def installed():
    with forgekit.vgpu.installed():
        yield


@pytest.fixture(autouse=True)
def off_again():
    yield
    forgekit.vgpu.uninstall()


# -- on and off ------------------------------------------------------------------------------------
def test_uninstall_restores_every_setting():
    before = settings()
    forgekit.vgpu.install("sm_80")
    assert forgekit.vgpu.is_installed() and settings()["arch"] == "sm_80"
    forgekit.vgpu.install("sm_100a")
    forgekit.vgpu.uninstall()
    assert not forgekit.vgpu.is_installed()
    assert settings() == before
    forgekit.vgpu.uninstall()
    assert settings() == before


def test_a_call_has_a_largest_number_of_launches(installed):
    """Compiled host code needs new stack space for each launch of a loop."""
    x = torch.zeros(2001)
    compiled = cute.compile(mark_one_by_one, dynamic(x))
    compiled(dynamic(x[:2000]))
    assert x.sum() == 2000
    with pytest.raises(LaunchError, match="more than 2,000 launches in one call"):
        compiled(dynamic(x))
    compiled(dynamic(x[-1:]))
    assert x.sum() == 2001


def test_installed_is_for_a_while_and_nests():
    before = settings()
    with forgekit.vgpu.installed("sm_80"):
        with forgekit.vgpu.installed("sm_90a"):
            assert settings()["arch"] == "sm_90a"
        assert forgekit.vgpu.is_installed() and settings()["arch"] == "sm_80"
    assert not forgekit.vgpu.is_installed() and settings() == before
    with pytest.raises(ZeroDivisionError), forgekit.vgpu.installed():
        _ = 1 / 0
    assert settings() == before


@pytest.mark.parametrize("arch", ["sm_75", "h100", "sm_90"])
def test_unknown_architectures(arch):
    with pytest.raises(UsageError, match="needed one of sm_80, sm_90a, sm_100a"):
        forgekit.vgpu.install(arch)
    assert not forgekit.vgpu.is_installed()


def test_the_architecture_of_the_environment(monkeypatch):
    monkeypatch.setenv("FORGEKIT_ARCH", "sm_80")
    with forgekit.vgpu.installed():
        assert settings()["arch"] == "sm_80"


def test_functions_keep_the_device_they_were_compiled_for():
    x, y = torch.randn(40), torch.zeros(40)
    with forgekit.vgpu.installed():
        copy = cute.compile(copies.copy, dynamic(x), dynamic(y))
    copy(dynamic(x), dynamic(y))
    assert torch.equal(x, y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="tests behaviour without a GPU")
def test_after_uninstall_compilation_is_as_before(tmp_path):
    """The DSL again requires a driver, keeps no PTX and has no virtual engine."""
    x, y = torch.randn(40), torch.zeros(40)
    with forgekit.vgpu.installed():
        copies.copy(dynamic(x), dynamic(y))
    compiled = cute.compile(copies.copy, dynamic(x), dynamic(y))
    assert compiled.__ptx__ is None and compiled.engine is not None
    assert type(compiled.engine).__name__ == "ExecutionEngine"
    with pytest.raises(Exception, match=r"cudaError(InsufficientDriver|NoDevice)"):
        compiled(dynamic(x), dynamic(y))
    with pytest.raises(Exception, match=r"cudaError(InsufficientDriver|NoDevice)"):
        copies.copy(dynamic(x), dynamic(y))  # must not use the function cached for the virtual GPU
    kept = cute.compile(copies.copy, dynamic(x), dynamic(y),
                        options=f"--keep-ptx --enable-tvm-ffi --dump-dir {tmp_path}")  # fmt: skip
    assert kept.__ptx__ and ".loc" not in kept.__ptx__
    assert len(list(tmp_path.glob("*.ptx"))) == 1
    other = cute.compile(copies.copy, dynamic(x), dynamic(y), options="--gpu-arch sm_80")
    assert other.engine is None  # this machine counts as sm_100a


def test_host_functions_are_as_before_and_during(capfd):
    x = torch.tensor([3.0])
    tutorial.print_on_the_host(from_dlpack(x))
    with forgekit.vgpu.installed():
        tutorial.print_on_the_host(from_dlpack(x))
    assert capfd.readouterr().out.count("first element 3.0") == 2


def test_kernels_of_one_name_are_told_apart(installed):
    """The DSL derives the names of dump files only from the function and its types."""

    def make(value: float):
        @cute.kernel
        def kernel(mX: cute.Tensor):
            mX[cute.arch.thread_idx()[0]] = value

        @cute.jit
        def function(mX: cute.Tensor):
            kernel(mX).launch(grid=(1, 1, 1), block=(4, 1, 1))

        return function

    x = torch.zeros(4)
    compiled = [cute.compile(make(v), from_dlpack(x)) for v in (1.0, 2.0, 3.0)]
    for value, function in enumerate(compiled, 1):
        function(from_dlpack(x))
        assert (x == value).all()
    assert not os.listdir(hooks._dump_dir())


def test_a_compilation_that_fails_leaves_no_ptx(installed, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("cannot be linked")

    monkeypatch.setattr(hooks.cuda_runtime, "make_engine", fail)
    with pytest.raises(DSLRuntimeError, match="cannot be linked"):
        cute.compile(copies.copy, dynamic(torch.zeros(4)), dynamic(torch.zeros(4)))
    assert not os.listdir(hooks._dump_dir())


def test_a_process_imports_late_and_leaves_nothing_in_the_dsl_s_cache(tmp_path):
    """forgekit.vgpu alone needs neither torch nor the DSL. The DSL's disk cache holds no PTX, so
    its entries cannot run on the virtual GPU."""
    code = """
import sys, forgekit.vgpu
print("torch" in sys.modules, "cutlass" in sys.modules)
import torch
forgekit.vgpu.install()
from cutlass.cute.runtime import from_dlpack
from tests.vgpu.kernels import copies
x, y = torch.randn(8), torch.zeros(8)
copies.copy(from_dlpack(x), from_dlpack(y))
print(torch.equal(x, y))
"""
    path = os.pathsep.join((os.getcwd(), os.environ.get("PYTHONPATH", "")))
    env = {**os.environ, "PYTHONPATH": path, "CUTE_DSL_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["False", "False", "True"], done.stderr
    assert not list(tmp_path.glob("*.mlir"))


# -- errors in a launch ----------------------------------------------------------------------------
def test_an_error_leaves_the_next_call_alone(installed):
    x, y = torch.randn(100), torch.zeros(100)
    f = cute.compile(
        flow.scale_then_add, dynamic(x), dynamic(y), cutlass.Float32(1), cutlass.Int32(0)
    )
    with pytest.raises(
        MemoryAccessError,
        match=r"flow.py, line \d+: mY\[i\] = mX\[i\] \* factor\n.*writes mY\[50\]",
    ):
        f(dynamic(x), dynamic(y[:50]), 2.0, 3)
    f(dynamic(x), dynamic(y), 2.0, 0)
    torch.testing.assert_close(y, 2 * x + 1)


def test_an_empty_grid_is_an_error_with_a_remedy(installed):
    x = torch.empty(0)
    with pytest.raises(LaunchError, match=r"grid of \(0, 1, 1\).*skip a launch without work"):
        flow.scale_then_add(dynamic(x), dynamic(x), 1.0, 0)


def test_a_block_that_is_too_large(installed):
    y = torch.zeros(1, 1, 1, 1, 1, 2048, 6, dtype=torch.int32)
    with pytest.raises(LaunchError, match="2,048 threads"):
        flow.where_am_i(from_dlpack(y))


# -- lines -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "mistake",
    [
        lambda: cute.compile(3),
        lambda: cute.compile(tutorial.naive_add, fake(8, 8)),
        lambda: add_of("dynamic")(dynamic(torch.zeros(4, 8))),
    ],
    ids=["not a function", "an argument missing at the compile", "an argument missing at the call"],
)
def test_the_dsl_s_messages_are_of_the_user_s_line(installed, mistake):
    with pytest.raises(DSLUserCodeError) as raised:
        mistake()
    assert f"{__file__}:{mistake.__code__.co_firstlineno}" in str(raised.value)


@cute.kernel
def tiles_kernel(mX: cute.Tensor, params: PersistentTileSchedulerParams):
    grid = cute.arch.grid_dim()
    scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), grid)
    tile = scheduler.initial_work_tile_info()
    while tile.is_valid_tile:
        mX[tile.tile_idx[0]] = tile.tile_idx[1]
        scheduler.advance_to_next_work()
        tile = scheduler.get_current_work()


@cute.jit
def number_tiles(mX: cute.Tensor, params: PersistentTileSchedulerParams):
    tiles_kernel(mX, params).launch(grid=(1, 1, 4), block=(1, 1, 1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kernel_s_lines_are_the_user_s(installed):
    """The DSL's scheduler contains @cute.jit functions, but its file must not be named."""

    @cute.jit
    def run(mX: cute.Tensor):
        number_tiles(mX, PersistentTileSchedulerParams((mX.shape[0], 4, 1), (1, 1, 1)))

    ptx = cute.compile(run, dynamic(torch.zeros(8, dtype=torch.int32))).__ptx__
    assert re.findall(r'\.file\s+\d+ "(.*)"', ptx) == [__file__]


# -- arguments that do not fit ---------------------------------------------------------------------
def fake(*shape: object, align: int = 4):
    return make_fake_compact_tensor(
        cutlass.Float32, shape, stride_order=(1, 0), assumed_align=align
    )


@functools.cache
def add_of(how: str):
    """Return `naive_add`, compiled for one kind of tensor."""
    given = {
        "dynamic": lambda: dynamic(torch.zeros(8, 8)),
        "static": lambda: from_dlpack(torch.zeros(4, 8)),
        "aligned": lambda: fake(cute.sym_int(), cute.sym_int(), align=16),
        "8 columns": lambda: fake(cute.sym_int(), 8),
        "pairs": lambda: fake(cute.sym_int(), cute.sym_int(divisibility=2)),
    }[how]()
    options = {} if how in ("dynamic", "static") else {"options": "--enable-tvm-ffi"}
    return cute.compile(tutorial.naive_add, given, given, given, **options)


@pytest.fixture
def add(installed):
    return add_of("dynamic")


@pytest.mark.parametrize(
    ("how", "wrong", "said"),
    [
        ("dynamic", lambda: dynamic(torch.zeros(4, 4, dtype=torch.float16)),
         "argument `mB`: got dtype float16, needed Float32; convert the tensor"),
        ("dynamic", lambda: dynamic(torch.zeros(4, 4, dtype=torch.int32)), "got dtype int32"),
        ("dynamic", lambda: dynamic(torch.zeros(16)), "got rank 1 (shape (16,)), needed rank 2"),
        ("dynamic", lambda: 3, "argument `mB`: got 3, needed a tensor"),
        ("dynamic", lambda: [1.0, 2.0], "got [1.0, 2.0], needed a tensor"),
        ("dynamic", lambda: None, "got None, needed a tensor"),
        ("dynamic", lambda: from_dlpack(torch.zeros(4, 8)),
         "got a tensor with layout (4, 8):(8, 1), needed the compiled-in layout (?, ?):(?, 1)"),
        ("dynamic", lambda: torch.zeros(4, 4, device="meta"),
         "argument `mB`: got a tensor on meta, needed a CPU tensor"),
        ("static", lambda: from_dlpack(torch.zeros(4, 9)),
         "got size 9 in mode 1, needed 8, the compiled-in value"),
        ("static", lambda: from_dlpack(torch.zeros(8, 4).T),
         "got stride 1 in mode 0, needed 8, the compiled-in value"),
        ("aligned", lambda: torch.zeros(4, 9)[:, 1:],
         "got an address 4 bytes past an aligned address, needed a multiple of 16 bytes"),
        ("8 columns", lambda: torch.zeros(5, 9), "got size 9 in mode 1, needed 8"),
        ("8 columns", lambda: torch.zeros(3, 8), "`mB`: got size 3 in mode 0, needed 4, because "
         "`mA` has size 4 in mode 0 and both were compiled with the same symbol"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(installed, how, wrong, said):
    plain = torch.zeros(4, 8)
    good = {"dynamic": dynamic, "static": from_dlpack}.get(how, lambda t: t)(plain)
    add_of(how)(good, good, good)
    error = UsageError if "meta" in said else ArgumentMismatchError
    with pytest.raises(error, match=re.escape(said)):
        add_of(how)(good, wrong(), good)


def test_a_size_that_its_symbol_excludes_is_refused(installed):
    odd = torch.zeros(4, 7)
    with pytest.raises(ArgumentMismatchError, match="got size 7 in mode 1, needed a multiple of 2"):
        add_of("pairs")(odd, odd, odd)


@pytest.mark.parametrize(
    ("count", "said"),
    [(2, "arguments: got 2 (missing a required argument: 'mC'), needed mA, mB, mC"),
     (4, "arguments: got 4 (too many positional arguments), needed mA, mB, mC")],
)  # fmt: skip
def test_tvm_ffi_names_arguments_that_are_missing(installed, count, said):
    with pytest.raises(ArgumentMismatchError, match=re.escape(said)):
        add_of("8 columns")(*[torch.zeros(4, 8)] * count)


def test_marks_of_several_modes_are_read_together(installed):
    """The DSL's mask of dynamic strides is outdated until the tensor's type is read."""

    def marked(t: torch.Tensor):
        made = from_dlpack(t).mark_compact_shape_dynamic(mode=0, stride_order=(0, 1))
        return made.mark_compact_shape_dynamic(mode=1, stride_order=(0, 1))

    a, b, c = torch.ones(4, 8), torch.ones(4, 8), torch.zeros(4, 8)
    add = cute.compile(tutorial.naive_add, marked(a), marked(b), marked(c))
    add(marked(a), marked(b), marked(c))
    assert (c == 2).all()


def test_host_code_says_what_bytes_hold(installed):
    """Some frameworks use types that differ from torch's, such as uint8 for fp8."""
    tensor = from_dlpack(torch.zeros(4, 8, dtype=torch.uint8))
    assert arguments.describe("x", tensor).dtype == "uint8"
    tensor.element_type = cutlass.Float8E4M3FN
    assert arguments.describe("x", tensor).dtype == "float8e4m3fn"


class Options(NamedTuple):
    first: cutlass.Int32
    nothing: cutlass.Int32 | None
    pair: tuple[cutlass.Int32, cutlass.Float32]
    place: cute.Pointer


@cute.kernel
def options_kernel(mX: cute.Tensor, first: cutlass.Int32, pair: cute.Shape, place: cute.Pointer):
    mX[3] = cute.make_tensor(place, cute.make_layout(2))[1]
    mX[0] = cutlass.Float32(first)
    mX[1] = cutlass.Float32(pair[0])
    mX[2] = pair[1]


@cute.jit
def write_options(mX: cute.Tensor, given: Options):
    options_kernel(mX, given.first, given.pair, given.place).launch(grid=(1, 1, 1), block=(1, 1, 1))


def test_pythons_numbers_in_tuples_are_numbers(installed):
    """As with TVM-FFI, addresses are numbers too; CuTe DSL's own calls lose them."""
    Int32, Float32 = cutlass.Int32, cutlass.Float32
    x, y = torch.zeros(4), torch.tensor([1.0, 9.0])
    nowhere = make_ptr(Float32, 0, cute.AddressSpace.gmem, assumed_align=4)
    example = Options(Int32(1), None, (Int32(2), Float32(3)), nowhere)
    run = cute.compile(write_options, dynamic(x), example, options="--enable-tvm-ffi")
    at = y.data_ptr()
    for numbers in ((Int32(7), None, (8, 2.5)), (7, None, (Int32(8), Float32(2.5)))):
        x.zero_()
        run(x, Options(*numbers, at))
        assert x.tolist() == [7, 8, 2.5, 9]
    with pytest.raises(ArgumentMismatchError, match=r"`given.pair.0`: got 4,294,967,296"):
        run(x, Options(7, None, (1 << 32, 2.5), at))


def test_a_tensor_for_a_number(installed):
    x = dynamic(torch.zeros(8))
    f = cute.compile(tutorial.Scale(1.0), x, x, cutlass.Float32(0))
    with pytest.raises(ArgumentMismatchError, match="`offset`: got a tensor, needed a value that"):
        f(x, x, torch.zeros(1))


def test_plain_tensors_are_packed_as_compiled(installed):
    """With TVM-FFI, a call accepts plain tensors regardless of dynamic modes; the virtual GPU does
    the same."""
    a, b, c = torch.randn(5, 8), torch.randn(5, 8), torch.zeros(5, 8)
    add_of("8 columns")(a, b, c)
    torch.testing.assert_close(c, a + b)


# -- one storage, several arguments ----------------------------------------------------------------
def test_the_same_tensor_twice(add):
    a = torch.randn(6, 7)
    want = a + a
    add(dynamic(a), dynamic(a), dynamic(a))
    torch.testing.assert_close(a, want)


def test_views_of_one_storage(add):
    x = torch.randn(8, 20)
    before = x.clone()
    add(dynamic(x[:, 0:5]), dynamic(x[:, 5:10]), dynamic(x[:, 10:15]))
    torch.testing.assert_close(x[:, 10:15], before[:, :5] + before[:, 5:10])
    torch.testing.assert_close(x[:, 15:], before[:, 15:])


def test_rows_and_their_neighbours(add):
    x = torch.arange(40.0).reshape(8, 5)
    before = x.clone()
    with forgekit.vgpu.options(sanitize=False):  # a race; the test checks only addresses
        add(dynamic(x[1:]), dynamic(x[1:]), dynamic(x[:-1]))
    torch.testing.assert_close(x[-1], before[-1])


@pytest.mark.parametrize(
    "view",
    [lambda x: x[:, ::2], lambda x: x.T, lambda x: x[2:5, 3:], lambda x: x[:1].expand(4, 10)],
)
def test_strided_views(installed, view):
    x = torch.randn(10, 10)
    a = view(x)
    b, c = torch.randn(a.shape), torch.zeros(a.shape)
    given = [from_dlpack(t) for t in (a, b, c)]
    cute.compile(tutorial.naive_add, *given)(*given)
    torch.testing.assert_close(c, a + b)


def test_messages_name_the_argument_and_are_the_same_every_time(add):
    texts = set()
    for _ in range(3):
        x, small = torch.zeros(9, 9), torch.zeros(9, 8)
        wide = small.as_strided((9, 8), (8, 1))
        with pytest.raises(MemoryAccessError) as caught:
            add(dynamic(x), dynamic(wide[:8]), dynamic(torch.zeros(9, 9)))
        texts.add(str(caught.value))
    (text,) = texts
    assert re.search(
        r"tutorial.py, line \d+: gC\[row, col\] = gA\[row, col\] \+ gB\[row, col\]", text
    )
    assert "reads mB[8, 0], up to 4 bytes past the tensor's end." in text
    assert "mB: float32 (8, 8) has 256 bytes." in text
