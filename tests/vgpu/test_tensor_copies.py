"""Test tensor copies (TMA): boxes in and out of tensors, against NumPy, and their errors."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import ptx_launch
import pytest

from forgekit.tracing.touches import Touches
from forgekit.vgpu.counters.counting import Counting
from forgekit.vgpu.errors import KernelError, SanitizerError
from forgekit.vgpu.listeners import Listener
from forgekit.vgpu.memory import GLOBAL_BASE
from forgekit.vgpu.memory.swizzles import swizzled
from forgekit.vgpu.memory.tensor_maps import decode, encode

KINDS = {"u1": "u8", "u2": "u16", "f2": "f16", "i4": "s32", "f4": "f32", "f8": "f64", "u8": "u64"}

# x: two tensor maps; %r1: the tile; %r2: an mbarrier for one arrival and {bytes}.
HEAD = """.shared .align 1024 .b8 s[16384]; .shared .align 8 .b8 bar[16];
mov.b32 %r1, s; mov.b32 %r2, bar; setp.eq.u32 %p1, %r0, 0; add.s64 %rd5, %rd0, 128;
{coordinates} @%p1 mbarrier.init.shared.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], {bytes};
"""
LOAD = """@%p1 cp.async.bulk.tensor.{n}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
[%r1], [%rd0, {{{at}}}], [%r2];
W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W;
"""
EACH = """mov.b32 %r10, %r0; L: setp.ge.u32 %p3, %r10, {pieces}; @%p3 bra E;
shl.b32 %r12, %r10, 4; add.s32 %r11, %r1, %r12; cvt.u64.u32 %rd9, %r12; add.s64 %rd8, %rd1, %rd9;
"""
NEXT = "add.s32 %r10, %r10, 32; bra L; E: "
OUT = f"""{EACH} ld.shared.v4.b32 {{{{%r20, %r21, %r22, %r23}}}}, [%r11];
st.global.v4.b32 [%rd8], {{{{%r20, %r21, %r22, %r23}}}}; {NEXT} ret;
"""
FILL = f"""{EACH} ld.global.v4.b32 {{{{%r20, %r21, %r22, %r23}}}}, [%rd8];
st.shared.v4.b32 [%r11], {{{{%r20, %r21, %r22, %r23}}}}; {NEXT}
fence.proxy.async.shared::cta; bar.sync 0;
"""
STORE = """@%p1 cp{reduce}.async.bulk.tensor.{n}d.global.shared::cta.{op}tile.bulk_group
[%rd0, {{{at}}}], [%r1]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
"""


def tensor_map(tensor: np.ndarray, box, *, steps=None, number: int = 1, **kinds) -> np.ndarray:
    """Return the map of the launch's argument `number`, 64-byte aligned like all its arrays."""
    sizes, strides = tensor.shape[::-1], tensor.strides[::-1][1:]
    dtype = kinds.pop("dtype", KINDS[tensor.dtype.str[1:]])
    raw = encode(dtype, tensor.ctypes.data, sizes, strides, box, steps or [1] * len(sizes), **kinds)
    return np.frombuffer(raw, np.uint8).copy()


