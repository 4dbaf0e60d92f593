"""Sizes, strides, offsets and grids beyond 2**31: right, or refused in words."""

import cutlass
import cutlass.cute as cute
import pytest
import torch
from cutlass import Int32, Int64
from cutlass.cute.runtime import from_dlpack, make_fake_tensor

import forgekit as fk
from forgekit import vgpu
from forgekit.errors import ArgumentMismatchError, LaunchError
from forgekit.vgpu import launching
from forgekit.vgpu.memory import GlobalMemory, TensorInfo
from forgekit.vgpu.program import load
from tests.vgpu.ptx_launch import kernel

BIG = 2**32 + 10
ROWS, COLUMNS = 40_000, 2**17  # 5 GiB of bytes, of which a test touches some pages


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path))


@cute.kernel
def mark_kernel(mX: cute.Tensor, mY: cute.Tensor, row: Int32, column: Int32):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx == 0:
        mX[row, column] = cutlass.Int8(7)
        mY[0] = Int64(mX.shape[0])
        mY[1] = Int64(mX.stride[0])


@cute.jit
def mark(mX: cute.Tensor, mY: cute.Tensor, row: Int32, column: Int32):
    mark_kernel(mX, mY, row, column).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def see_kernel(mX: cute.Tensor, mY: cute.Tensor, n: Int32):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx == 0:
        mY[0] = Int64(mX.shape[0])
        mY[1] = Int64(n)


@cute.jit
def see(mX: cute.Tensor, mY: cute.Tensor, n: Int32):
    see_kernel(mX, mY, n).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.fixture
def seen() -> torch.Tensor:
    return torch.zeros(2, dtype=torch.int64)


@pytest.fixture
def long() -> torch.Tensor:
    return torch.ones(1, dtype=torch.int8).expand(BIG)


@pytest.fixture
def matrix() -> torch.Tensor:
    return torch.empty(ROWS * COLUMNS, dtype=torch.int8).view(ROWS, COLUMNS)


# -- sizes ----------------------------------------------------------------------------------------
TOO_LONG = r"argument `?mX`?.*got size 4,294,967,306 in mode 0, needed at most 2,147,483,647"


def test_a_size_that_is_passed_is_refused(long, seen):
    compiled = fk.compile(see, long, seen, 1, device="virtual")
    with pytest.raises(ArgumentMismatchError, match=TOO_LONG):
        compiled(long, seen, 1)
    with pytest.raises(ArgumentMismatchError, match="in mode 0"):  # though it holds no element
        fk.spec(torch.empty(5, 0)).check("mX", torch.empty(BIG, 0, device="meta"), {})


def test_a_size_that_is_compiled_in_is_right(long, seen):
    compiled = fk.compile(see, fk.spec(long, static=True), seen, 1, device="virtual")
    compiled(long, seen, 1)
    assert seen[0] == BIG


@pytest.mark.parametrize("road", ["compile", "call", "compiled", "tvm-ffi"])
def test_without_forgekit_compile(road, long, seen):
    with vgpu.installed():
        small = from_dlpack(torch.ones(8, dtype=torch.int8)).mark_layout_dynamic()
        mX, mY = from_dlpack(long).mark_layout_dynamic(), from_dlpack(seen)
        if road == "compiled":
            compiled = cute.compile(see, small, mY, 1)
        elif road == "tvm-ffi":
            small = make_fake_tensor(cutlass.Int8, (cute.sym_int64(),), (cute.sym_int64(),))
            compiled = cute.compile(see, small, mY, 1, options="--enable-tvm-ffi")
            mX, mY = long, seen
        with pytest.raises(ArgumentMismatchError, match=TOO_LONG):
            if road == "compile":
                cute.compile(see, mX, mY, 1)
            elif road == "call":
                see(mX, mY, 1)
            else:
                compiled(mX, mY, 1)


# -- offsets --------------------------------------------------------------------------------------
@pytest.mark.parametrize("row", [20_000, ROWS - 1])
def test_offsets_by_strides_of_64_bits_are_right(row, matrix, seen):
    matrix[row, 3] = 1
    fk.compile(mark, matrix, seen, 0, 0, device="virtual")(matrix, seen, row, 3)
    assert matrix[row, 3] == 7
    assert seen.tolist() == [ROWS, COLUMNS]


@pytest.mark.parametrize("static", [[1], True])
def test_offsets_by_strides_that_are_compiled_in_are_refused(static, matrix, seen):
    compiled = fk.compile(mark, fk.spec(matrix, static=static), seen, 0, 0, device="virtual")
    match = r"argument mX, layout: got elements up to 5,242,879,999 from the first one"
    with pytest.raises(ArgumentMismatchError, match=match):
        compiled(matrix, seen, 0, 0)
    if static is not True:
        compiled(matrix[:16_384], seen, 16_383, 5)
        assert matrix[16_383, 5] == 7


def test_plain_static_layouts_too(matrix, seen):
    with vgpu.installed(), pytest.raises(ArgumentMismatchError, match="elements up to"):
        cute.compile(mark, from_dlpack(matrix), from_dlpack(seen), 0, 0)


