"""Test the recorded threads per element, for each memory space, access width and order."""

import numpy as np
import pytest

from forgekit.errors import MemoryAccessError
from forgekit.tracing.touches import Touches
from forgekit.vgpu.host import launching
from forgekit.vgpu.host.options import options as run_options
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.memory import GlobalMemory, Region, TensorInfo, byte_range
from forgekit.vgpu.program import load

# In every kernel: r1 = block * threads + thread; rd1, rd2 = x, y; rd3 = 4 * r1.
PTX = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .b64 p0, .param .b64 p1)
{{
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    .shared .align 4 .b8 tile[64];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.s32 %r1, %r2, %r3, %r4;
    ld.param.b64 %rd1, [p0]; ld.param.b64 %rd2, [p1]; mul.wide.u32 %rd3, %r1, 4;
    {body}
    ret;
}}
"""
LOAD = "add.s64 %rd4, %rd1, %rd3; ld.global.b32 %r5, [%rd4];"
COPY = LOAD + "add.s64 %rd5, %rd2, %rd3; st.global.b32 [%rd5], %r5;"


def traced(body, x, y=None, *, grid=1, block=8, **options):
    """Run a kernel body on NumPy arrays x and y; return the touches, and the error that stopped the
    kernel."""
    memory, regions = GlobalMemory(), []
    for name, array in (("x", x), ("y", np.zeros(64, np.int32) if y is None else y)):
        strides = tuple(s // array.itemsize for s in array.strides)
        info = TensorInfo(name, str(array.dtype), array.itemsize, array.shape, strides)
        low, size = byte_range(array.shape, strides, array.itemsize)
        first = array.ctypes.data
        regions.append(Region(first + low, size, info, first, owner=array))
    memory.add_tensors(regions)
    params = b"".join(memory.translate(r.start).to_bytes(8, "little") for r in regions)
    record = LaunchRecord("k", (grid, 1, 1), (block, 1, 1), 0, params)
    touches, error = Touches(), None
    with run_options(listeners=(touches,), **options):
        try:
            launching.launch(load(PTX.format(body=body))["k"], record, memory)
        except MemoryAccessError as stopped:
            error = stopped
    return touches, error


def columns(touches, name, *names):
    return [touches.tensors[name].column(n).reshape(-1).tolist() for n in names]


def numbers(n=64):
    return np.arange(n, dtype=np.int32)


@pytest.mark.parametrize("batch_threads", [1, 64, 1 << 15])
def test_a_copy(batch_threads):
    y = np.zeros(64, np.int32)
    touches, error = traced(COPY, numbers(), y, grid=4, block=8, batch_threads=batch_threads)
    assert error is None and np.array_equal(y[:32], np.arange(32))
    once, nobody = [1] * 32 + [0] * 32, [-1] * 32
    block, thread = ([*map(int, n), *nobody] for n in np.divmod(np.arange(32), 8))
    for name, done, other in (("x", "loads", "stores"), ("y", "stores", "loads")):
        assert columns(touches, name, "block", "thread", done) == [block, thread, once]
        assert columns(touches, name, other, "atomics") == [[0] * 64] * 2
        assert touches.tensors[name].threads == 32
    assert len(touches.launches) == 1


def test_threads_that_pad_a_warp_and_masked_ones_touch_nothing():
    for body, block, count in (
        (COPY, 7, 7),
        ("setp.lt.u32 %p1, %r1, 5; @!%p1 bra E;" + COPY + "E:", 7, 5),
    ):
        touches, _ = traced(body, numbers(), block=block)
        assert columns(touches, "x", "loads") == [[1] * count + [0] * (64 - count)]
        assert touches.tensors["y"].threads == count


def test_the_first_thread_at_one_address():
    touches, _ = traced("red.global.add.u32 [%rd1], 1;", numbers(2), grid=2, block=32)
    assert columns(touches, "x", "atomics", "block", "thread") == [[64, 0], [0, -1], [0, -1]]
    assert touches.tensors["x"].threads == 64
    late = "setp.lt.u32 %p1, %r1, 3; @%p1 bra E; ld.global.b32 %r5, [%rd1+4]; E:"
    touches, _ = traced(late + "ld.global.b32 %r5, [%rd1+4];", numbers(2))
    assert columns(touches, "x", "loads", "thread") == [[0, 13], [-1, 3]]


def test_vectors_touch_every_element_they_cover():
    body = "mul.wide.u32 %rd4, %r1, 16; add.s64 %rd4, %rd1, %rd4;"
    body += "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd4];"
    touches, _ = traced(body, numbers(12), block=2)
    assert columns(touches, "x", "loads", "thread") == [
        [1] * 8 + [0] * 4, [0] * 4 + [1] * 4 + [-1] * 4,
    ]  # fmt: skip


def test_accesses_narrower_than_an_element():
    touches, _ = traced(LOAD, np.zeros(4, np.int64))
    assert columns(touches, "x", "loads", "thread") == [[2] * 4, [0, 2, 4, 6]]


def test_generic_addresses_count_where_they_are_global():
    body = "ld.b32 %r5, [%rd1]; mov.u64 %rd4, tile; cvta.shared.u64 %rd4, %rd4; st.b32 [%rd4], %r5;"
    touches, _ = traced(body, numbers(2), block=4)
    assert columns(touches, "x", "loads") == [[4, 0]] and list(touches.tensors) == ["x"]
    assert traced("st.shared.b32 [tile], 1;", numbers())[0].tensors == {}


def test_what_happened_before_an_error_is_kept():
    touches, error = traced(COPY, numbers(8), np.zeros(4, np.int32))
    assert "y[4]" in str(error) and list(touches.tensors) == ["x"]
    assert touches.sources == {None}  # this PTX has no line information


def test_tensors_that_share_memory_have_the_touches_of_both():
    x = np.arange(16, dtype=np.int32)
    touches, _ = traced(LOAD, x, x[4:])
    assert columns(touches, "x", "loads") == [[1] * 8 + [0] * 8]
    assert columns(touches, "y", "loads", "thread") == [
        [1] * 4 + [0] * 8, [4, 5, 6, 7] + [-1] * 8,
    ]  # fmt: skip
    assert touches.tensors["y"].threads == 4


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((12,), (1,)), ((12,), (2,)), ((3, 4), (4, 1)), ((3, 4), (1, 3)), ((3, 4), (8, 2)),
        ((2, 3), (5, 3)),  # offsets 0 3 6 5 8 11: the ranges of the rows overlap
        ((2, 3, 4), (1, 8, 2)), ((), ()), ((1, 5), (100, 1)), ((4,), (-1,)),
        ((3, 2), (0, 1)), ((4,), (0,)),  # elements that share memory
    ],
)  # fmt: skip
def test_elements_of_a_layout(shape, strides):
    """Thread i loads word i of the tensor's memory; some words are gaps between its elements."""
    memory = np.zeros(128, np.int32)
    low, size = (n // 4 for n in byte_range(shape, strides, 4))
    inner = tuple(4 * s for s in strides)
    x = np.lib.stride_tricks.as_strided(memory[16 - low :], shape, inner)
    touches, _ = traced(LOAD, x, block=size)
    offsets = [sum(i * s for i, s in zip(at, strides, strict=True)) for at in np.ndindex(*shape)]
    assert columns(touches, "x", "thread", "loads") == [
        [o - low for o in offsets], [1] * len(offsets),
    ]  # fmt: skip
    assert touches.tensors["x"].threads == len(set(offsets))