def text(form: str, at, size: int, reduce: str = "", tile: int = 0) -> str:
    """Return a kernel that copies the box of `size` bytes at the coordinates `at`; tile: the box's
    bytes in shared memory, if different."""
    names = [f"%r{30 + i}" for i in range(len(at))]
    return (HEAD + form).format(
        n=len(at), at=", ".join(names), bytes=size, pieces=-(-max(size, tile) // 16),
        coordinates=" ".join(f"mov.b32 {r}, {c};" for r, c in zip(names, at, strict=True)),
        reduce=".reduce" if reduce else "", op=f"{reduce}." if reduce else "",
    )  # fmt: skip


def random(shape, dtype: str) -> np.ndarray:
    """Return a tensor whose row stride is a multiple of 16 bytes, as a tensor map requires."""
    step = 16 // np.dtype(dtype).itemsize
    wide = (*shape[:-1], -(-shape[-1] // step) * step)
    bits = np.random.default_rng(0).integers(1, 100, wide).astype(dtype)
    return bits[..., : shape[-1]]


def boxed(tensor: np.ndarray, box, at, steps) -> tuple[np.ndarray, np.ndarray]:
    """Return a box's elements, and a mask that is True for elements inside the tensor."""
    counts = [-(-b // s) for b, s in zip(box, steps, strict=True)]
    values, inside = np.zeros(counts[::-1], tensor.dtype), np.zeros(counts[::-1], bool)
    for index in itertools.product(*map(range, counts)):
        place = [c + k * s for c, k, s in zip(at, index, steps, strict=True)][::-1]
        if all(0 <= p < n for p, n in zip(place, tensor.shape, strict=True)):
            inside[index[::-1]] = True
            values[index[::-1]] = tensor[tuple(place)]
    return values, inside


launch = ptx_launch.launch


@pytest.fixture(name="launch", params=["virtual", pytest.param("gpu", marks=pytest.mark.gpu)])
def on_both(request):
    """Launch on the virtual GPU and, on a machine with a GPU, on that GPU as well."""
    if request.param == "virtual":
        return ptx_launch.launch
    import gpu_launch

    return gpu_launch.launch


CASES = [  # the tensor's shape, box and coordinates (mode 0 first), dtype, swizzle
    ((100,), (64,), (40,), "f4", 0),
    ((100,), (64,), (-8,), "f2", 0),
    ((40, 72), (32, 16), (0, 0), "f2", 0),
    ((40, 72), (64, 8), (32, 36), "f2", 128),  # beyond two edges
    ((13, 37), (16, 13), (-4, -2), "f4", 64),
    ((13, 37), (16, 13), (28, 9), "f4", 64),
    ((13, 37), (32, 5), (16, 11), "u1", 32),
    ((40, 64), (16, 24), (48, 20), "f8", 128),
    ((5, 9, 24), (16, 4, 3), (8, 7, -1), "i4", 64),
    ((3, 4, 5, 16), (8, 2, 3, 2), (8, -1, 2, 2), "f2", 0),
    ((3, 4, 5, 16), (8, 2, 3, 2), (16, 3, 2, 2), "f2", 0),
    ((2, 3, 3, 4, 16), (16, 2, 2, 2, 2), (0, 3, 1, -1, 1), "f2", 32),
    ((2, 3, 3, 4, 16), (16, 2, 2, 2, 2), (0, 3, 1, 2, 1), "f2", 32),
    ((9, 16), (16, 4), (0, 100), "f4", 0),  # completely outside
    ((16, 16), (16, 16), (0, 0), "f2", 128),  # rows narrower than the swizzle's span
    ((16, 16), (8, 16), (8, 0), "f4", 64),
]


@pytest.mark.parametrize(("shape", "box", "at", "dtype", "swizzle"), CASES)
def test_loads_and_stores(shape, box, at, dtype, swizzle, launch):
    x = random(shape, dtype)
    raw, size = tensor_map(x, box, swizzle=swizzle), int(np.prod(box)) * x.itemsize
    values, inside = boxed(x, box, at, [1] * len(box))
    row = box[0] * x.itemsize
    pitch = max(row, swizzle)  # each row has a separate span
    moved = np.arange(size)
    order = swizzled(moved // row * pitch + moved % row, swizzle)  # position of each byte
    tile = np.zeros(-(-size // row * pitch // 128) * 128, np.uint8)
    launch(text(LOAD + OUT, at, size, tile=tile.size), raw, tile, x)
    assert (tile[order] == np.ascontiguousarray(values).reshape(-1).view(np.uint8)).all()
    if min(at) < 0:
        return  # no store may begin there

    y = np.full_like(x.base, 7)[..., : shape[-1]]
    want, new = y.copy(), random(values.shape, dtype)[...] + np.array(1, dtype)
    tile[order] = np.ascontiguousarray(new).reshape(-1).view(np.uint8)
    for index in np.argwhere(inside):
        place = [c + k for c, k in zip(at[::-1], index, strict=True)]
        want[tuple(place)] = new[tuple(index)]
    body = text(FILL + STORE, at, size, tile=tile.size)
    launch(body, tensor_map(y, box, swizzle=swizzle), tile, y.base)
    assert (y == want).all()


@pytest.mark.parametrize(
    ("at", "reduce", "each"), [(32, "", 8), (32, "add", 8), (16, "", 16), (0, "add", 16)]
)
def test_a_store_writes_whole_pieces(at, reduce, each, launch):
    """With 37 elements per row, the box at 32 has 5; the store writes 8, including 3 of padding."""
    y, new = np.zeros((2, 48), np.float32), np.ones((2, 16), np.float32)
    raw = tensor_map(y[:, :37], (16, 2))
    launch(text(FILL + STORE, (at, 0), new.nbytes, reduce), raw, new, y)
    assert (y.sum(axis=1) == each).all()


def test_a_piece_beyond_the_memory_is_found():
    y, new = np.zeros(37, np.float32), np.ones(16, np.float32)
    with pytest.raises(
        KernelError, match=r"(?s)12 bytes past the tensor's end.*whole 16-byte pieces"
    ):
        launch(text(FILL + STORE, (32,), new.nbytes), tensor_map(y, (16,)), new, y)


def test_steps_leave_elements_out(launch):
    x, box, steps, at = random((20, 30, 16), "f2"), (16, 8, 9), (1, 2, 3), (0, 1, -2)
    values, _ = boxed(x, box, at, steps)
    tile = np.zeros(values.size, np.float16)
    launch(text(LOAD + OUT, at, tile.nbytes), tensor_map(x, box, steps=steps), tile, x)
    assert (tile.reshape(values.shape) == values).all()


def test_nan_outside(launch):
    x, tile = random((4, 16), "f4"), np.zeros(64, np.float32)
    launch(text(LOAD + OUT, (8, 2), 256), tensor_map(x, (16, 4), nan_fill=True), tile, x)
    values, inside = boxed(x, (16, 4), (8, 2), (1, 1))
    got = tile.reshape(4, 16)
    assert (got[inside] == values[inside]).all() and np.isnan(got[~inside]).all()


@pytest.mark.parametrize(
    ("name", "dtype", "kind", "run"),
    [
        ("add", "f4", "f32", np.add), ("add", "f2", "f16", np.add), ("add", "i4", "s32", np.add),
        ("min", "i4", "s32", np.minimum), ("max", "f2", "f16", np.maximum),
        ("and", "i4", "u32", np.bitwise_and), ("or", "u8", "u64", np.bitwise_or),
        ("xor", "i4", "s32", np.bitwise_xor),
        ("inc", "i4", "u32", lambda old, x: np.where(old >= x, 0, old + 1)),
    ],
)  # fmt: skip
def test_reductions(name, dtype, kind, run, launch):
    """Blocks use the same box; memory outside the tensor is unchanged."""
    x, new = random((5, 16), dtype), random((4, 16), dtype)[::-1].copy()
    want = x.copy()
    want[3:] = run(want[3:], new[:2])
    raw = tensor_map(x, (16, 4), dtype=kind)
    launch(text(FILL + STORE, (0, 3), new.nbytes, name), raw, new, x)
    assert (x == want).all()


def test_sums_of_bf16(launch):
    x = np.full((4, 8), 0x3F80, np.uint16)  # 1.0
    new = np.full((4, 8), 0x4040, np.uint16)  # 3.0
    raw = tensor_map(x, (8, 4), dtype="bf16")
    launch(text(FILL + STORE, (0, 0), new.nbytes, "add"), raw, new, x)
    assert (x == 0x4080).all()


def test_each_thread_of_a_warp_reduces(launch):
    """Without an elected thread, all 32 threads perform the reduction."""
    x, new = np.zeros((4, 8), np.float32), np.ones((4, 8), np.float32)
    reduce = STORE.replace("@%p1", "")
    launch(text(FILL + reduce, (0, 0), new.nbytes, "add"), tensor_map(x, (8, 4)), new, x)
    assert (x == 32).all()
    apart = "add.s32 %r31, %r31, %r0; "  # a different row per lane
    x[:] = 0
    launch(text(FILL + apart + reduce, (0, 0), new.nbytes, "add"), tensor_map(x, (8, 4)), new, x)
    assert (x.T == [1, 2, 3, 4]).all()


class Started(Listener):
    """The threads whose copies have started."""

    def on_async_start(self, m, operation):
        self.threads = operation.who.tolist()


def test_a_warp_that_stores_the_same_stores_once():
    x, new, started = np.zeros((4, 8), np.float32), np.ones((4, 8), np.float32), Started()
    body = text(FILL + STORE.replace("@%p1", ""), (0, 0), new.nbytes)
    launch(body, tensor_map(x, (8, 4)), new, x, listeners=(started,))
    assert (x == 1).all() and started.threads == [0]


@pytest.mark.parametrize("apart", [False, True])
def test_warps_that_store_the_same_do_not_race(apart):
    """In common code, several elected threads store the same bytes; storing different bytes is a
    finding."""
    x, new = np.zeros((8, 16), np.float32), np.arange(256, dtype=np.float32)
    each = "and.b32 %r50, %r0, 31; setp.eq.u32 %p1, %r50, 0; "
    if apart:
        each += "shr.u32 %r51, %r0, 5; shl.b32 %r51, %r51, 9; add.s32 %r1, %r1, %r51; "
    body = text(FILL.replace("{pieces}", "64") + each + STORE, (0, 0), 512)
    with pytest.raises(SanitizerError) if apart else contextlib.nullcontext():
        ptx_launch.launch(body, tensor_map(x, (16, 8)), new, x, block=64, sanitize=True)
    assert apart or (x.reshape(-1) == new[:128]).all()


def test_to_several_blocks_of_the_cluster(launch):
    """Block 1 of each pair loads its tile into both blocks."""
    x, tile = random((8, 16), "f4"), np.zeros((2, 128), np.float32)
    load = LOAD.replace("@%p1", "@%p4", 1).replace("[%r2];", "[%r2], %rs1;", 1)
    load = load.replace("::bytes\n", "::bytes.multicast::cluster\n")
    rank = """mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p3, %r5, 1; and.pred %p4, %p1, %p3;
    mov.b16 %rs1, 3; mul.wide.u32 %rd7, %r5, 512; add.s64 %rd1, %rd1, %rd7;
    barrier.cluster.arrive; barrier.cluster.wait; """
    out = OUT.replace("ret;", "barrier.cluster.arrive; barrier.cluster.wait; ret;")
    body = text(rank + load + out, (0, 0), 512)
    for seed in range(3):
        tile[:] = 0
        launch(body, tensor_map(x, (16, 8)), tile, x, grid=2, cluster=2,
               schedule="adversarial", seed=seed)  # fmt: skip
        assert (tile.reshape(2, 8, 16) == x).all()


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "box", "at", "dtype", "swizzle"), CASES)
def test_the_driver_s_maps(shape, box, at, dtype, swizzle):
    if len(shape) == 1:
        pytest.skip("the driver's binding rejects an empty list of strides")
    import gpu_launch

    x = random(shape, dtype)
    made = gpu_launch.driver_map(x, box, KINDS[x.dtype.str[1:]], swizzle)
    mine = tensor_map(x, box, swizzle=swizzle).tobytes()
    assert decode(made) == decode(mine)
    assert made[4:8] == mine[4:8] and made[12:64] == mine[12:64]


# -- the map's bits --------------------------------------------------------------------------------
def test_what_cute_dsl_writes():
    """The words are those that the DSL's host code computes for float16 (100, 152) and a 64 by 64
    tile with a 128-byte swizzle."""
    words = np.array(
        [0x7F0000001230, 0x1300046312, 0, 0, 0x6300000097, 0, 0x3F << 56, 0x3F] + [0] * 8
    )
    found = decode(words.astype(np.uint64).tobytes())
    assert found.address == 0x7F0000001230 and (found.dtype, found.swizzle) == ("f16", 128)
    assert (found.sizes, found.strides, found.box) == ((152, 100), (2, 304), (64, 64))


@pytest.mark.parametrize(
    ("bits", "says"),
    [
        ((8, 0xF, 1), "other than a tiled tensor"), ((8, 0xF, 6), "other than a tiled tensor"),
        ((8, 0x780, 0x600), "converted or unpacked"), ((8, 1 << 16, 1 << 16), "converted"),
        ((8, 0x1800, 0x800), "interleaved"), ((8, 0x180000, 0x80000), "units other than 16"),
        ((0, 0xF, 8), "not a multiple of 16"), ((52, 0xFF000000, 2 << 24), "boxes of 12 bytes"),
        ((8, 0x6000, 0x2000), "more than the 32 bytes of its swizzle"),
    ],
)  # fmt: skip
def test_maps_that_no_copy_can_work_with(bits, says):
    x = np.zeros((8, 16), np.float32)
    raw = tensor_map(x, (16, 8))
    at, mask, value = bits
    word = raw[at : at + 4].view(np.uint32)
    word[:] = word & np.uint32(~mask & 0xFFFFFFFF) | np.uint32(value)
    with pytest.raises(KernelError, match=says) as caught:
        launch(text(LOAD + "ret;", (0, 0), 512), raw, x)
    assert caught.value.kind == "tensor-map"


# -- maps that kernels change, and read ------------------------------------------------------------
REPLACED = (
    ("global_address", "b64", "%rd2"), ("rank", "b32", "2"), ("box_dim", "b32", "0, %r40"),
    ("box_dim", "b32", "1, 4"), ("box_dim", "b32", "2, 2"), ("global_dim", "b32", "0, %r40"),
    ("global_dim", "b32", "1, 6"), ("global_dim", "b32", "2, 3"),
    ("global_stride", "b64", "0, %rd20"), ("global_stride", "b64", "1, 384"),
    ("element_stride", "b32", "1, 1"), ("element_stride", "b32", "2, 2"), ("elemtype", "b32", "1"),
    ("swizzle_mode", "b32", "1"), ("fill_mode", "b32", "0"), ("interleave_layout", "b32", "0"),
)  # fmt: skip


@pytest.mark.parametrize("space", ["global", "shared::cta"])
def test_kernels_change_maps(space, launch):
    """Change every field, until the map equals that of another tensor, encoded directly."""
    x, other = random((4, 8), "f4"), np.zeros((3, 6, 32), np.uint16)
    raw = tensor_map(x, (8, 4), swizzle=64, nan_fill=True)
    want = tensor_map(other[..., :16], (16, 4, 2), steps=(1, 1, 2), swizzle=32)
    at = "%rd0" if space == "global" else "%r1"
    body = [".shared .align 128 .b8 s[128]; mov.b32 %r1, s; mov.b32 %r40, 16; mov.b64 %rd20, 64;"]
    for k in range(0, 128, 16):
        four = "{%r20, %r21, %r22, %r23}"
        body += [f"ld.global.v4.b32 {four}, [%rd0+{k}]; st.shared.v4.b32 [%r1+{k}], {four};"]
    for field, kind, value in REPLACED:
        body += [f"tensormap.replace.tile.{field}.{space}.b1024.{kind} [{at}], {value};"]
    if space != "global":
        body += ["tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
                 ".sync.aligned [%rd0], [%r1], 128;"]  # fmt: skip
    body += ["fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128; ret;"]
    launch("\n".join(body), raw, x, other)
    assert (raw[8:] == want[8:]).all() and raw[:8].any()


def test_parameters_are_read_through_addresses():
    """The test uses addresses in the parameter space, and generic addresses."""
    body = """mov.b64 %rd5, p0; ld.param.v2.b64 {%rd6, %rd7}, [%rd5]; cvta.param.u64 %rd8, %rd5;
    ld.b64 %rd9, [%rd8+8]; sub.s64 %rd6, %rd6, %rd0; sub.s64 %rd7, %rd7, %rd1;
    sub.s64 %rd9, %rd9, %rd1; or.b64 %rd6, %rd6, %rd7; or.b64 %rd6, %rd6, %rd9;
    st.global.b64 [%rd0], %rd6; ret;"""
    x, y = np.ones(1, np.uint64), np.zeros(1, np.uint64)
    ptx_launch.launch(body, x, y)
    assert x[0] == 0
    with pytest.raises(KernelError, match="writes 8 bytes at address 0x3"):
        write = "mov.b64 %rd5, p0; cvta.param.u64 %rd8, %rd5; st.b64 [%rd8], %rd0; ret;"
        ptx_launch.launch(write, x, y)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sizes": (0, 4)}, r"sizes \(0, 4\)"), ({"box": (8, 257)}, "box edges"),
        ({"steps": (1, 9)}, "element strides"), ({"strides": (40,)}, "multiples of 16"),
        ({"strides": (1 << 40,)}, "strides in bytes"), ({"address": 8}, "not a multiple of 16"),
        ({"dtype": "s32", "nan_fill": True}, "fills s32 elements with NaN"),
        ({"box": (2, 4)}, "boxes of 8 bytes"), ({"swizzle": 32, "box": (16, 4)}, "more than the"),
    ],
)  # fmt: skip
def test_what_the_driver_would_not_take(change, says):
    good = {"dtype": "f32", "address": 4096, "sizes": (8, 4), "strides": (32,), "box": (8, 4),
            "steps": (1, 1)}  # fmt: skip
    encode(**good)
    with pytest.raises(ValueError, match=says):
        encode(**{**good, **change})


# -- mistakes --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (("[%r1]", "[%r1+64]"), "misaligned", "shared-memory offset 64.*\n.*byte_alignment=128"),
        (("[%r1]", "[%r1+16256]"), "out-of-bounds", "512 bytes at shared-memory offset 16,256"),
        (("[%rd0,", "[%rd5,"), "tensor-map", "the address .*, which cannot hold a tensor map"),
        (("[%rd0,", "[%rd0+16,"), "tensor-map", "the address .*, which cannot hold a tensor map"),
        (("[%r2];", "[%r2+8];"), "mbarrier", "has not initialised"),
    ],
)  # fmt: skip
def test_mistakes(change, kind, says):
    x = random((8, 16), "f4")
    body = text(LOAD.replace(*change, 1) + "ret;", (0, 0), 512)
    with pytest.raises(KernelError, match=r"(?s)" + says) as caught:
        launch(body, tensor_map(x, (16, 8)), x)
    assert caught.value.kind == kind


MISPLACED = [
    (LOAD, "", (1, 0), "4 bytes into the contiguous mode"),
    (LOAD, "", (-3, 0), "-12 bytes into the contiguous mode"),
    (STORE, "", (2, 0), "8 bytes into the contiguous mode"),
    (STORE, "", (0, -1), "begins before the tensor"),
    (STORE, "add", (-4, 0), "begins before the tensor"),
]


@pytest.mark.parametrize(("form", "reduce", "at", "says"), MISPLACED)
def test_boxes_that_begin_where_none_may(form, reduce, at, says):
    x = random((8, 16), "f4")
    with pytest.raises(KernelError, match=says):
        launch(text(form + "ret;", at, 512, reduce), tensor_map(x, (16, 8)), x)


@pytest.mark.gpu
@pytest.mark.parametrize(("form", "reduce", "at", "says"), MISPLACED)
def test_a_gpu_stops_at_them(form, reduce, at, says):
    """The test runs in a separate process, because a GPU error destroys the context."""
    code = (
        "import gpu_launch, test_tensor_copies as t; x = t.random((8, 16), 'f4'); "
        f"gpu_launch.launch(t.text({form!r} + 'ret;', {at}, 512, {reduce!r}), "
        "t.tensor_map(x, (16, 8)), x)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert done.returncode and "illegal instruction" in done.stderr, done.stderr


def test_a_copy_of_other_modes_than_its_map():
    x = random((8, 16), "f4")
    with pytest.raises(KernelError, match="a tensor map of rank 2, but the copy has rank 1"):
        launch(text(LOAD + "ret;", (0,), 512), tensor_map(x, (16, 8)), x)


def test_a_map_of_a_tensor_that_is_no_argument():
    """As for tables of pointers, the virtual GPU finds a tensor by its address while the tensor
    exists."""
    x, other, tile = np.zeros(4), random((8, 16), "f4"), np.zeros((8, 16), np.float32)
    ptx_launch.launch(text(LOAD + OUT, (0, 0), 512), tensor_map(other, (16, 8)), tile, x)
    assert (tile == other).all()
    gone = np.frombuffer(encode("f32", 4096, (16, 8), (64,), (16, 8), (1, 1)), np.uint8).copy()
    with pytest.raises(KernelError, match="belongs to no tensor in this launch") as caught:
        ptx_launch.launch(text(LOAD + "ret;", (0, 0), 512), gone, x)
    assert caught.value.kind == "tensor-map"


def test_a_map_larger_than_its_tensor():
    x = random((8, 16), "f4")
    raw = tensor_map(np.lib.stride_tricks.as_strided(x, (12, 16), x.strides), (16, 8))
    launch(text(LOAD + "ret;", (0, 0), 512), raw, np.zeros(4), x)  # also inside the tensor
    with pytest.raises(
        KernelError, match=r"the box \(16, 8\) at \(0, 4\), 256 bytes past the tensor's end"
    ):
        launch(text(LOAD + "ret;", (0, 4), 512), raw, np.zeros(4), x)


@pytest.mark.parametrize("expected", [256, 1024])
def test_a_wrong_number_of_bytes_is_said(expected):
    x = random((8, 16), "f4")
    body = text(LOAD + "ret;", (0, 0), expected)
    says = f"{'256 bytes have arrived unexpectedly' if expected < 512 else 'and 512 bytes'} "
    with pytest.raises(KernelError, match=says + rf"\({expected:,} expected, 512 arrived\)"):
        launch(body, tensor_map(x, (16, 8)), x)


# -- listeners -------------------------------------------------------------------------------------
def test_bytes_are_counted_and_traced():
    """Of 8 by 16 elements, 4 by 8 are inside the tensor: 32 bytes in each of 4 rows."""
    x, tile = random((8, 16), "f4"), np.zeros((8, 16), np.float32)
    counts, trace = Counting(), Touches()
    body = text(LOAD + "ret;", (8, 4), 512)
    launch(body, tensor_map(x, (16, 8)), tile, x, listeners=(counts, trace))
    read = {t.name: t.read_bytes for t in counts.launches[0].tensors}
    assert (read["z"], read["y"]) == (128, 0)
    loads = trace.tensors["z"].column("loads")
    inside = x.size - 1 - np.arange(64).reshape(4, 16)[:, :8]
    assert np.flatnonzero(loads).tolist() == sorted(inside.reshape(-1).tolist())


def test_addresses_are_far_from_real_ones():
    """A map written by the host holds a real address, and a map written by a kernel holds a virtual
    address."""
    assert not GLOBAL_BASE <= np.zeros(1).ctypes.data < 1 << 40
