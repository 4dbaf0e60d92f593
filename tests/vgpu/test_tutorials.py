"""Test unmodified CuTe DSL code in the style of tutorials, after only `forgekit.vgpu.install()`."""

from __future__ import annotations

import textwrap

import nbformat
import pytest
import torch
from nbclient import NotebookClient

import forgekit.vgpu

cutlass = pytest.importorskip("cutlass")
import cuda.bindings.driver as cuda  # noqa: E402
import cutlass.cute as cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_ptr  # noqa: E402
from cutlass.runtime import make_fake_stream  # noqa: E402

from tests.vgpu.kernels import tutorial  # noqa: E402


@pytest.fixture(autouse=True)
def installed():
    forgekit.vgpu.install()
    yield
    forgekit.vgpu.uninstall()


@pytest.fixture
def abc():
    torch.manual_seed(0)
    a, b = torch.randn(60, 128), torch.randn(60, 128)
    return a, b, torch.full_like(a, float("nan"))


def fake():
    return make_fake_compact_tensor(
        cutlass.Float32, (cute.sym_int(), cute.sym_int()), stride_order=(1, 0), assumed_align=16
    )


# -- calls -----------------------------------------------------------------------------------------
def test_hello(capfd):
    cute.compile(tutorial.hello, 3)(3)
    out = capfd.readouterr().out
    assert "hello from the host" in out
    assert "Hello from block 0\nHello from block 1\nHello from block 2\n" in out


def test_direct_calls(abc):
    a, b, c = abc
    tutorial.naive_add(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    torch.testing.assert_close(c, a + b)
    c.zero_()
    tutorial.untyped_add(a, b, c)
    torch.testing.assert_close(c, a + b)


def test_direct_calls_in_a_loop_compile_once(abc, monkeypatch):
    from cutlass.base_dsl.compiler import Compiler

    compiled = []
    real = Compiler.compile
    monkeypatch.setattr(Compiler, "compile", lambda *a, **k: compiled.append(1) or real(*a, **k))
    a, b, c = abc
    for step in range(5):
        x = a + step
        tutorial.vectorized_add(from_dlpack(x), from_dlpack(b), from_dlpack(c))
        torch.testing.assert_close(c, x + b)
    assert len(compiled) == 1


def test_vectorized_add_with_static_and_dynamic_layouts(abc):
    a, b, c = abc
    given = [from_dlpack(t, assumed_align=16) for t in abc]
    cute.compile(tutorial.vectorized_add, *given)(*given)
    torch.testing.assert_close(c, a + b)
    c.zero_()
    given = [
        from_dlpack(t, assumed_align=16).mark_compact_shape_dynamic(mode=0, stride_order=(0, 1))
        for t in abc
    ]
    add = cute.compile(tutorial.vectorized_add, *given)
    add(*given)
    torch.testing.assert_close(c, a + b)


def test_kernels_in_a_class():
    x, y = torch.randn(1000), torch.zeros(1000)
    given = [from_dlpack(t).mark_layout_dynamic() for t in (x, y)]
    scale = tutorial.Scale(3.0)
    scale(*given, 1.0)
    torch.testing.assert_close(y, 3 * x + 1)
    compiled = cute.compile(tutorial.Scale(2.0, threads=96), *given, cutlass.Float32(0))
    compiled(*given, 5.0)
    torch.testing.assert_close(y, 2 * x + 5)


def test_kernels_in_this_module():
    @cute.kernel
    def fill_kernel(mX: cute.Tensor, value: cutlass.Float32):
        tidx, _, _ = cute.arch.thread_idx()
        mX[tidx] = value

    @cute.jit
    def fill(mX: cute.Tensor, value: cutlass.Float32):
        fill_kernel(mX, value).launch(grid=(1, 1, 1), block=(cute.size(mX), 1, 1))

    x = torch.zeros(40)
    fill(from_dlpack(x), 2.5)
    assert (x == 2.5).all()


def test_numpy_arrays():
    x = torch.arange(100, dtype=torch.float32).numpy().copy()
    y = x * 0
    cute.compile(tutorial.Scale(2.0), from_dlpack(x), from_dlpack(y), 0.0)(
        from_dlpack(x), from_dlpack(y), 1.0
    )
    assert (y == 2 * x + 1).all()


def test_host_functions_without_kernels(capfd):
    x = torch.tensor([1.5, 2.5])
    tutorial.print_on_the_host(from_dlpack(x))
    assert "first element 1.5" in capfd.readouterr().out


# -- options ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options",
    [
        "--gpu-arch sm_80",
        "--opt-level 2 --enable-tvm-ffi --gpu-arch sm_90a",
        "--generate-line-info --enable-assertions --ptxas-options '--verbose'",
    ],
)
def test_options_as_a_string(options, abc):
    a, b, c = abc
    add = cute.compile(tutorial.untyped_add, a, b, c, options=options)
    add(a, b, c)
    torch.testing.assert_close(c, a + b)
    assert (".target sm_80" if "sm_80" in options else ".target sm_90a") in add.__ptx__
    assert ".loc" in add.__ptx__


