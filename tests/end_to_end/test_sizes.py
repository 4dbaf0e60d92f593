"""Test that sizes, strides, offsets and grids beyond 2**31 work or are refused with a message."""

import math
import tracemalloc

import cutlass
import cutlass.cute as cute
import numpy as np
import pytest
import torch
from cutlass import Int32, Int64
from cutlass.cute.runtime import from_dlpack, make_fake_tensor

import forgekit as fk
from forgekit import vgpu
from forgekit.compiling.specs import TensorSpec
from forgekit.vgpu.errors import ArgumentMismatchError, LaunchError, MemoryAccessError
from forgekit.vgpu.host import arguments, launching
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.listeners import Listener
from forgekit.vgpu.memory import GlobalMemory, TensorInfo
from forgekit.vgpu.program import load
from tests.vgpu.ptx_launch import kernel, launch

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
    with pytest.raises(ArgumentMismatchError, match="in mode 0"):  # although the tensor is empty
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
def test_offsets_by_strides_of_64_bits_are_right(matrix, seen):
    run = fk.compile(mark, matrix, seen, 0, 0, device="virtual")
    for row in (20_000, ROWS - 1):
        matrix[row, 3] = 1
        run(matrix, seen, row, 3)
        assert matrix[row, 3] == 7
    assert seen.tolist() == [ROWS, COLUMNS]


@pytest.mark.parametrize("static", [[1], True])
def test_offsets_by_strides_that_are_compiled_in_are_refused(static, matrix, seen):
    compiled = fk.compile(mark, fk.spec(matrix, static=static), seen, 0, 0, device="virtual")
    match = r"argument mX, layout: got an offset of 5,242,879,999 elements"
    with pytest.raises(ArgumentMismatchError, match=match):
        compiled(matrix, seen, 0, 0)
    if static is not True:
        compiled(matrix[:16_384], seen, 16_383, 5)
        assert matrix[16_383, 5] == 7


def test_plain_static_layouts_too(matrix, seen):
    with vgpu.installed(), pytest.raises(ArgumentMismatchError, match="an offset of"):
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
        ((2, 3), (2**31, 1), ()),  # such a stride makes the offset 64 bits wide
    ],
)
def test_which_sizes_are_looked_at_before_a_launch_on_a_gpu(shape, strides, expected):
    assert fk.TensorSpec(torch.float16, shape, strides).safe_sizes == expected


@pytest.mark.parametrize("rows, fits", [(2**21, True), (2**21 + 1, False)])
def test_safe_sizes_are_exact(rows, fits):
    spec = fk.TensorSpec(torch.int8, (None, 1024), (1024, 1))
    x = torch.empty(rows, 1024, dtype=torch.int8, device="meta")
    assert (spec.size_problem(x) is None) == fits == (rows <= spec.safe_sizes[0][1])


# The host code does not write the padding after a size in the parameters: for a tensor of
# gigabytes, the size and the leftover bytes together look like a pointer into it.
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
def test_scalars(seen):
    match = r"argument `?n`?: got .*needed .*-2,147,483,648 to 2,147,483,647 \(Int32\)"
    x = torch.ones(8, dtype=torch.int8)
    ours = fk.compile(see, x, seen, 1, device="virtual")
    tensors = from_dlpack(x), from_dlpack(seen)
    with vgpu.installed():
        compiled = cute.compile(see, *tensors, 1)
        for value in (2**31, BIG, -(2**31) - 1):
            for call, given in ((ours, (x, seen)), (see, tensors), (compiled, tensors)):
                with pytest.raises(ArgumentMismatchError, match=match):
                    call(*given, value)
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


def test_a_grid_beyond_32_bits_is_refused(seen):
    wide = fk.compile(launch_wide, seen, Int64(1), device="virtual")
    wide(seen, 3)
    assert seen[0] == 3
    for n in (2**31, BIG, 2**40):
        with pytest.raises(LaunchError, match="more than 2,147,483,647 blocks in x"):
            wide(seen, n)
    with pytest.raises(LaunchError, match="more than 2,147,483,647 blocks in y"):
        fk.compile(launch_fixed, seen, BIG, device="virtual")(seen)