def test_strides_of_32_bits(seen):
    steps = torch.empty(2**32, dtype=torch.int8).as_strided((2, 2), (2**31, 1))
    narrow = make_fake_tensor(cutlass.Int8, (cute.sym_int(), cute.sym_int()), (cute.sym_int(), 1))
    with vgpu.installed():
        compiled = cute.compile(mark, narrow, from_dlpack(seen), 0, 0, options="--enable-tvm-ffi")
        match = "got stride 2,147,483,648 in mode 0, needed at most 2,147,483,647.*sym_int64"
        with pytest.raises(ArgumentMismatchError, match=match):
            compiled(steps, seen, 1, 1)
    steps[1, 1] = 1
    fk.compile(mark, steps, seen, 0, 0, device="virtual")(steps, seen, 1, 1)
    assert steps[1, 1] == 7
    assert seen.tolist() == [2, 2**31]


@pytest.mark.parametrize(
    "shape, strides, expected",
    [
        ((None,), (1,), ()),
        ((None, None), (None, 1), ()),
        ((None, 1024), (1024, 1), ((0, 2**21),)),
        ((4, 1024), (1024, 1), ()),
        ((2**22, 1024), (1024, 1), ((0, -1),)),
        ((2, 3), (2**31, 1), ()),  # such a stride makes the offset one of 64 bits
    ],
)
def test_which_sizes_are_looked_at_before_a_launch_on_a_gpu(shape, strides, expected):
    assert fk.TensorSpec(torch.float16, shape, strides).safe_sizes == expected


@pytest.mark.parametrize("rows, fits", [(2**21, True), (2**21 + 1, False)])
def test_safe_sizes_are_exact(rows, fits):
    spec = fk.TensorSpec(torch.int8, (None, 1024), (1024, 1))
    x = torch.empty(rows, 1024, dtype=torch.int8, device="meta")
    assert (spec.size_problem(x) is None) == fits == (rows <= spec.safe_sizes[0][1])


# What follows a size in the parameters is not written by the host code: with a tensor of
# gigabytes, size and remains together look like a pointer into it.
def test_a_size_and_its_padding_are_no_pointer():
    text = kernel("", 0).replace(
        ".entry k()", ".entry k(.param .align 8 .b8 p[40])"
    ).replace("{\n.reg", "{\n.reg .b64 %q<9>; .reg", 1).replace(
        ";\n\n\n}", ";\nld.param.b64 %q0, [p]; ld.param.b32 %r1, [p+8]; "
        "ld.param.v2.b64 {%q1, %q2}, [p+16]; ret;\n}"
    )  # fmt: skip
    program = load(text)["k"]
    assert program.pointer_slots == [0, 16, 24]
    memory = GlobalMemory()
    memory.add(0x7F0000000000, 2**33, TensorInfo("x", "int8", 1, (2**33,), (1,)))
    words = [0x7F0000000000, 0x7F0100000002, 2**33, 5, 0x7F0000000001]
    params = b"".join(w.to_bytes(8, "little") for w in words)
    changed = launching.translate_pointers(params, memory, program.pointer_slots)
    start = memory.allocations[0].address
    found = [int.from_bytes(changed[i : i + 8], "little") for i in range(0, 40, 8)]
    assert found == [start, *words[1:]]


# -- scalars --------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [2**31, BIG, -(2**31) - 1])
def test_scalars(value, seen):
    match = r"argument `?n`?: got .*needed .*-2,147,483,648 to 2,147,483,647 \(Int32\)"
    x = torch.ones(8, dtype=torch.int8)
    with pytest.raises(ArgumentMismatchError, match=match):
        fk.compile(see, x, seen, 1, device="virtual")(x, seen, value)
    with vgpu.installed():
        tensors = from_dlpack(x), from_dlpack(seen)
        with pytest.raises(ArgumentMismatchError, match=match):
            see(*tensors, value)
        compiled = cute.compile(see, *tensors, 1)
        with pytest.raises(ArgumentMismatchError, match=match):
            compiled(*tensors, value)
        compiled(*tensors, -(2**31))
    assert seen.tolist() == [8, -(2**31)]


# -- grids ----------------------------------------------------------------------------------------
@cute.kernel
def grid_kernel(mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gdim, _, _ = cute.arch.grid_dim()
    if tidx == 0 and bidx == 0:
        mY[0] = Int64(gdim)


@cute.jit
def launch_wide(mY: cute.Tensor, n: Int64):
    grid_kernel(mY).launch(grid=(n, 1, 1), block=(32, 1, 1))


@cute.jit
def launch_fixed(mY: cute.Tensor, n: cutlass.Constexpr):
    grid_kernel(mY).launch(grid=(1, n, 1), block=(32, 1, 1))


@pytest.mark.parametrize("n", [2**31, BIG, 2**40])
def test_a_grid_beyond_32_bits_is_refused(n, seen):
    wide = fk.compile(launch_wide, seen, Int64(1), device="virtual")
    wide(seen, 3)
    assert seen[0] == 3
    with pytest.raises(LaunchError, match="more than 2,147,483,647 blocks in x"):
        wide(seen, n)
    with pytest.raises(LaunchError, match="more than 2,147,483,647 blocks in y"):
        fk.compile(launch_fixed, seen, n, device="virtual")(seen)