@pytest.mark.parametrize(
    "options",
    [
        (cute.GPUArch("sm_80"), cute.OptLevel(1)),
        (cute.EnableTVMFFI, cute.OptLevel(2)),
        cute.GenerateLineInfo,
    ],
)
def test_options_in_brackets(options, abc):
    a, b, c = abc
    compiler = cute.compile[options]
    for _ in range(2):  # the first use does not change the options object
        c.zero_()
        compiler(tutorial.untyped_add, a, b, c)(a, b, c)
        torch.testing.assert_close(c, a + b)
    assert not compiler._compile_options.options[cute.KeepPTX].value


def test_kept_ptx_goes_where_the_user_wants_it(abc, tmp_path):
    a, b, c = abc
    folder = tmp_path / "dump"
    add = cute.compile(tutorial.untyped_add, a, b, c, options=f"--keep-ptx --dump-dir {folder}")
    add(a, b, c)
    (file,) = folder.glob("*.ptx")
    assert file.read_text() == add.__ptx__


def test_tvm_ffi_with_a_stream_of_the_environment(abc):
    a, b, c = abc
    add = cute.compile(
        tutorial.stream_add, fake(), fake(), fake(), make_fake_stream(use_tvm_ffi_env_stream=True),
        options="--enable-tvm-ffi",
    )  # fmt: skip
    add(a, b, c)
    torch.testing.assert_close(c, a + b)
    c.zero_()
    add(a, b, mC=c)
    torch.testing.assert_close(c, a + b)


def test_streams(abc):
    a, b, c = abc
    given = [from_dlpack(t).mark_layout_dynamic() for t in abc]
    stream = cuda.CUstream(0)
    tutorial.stream_add(*given, stream)
    torch.testing.assert_close(c, a + b)
    c.zero_()
    cute.compile(tutorial.stream_add, *given, make_fake_stream())(*given, stream)
    torch.testing.assert_close(c, a + b)


def test_pointers():
    x = torch.arange(300, dtype=torch.float32)

    def pointer(t: torch.Tensor):
        return make_ptr(cutlass.Float32, t.data_ptr(), cute.AddressSpace.gmem, assumed_align=4)

    double = cute.compile(tutorial.double_pointer, pointer(x), cutlass.Int32(0))
    double(pointer(x), 300)
    assert (x == 2 * torch.arange(300)).all()
    tutorial.double_pointer(pointer(x[100:]), cutlass.Int32(50))
    assert (x[100:150] == 4 * torch.arange(100, 150)).all() and x[150] == 300
    with pytest.raises(forgekit.vgpu.errors.MemoryAccessError, match=r"reads p\[300\]"):
        double(pointer(x), 301)
    with pytest.raises(forgekit.vgpu.errors.UsageError, match="keep the tensor in a variable"):
        double(make_ptr(cutlass.Float32, 4096, cute.AddressSpace.gmem), 1)


def test_assertions(capfd):
    x = torch.ones(32)
    compiled = cute.compile(tutorial.checked, from_dlpack(x), options="--enable-assertions")
    compiled(from_dlpack(x))
    x[7] = -1
    with pytest.raises(forgekit.vgpu.errors.KernelError, match=r"thread \(7, 0, 0\)"):
        compiled(from_dlpack(x))
    assert "x must not be negative" in capfd.readouterr().out


# -- in a notebook ---------------------------------------------------------------------------------
CELLS = [
    """
    import torch
    import forgekit.vgpu
    forgekit.vgpu.install()
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack
    """,
    """
    @cute.kernel
    def kernel(mX: cute.Tensor):
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        if tidx == 0:
            cute.printf("block {} starts", bidx)
        mX[bidx * 4 + tidx] = 1.0 * tidx

    @cute.jit
    def run(mX: cute.Tensor):
        kernel(mX).launch(grid=(3, 1, 1), block=(4, 1, 1))
    """,
    "x = torch.zeros(12)\nrun(from_dlpack(x))\nprint(x.tolist())",
    """
    SCALE = 10.0

    @cute.kernel
    def kernel(mX: cute.Tensor):
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        mX[bidx * 4 + tidx] = SCALE * tidx
    """,
    "run(from_dlpack(x))\nprint(x.tolist())",
    """
    try:
        run(from_dlpack(torch.zeros(10)))
    except Exception as error:
        print(type(error).__name__, error)
    """,
]


def test_a_notebook(tmp_path):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(textwrap.dedent(c).strip()) for c in CELLS]
    )
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    texts = ["".join(o.get("text", "") for o in c.outputs) for c in notebook.cells]
    assert texts[2] == (
        "block 0 starts\nblock 1 starts\nblock 2 starts\n"
        "[0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]\n"
    )
    assert texts[4].startswith("[0.0, 10.0, 20.0, 30.0, 0.0,")
    assert texts[5].startswith(
        "MemoryAccessError Out of bounds: cell [4], line 7: mX[bidx * 4 + tidx] = SCALE * tidx\n"
        "  thread (2, 0, 0) of block (2, 0, 0) writes mX[10], up to 4 bytes past the tensor's end."
    )
    assert not list(tmp_path.iterdir())  # no file remains in the notebook's folder
