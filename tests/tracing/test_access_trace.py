"""The trace of memory accesses: who, where, how wide, in which order, and which element it was."""

import numpy as np
import pytest

from forgekit.errors import MemoryAccessError, UsageError
from forgekit.tracing.access_trace import (
    ATOMIC,
    KINDS,
    LOAD,
    STORE,
    AccessTrace,
    element_numbers,
    element_offsets,
)
from forgekit.vgpu import LaunchRecord
from forgekit.vgpu.host import launching
from forgekit.vgpu.host.options import options as run_options
from forgekit.vgpu.memory import GlobalMemory, Region, TensorInfo
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
COPY = """
    add.s64 %rd4, %rd1, %rd3; ld.global.b32 %r5, [%rd4];
    add.s64 %rd5, %rd2, %rd3; st.global.b32 [%rd5], %r5;
"""


def traced(body, x, y, *, grid=1, block=8, limit=None, **options):
    """Run a kernel body over NumPy arrays x and y; the trace, and what stopped it."""
    memory = GlobalMemory()
    regions = []
    for name, array in (("x", x), ("y", y)):
        strides = tuple(s // array.itemsize for s in array.strides)
        info = TensorInfo(name, str(array.dtype), array.itemsize, array.shape, strides)
        start = array.ctypes.data
        size = (
            sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)) + 1
        ) * array.itemsize
        regions.append(Region(start, size, info, start, owner=array))
    memory.add_tensors(regions)
    params = b"".join(memory.translate(r.first).to_bytes(8, "little") for r in regions)
    record = LaunchRecord("k", (grid, 1, 1), (block, 1, 1), 0, params)
    trace = AccessTrace() if limit is None else AccessTrace(limit)
    error = None
    with run_options(listeners=(trace,), **options):
        try:
            launching.launch(load(PTX.format(body=body))["k"], record, memory)
        except MemoryAccessError as stopped:
            error = stopped
    return trace, error


def arrays(n=64):
    return np.arange(n, dtype=np.int32), np.zeros(n, np.int32)


def test_copy_is_recorded_access_by_access():
    x, y = arrays()
    trace, error = traced(COPY, x, y)
    assert error is None and np.array_equal(y[:8], x[:8])
    a = trace.accesses
    assert len(a) == trace.total == 16 and trace.complete
    assert [KINDS[k] for k in a.kind] == ["load"] * 8 + ["store"] * 8
    assert a.thread.tolist() == [*range(8)] * 2
    assert set(a.block.tolist()) == {0} and set(a.width.tolist()) == {4}
    assert set(a.launch.tolist()) == {0} and len(set(a.pc[:8])) == len(set(a.pc[8:])) == 1
    row, element = trace.touches("y")
    assert row.tolist() == [*range(8, 16)] and element.tolist() == [*range(8)]


@pytest.mark.parametrize("batch_threads", [1, 64, 1 << 15])
def test_blocks_count_from_the_grids_first(batch_threads):
    trace, _ = traced(COPY, *arrays(), grid=4, block=8, batch_threads=batch_threads)
    row, element = trace.touches("x")
    a = trace.accesses
    assert (a.block[row] * 8 + a.thread[row] == element).all()
    assert sorted(element.tolist()) == [*range(32)] and len(trace.launches) == 1


def test_threads_that_pad_a_warp_and_masked_ones_are_not_recorded():
    trace, _ = traced("setp.lt.u32 %p1, %r1, 5; @!%p1 bra E;" + COPY + "E:", *arrays(), block=7)
    assert trace.accesses.thread.tolist() == [*range(5)] * 2
    trace, _ = traced(COPY, *arrays(), block=7)
    assert trace.accesses.thread.tolist() == [*range(7)] * 2


def test_atomics_and_one_address_for_all():
    _, y = arrays()
    trace, _ = traced("red.global.add.u32 [%rd2], 1;", y, y, grid=2, block=32)
    assert y[0] == 64 and trace.accesses.kind.tolist() == [ATOMIC] * 64
    assert trace.accesses.block.tolist() == [0] * 32 + [1] * 32
    trace, _ = traced("ld.global.b32 %r5, [%rd1+12];", *arrays())
    assert trace.touches("x").element.tolist() == [3] * 8


def test_vectors_touch_every_element_they_cover():
    body = "mul.wide.u32 %rd4, %r1, 16; add.s64 %rd4, %rd1, %rd4;"
    trace, _ = traced(body + "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd4];", *arrays(), block=2)
    assert trace.accesses.width.tolist() == [16, 16]
    row, element = trace.touches("x")
    assert row.tolist() == [0] * 4 + [1] * 4 and element.tolist() == [*range(8)]


def test_accesses_narrower_than_an_element():
    x = np.zeros(4, np.int64)
    trace, _ = traced("add.s64 %rd4, %rd1, %rd3; ld.global.b32 %r5, [%rd4];", x, arrays()[1])
    assert trace.touches("x").element.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_mixed_widths_stay_in_order_of_time():
    body = "ld.global.b32 %r5, [%rd1]; ld.global.v2.b32 {%r5, %r6}, [%rd1+8];"
    trace, _ = traced(body + "ld.global.b32 %r5, [%rd1+4];", *arrays(), block=1)
    assert trace.touches("x").element.tolist() == [0, 2, 3, 1]