# -- batches --------------------------------------------------------------------------------------
LARGEST = (2**31 - 1, 65535, 65535)
BODY = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;"
WRITE = f"{BODY} setp.eq.s32 %p0, %r0, 0; @%p0 st.global.v2.b32 [%rd0], {{%r1, %r2}};"
SHARED = """.shared .align 4 .b32 s[32]; mov.u32 %r4, s; shl.b32 %r5, %r0, 2; add.s32 %r4, %r4, %r5;
st.shared.b32 [%r4], %r0; bar.sync 0; ld.shared.b32 %r6, [%r4]; shl.b32 %r5, %r0, 2;"""


class StopAt(Listener):
    """Observe the batches, and stop the launch in the first, like a user who presses Ctrl-C."""

    def __init__(self) -> None:
        self.batches: list[range] = []

    def on_batch_end(self, m) -> None:
        self.batches.append(m.blocks)
        raise KeyboardInterrupt


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("sanitize", [False, True])
def test_the_largest_grid_has_no_list_of_batches(seed, sanitize):
    count, watcher = math.prod(LARGEST), StopAt()
    schedule = {"schedule": "adversarial", "seed": seed}
    tracemalloc.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            launch("ret;", grid=LARGEST, listeners=(watcher,), sanitize=sanitize, **schedule)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (blocks,) = watcher.batches
    assert peak < 64 << 20
    if seed % 2:  # in reverse order
        assert (blocks.stop, blocks.start % 1024) == (count, 0)
    else:
        assert blocks == range(1024)


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("cluster", [(1, 1, 1), (1, 1, 5)])
def test_blocks_of_high_numbers(sanitize, cluster):
    x = np.zeros(2, np.int32)
    ready = load(kernel(SHARED + WRITE + "ret;", 1))["k"]
    memory = GlobalMemory()
    arguments.register(memory, [("x", x)])
    params = memory.allocations[0].address.to_bytes(8, "little")
    record = LaunchRecord("k", LARGEST, (32, 1, 1), 0, params, cluster)
    first = math.prod(LARGEST) - 20
    watchers: list[Listener] = []
    if sanitize:
        watchers = launching.Sanitizer(ready, record, memory).listeners
    with np.errstate(all="ignore"):
        launching.run_batch(ready, record, memory, range(first, first + 20), listeners=watchers)
    assert x.tolist() == [2**31 - 2, 65534]
    assert record.coordinates(first + 19, 31) == ((2**31 - 2, 65534, 65534), (31, 0, 0))


def test_a_wrong_access_names_a_high_block():
    watcher = LaunchRecord("k", LARGEST, (32, 1, 1), 0, b"")
    ready = load(kernel(f"{BODY} st.global.b32 [%rd0], %r1; ret;", 0))["k"]
    first = math.prod(LARGEST) - 1
    with pytest.raises(MemoryAccessError, match=r"of block \(2147483646, 65534, 65534\)"):
        launching.run_batch(ready, watcher, GlobalMemory(), range(first, first + 1))


def test_progress_knows_the_total_without_a_list(monkeypatch):
    class Bar:
        def __init__(self, total: int, initial: int, **_: object) -> None:
            calls.append((total, initial))

        def update(self, n: int) -> None:
            calls.append(n)

        def close(self) -> None:
            calls.append("closed")

    calls: list = []
    monkeypatch.setattr("tqdm.tqdm", Bar)
    monkeypatch.setattr(launching, "_PROGRESS_AFTER_S", -1.0)
    last_first = {"schedule": "adversarial", "seed": 1}
    launch("ret;", grid=10, batch_threads=128, progress=True, **last_first)
    assert calls == [(10, 2), 4, 4, "closed"]


def test_two_open_modes_share_the_room() -> None:
    """Each mode may reach 2**31 - 1, but the element at both limits must not lie beyond it."""
    spec = TensorSpec(torch.int8, (None, None), (1024, 1))
    assert spec.safe_sizes == ((0, 2**20), (1, 2**30))
    assert sum((most - 1) * (1024, 1)[mode] for mode, most in spec.safe_sizes) < 2**31