def test_generic_addresses_count_where_they_are_global():
    body = "ld.b32 %r5, [%rd1]; mov.u64 %rd4, tile; cvta.shared.u64 %rd4, %rd4; st.b32 [%rd4], %r5;"
    trace, _ = traced(body, *arrays(), block=4)
    assert trace.total == 4 and trace.accesses.kind.tolist() == [LOAD] * 4
    trace, _ = traced("st.shared.b32 [tile], 1;", *arrays())
    assert trace.total == 0 and len(trace.accesses) == 0
    assert trace.touches("x").element.tolist() == []


@pytest.mark.parametrize("limit", [0, 5, 8, 11, 16])
def test_recording_stops_at_the_limit_and_says_so(limit):
    whole, _ = traced(COPY, *arrays())
    trace, _ = traced(COPY, *arrays(), limit=limit)
    assert len(trace.accesses) == limit and trace.total == 16
    assert trace.complete == (limit == 16)
    assert np.array_equal(trace.accesses.address, whole.accesses.address[:limit])
    body = "setp.lt.u32 %p1, %r4, 5; @!%p1 bra E;" + COPY + "E:"
    trace, _ = traced(body, *arrays(), grid=3, block=7, limit=4)
    assert trace.total == 30 and len(trace.accesses) == 4


def test_reading_the_trace_while_it_grows_loses_nothing():
    trace, _ = traced(COPY, *arrays())
    kinds = trace.accesses.kind.tolist()
    trace._accesses = None  # as after one more access
    assert trace.accesses.kind.tolist() == kinds == [LOAD] * 8 + [STORE] * 8
    assert trace.touches("y").element.tolist() == [*range(8)]


@pytest.mark.parametrize("piece", [1, 3, 16, 100])
def test_touches_in_pieces_are_all_the_touches(piece, monkeypatch):
    monkeypatch.setattr("forgekit.tracing.access_trace._PIECE", piece)
    body = "ld.global.b32 %r5, [%rd1]; ld.global.v2.b32 {%r5, %r6}, [%rd1+8];"
    trace, _ = traced(body + COPY, *arrays(), block=3)
    for name in ("x", "y"):
        pieces = [*trace.touches_backwards(name)][::-1]
        whole = trace.touches(name)
        assert np.concatenate([p.row for p in pieces]).tolist() == whole.row.tolist()
        assert np.concatenate([p.element for p in pieces]).tolist() == whole.element.tolist()
    with pytest.raises(UsageError, match="one of x, y"):
        next(trace.touches_backwards("z"))


def test_what_happened_before_an_error_is_kept():
    trace, error = traced(COPY, np.arange(8, dtype=np.int32), np.zeros(4, np.int32))
    assert "y[4]" in str(error)
    assert trace.accesses.kind.tolist() == [LOAD] * 8
    trace, _ = traced(COPY, *arrays(12), grid=2, batch_threads=1)
    assert trace.accesses.kind.tolist() == [LOAD] * 8 + [STORE] * 8


def test_tensors_that_share_memory_have_the_touches_of_both():
    x = np.arange(16, dtype=np.int32)
    trace, _ = traced("add.s64 %rd4, %rd1, %rd3; ld.global.b32 %r5, [%rd4];", x, x[4:])
    assert trace.touches("x").element.tolist() == [*range(8)]
    row, element = trace.touches("y")
    assert row.tolist() == [4, 5, 6, 7] and element.tolist() == [0, 1, 2, 3]


def test_unknown_tensor():
    trace, _ = traced(COPY, *arrays())
    with pytest.raises(UsageError, match=r"tensor: got 'z', needed one of x, y"):
        trace.touches("z")
    with pytest.raises(UsageError, match="nothing was launched"):
        AccessTrace().touches("x")
    assert len(AccessTrace().accesses) == 0 and AccessTrace().complete
    trace, _ = traced(COPY, *arrays())
    assert trace.source(0) is None  # this PTX has no line information


# -- layouts ----------------------------------------------------------------------------------
def info(shape, strides):
    return TensorInfo("x", "float32", 4, shape, strides)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((12,), (1,)), ((12,), (2,)), ((3, 4), (4, 1)), ((3, 4), (1, 3)), ((3, 4), (8, 2)),
        ((2, 3), (5, 3)),  # offsets 0 3 6 5 8 11: no nesting of strides
        ((2, 3, 4), (1, 8, 2)), ((), ()), ((1, 5), (100, 1)), ((4,), (-1,)),
    ],
)  # fmt: skip
def test_elements_of_a_layout(shape, strides):
    layout = info(shape, strides)
    wanted = [sum(i * s for i, s in zip(at, strides, strict=True)) for at in np.ndindex(*shape)]
    assert element_offsets(layout).tolist() == wanted
    numbers = element_numbers(layout, np.array(wanted))
    assert numbers.tolist() == [*range(len(wanted))]
    gaps = np.array(sorted(set(range(-8, 130)) - set(wanted)))
    assert (element_numbers(layout, gaps) == -1).all()


def test_elements_that_share_memory_and_none():
    assert element_numbers(info((3, 2), (0, 1)), np.array([0, 1, 2])).tolist() == [0, 1, -1]
    assert element_numbers(info((0, 4), (4, 1)), np.array([0, 1])).tolist() == [-1, -1]
