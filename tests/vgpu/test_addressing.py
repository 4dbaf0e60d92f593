"""Test bounds and alignment of every memory space, the messages, and stores under any mask."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch, line_of

from forgekit.vgpu.access.addressing import compress
from forgekit.vgpu.errors import MemoryAccessError

AT = "mul.wide.u32 %rd10, %r0, {step}; add.s64 %rd11, %rd0, %rd10;"


def stopped(body: str, *arrays: np.ndarray, **how: object) -> str:
    """Run the body with two batch sizes, each of which must raise an access error; return the
    second error's message."""
    messages = []
    for batch_threads in (32, 1 << 15):
        with pytest.raises(MemoryAccessError) as caught:
            launch(body, *arrays, batch_threads=batch_threads, **how)  # type: ignore[arg-type]
        messages.append(str(caught.value))
    return messages[-1]


def load(offset: int, kind: str = "b32", step: int = 4) -> str:
    return AT.format(step=step) + f"ld.global.{kind} %r5, [%rd11{offset:+d}]; ret;"


# -- global memory ---------------------------------------------------------------------------------
def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


ST = AT.format(step=4) + "st.global.b32 [%rd11], %r0; ret;"
RED = AT.format(step=4) + "red.global.add.s32 [%rd11], 1; ret;"
VECTOR = "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd11]; st.global.b32 [%rd11], %r8; ret;"
BEYOND = "sub.s64 %rd5, %rd1, %rd0; add.s64 %rd6, %rd0, %rd5; ld.global.b32 %r5, [%rd6+16]; ret;"


@pytest.mark.parametrize(
    ("body", "arrays", "says"),
    [
        # The thread has an element, so the index is wrong, and a predicate would not help.
        (load(4), [zeros(8, 4)], [
            "thread (31, 0, 0) of block (0, 0, 0) reads x[8, 0],", "4 bytes past the tensor's end.",
            "x[7, 4] and x[0, 32] have the same address.", "x: float32 (8, 4) has 128 bytes.",
            "how it computes the indices", "!more thread", "!predicate",
        ]),
        (load(0), [zeros(20)], [  # a thread without an element
            "thread (20, 0, 0) of block (0, 0, 0) reads x[20]", "with `x.shape[0]`",
            "is 20, which is also the thread's number",
        ]),
        (load(-4), [zeros(64)], ["does not count from the end"]),
        (load(-8), [zeros(8, 4)], [
            "of block (0, 0, 0) reads x[0, -2], 8 bytes before the tensor's start.",
            "1 more thread had done the same when the kernel stopped.",
        ]),
        (ST, [zeros(16)], ["writes x[16]"]),
        (RED, [zeros(16)], ["updates x[16]"]),
        (BEYOND, [zeros(4), zeros(4)], ["reads y[4], up to 4 bytes past the tensor's end"]),
        ("ld.global.b32 %r5, [%rd0+8727373545472]; ret;", [zeros(4)], [
            "which belongs to no tensor in this launch", "Tensors: x: float32 (4,).",
        ]),
        ("mov.b64 %rd5, 0; ld.global.b32 %r5, [%rd5]; ret;", [zeros(4)], [
            "at address 0x0 (a null pointer)",
        ]),
        ("ld.global.b32 %r5, [%rd0]; ret;", [zeros(0, 4)], [
            "reads x[0, 0], up to 4 bytes past the tensor's end.",
            "x: float32 (0, 4) has 0 bytes. An empty tensor has no elements to access.",
        ]),
        ("mov.b64 %rd5, 4096; ld.global.b32 %r5, [%rd5]; ret;", [], ["Tensors: none."]),
        (load(2, "b8", 1).replace("%r5", "%rs5"), [np.zeros(33, np.uint8)], [
            "reads x[33], up to 1 byte past the tensor's end",
        ]),
        (AT.format(step=16) + VECTOR, [zeros(127)], [
            "thread (31, 0, 0)", "reads x[124] and the next 3 elements, up to 4 bytes past",
        ]),
        (AT.format(step=4) + VECTOR, [zeros(8, 32)], [
            "Misaligned access", "thread (1, 0, 0) of block (0, 0, 0) reads 16 bytes at x[0, 1]",
            "not a multiple of 16 (the remainder is 4)", "23 more threads",
        ]),
        (load(2), [zeros(64)], ["not a multiple of 4 (the remainder is 2)"]),
        ("mov.b64 %rd5, 0x4000000000000000; ld.b32 %r5, [%rd5]; ret;", [zeros(1)], [
            "which belongs to no tensor",
        ]),
    ],
)  # fmt: skip
def test_wrong_addresses(body: str, arrays: list[np.ndarray], says: list[str]):
    """says: parts that the message must contain, or, after `!`, must not contain."""
    message = stopped(body, *arrays)
    for part in says:
        assert (part.removeprefix("!") in message) != part.startswith("!"), message


def test_the_message_names_the_line():
    body = load(4)
    assert f"PTX line {line_of(body, 'ld.global')}: ld.global.b32" in stopped(body, zeros(32))


def test_the_last_and_first_element_are_in_bounds():
    launch(load(0), zeros(32))
    launch(load(1, "b8", 1).replace("%r5", "%rs5"), np.zeros(33, np.uint8))
    launch(AT.format(step=16) + VECTOR, zeros(128))


def test_an_inactive_thread_may_hold_any_address():
    body = f"""{AT.format(step=4)} setp.lt.u32 %p1, %r0, 5; @!%p1 bra END;
    ld.global.b32 %r5, [%rd11]; add.s32 %r5, %r5, 1; st.global.b32 [%rd11], %r5; END: ret;"""
    x = np.arange(5, dtype=np.int32)
    launch(body, x)
    guarded = body.replace("@!%p1 bra END;", "").replace("ld.", "@%p1 ld.")
    launch(guarded.replace("st.", "@%p1 st."), x)
    assert x.tolist() == [2, 3, 4, 5, 6]


def test_threads_of_one_access_may_reach_several_tensors():
    body = """and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %rd5, %rd0, %rd1, %p1;
    shr.u32 %r2, %r0, 1; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd5, %rd6;
    ld.global.b32 %r3, [%rd7]; add.s32 %r3, %r3, %r0; st.global.b32 [%rd7], %r3; ret;"""
    x, y = np.zeros(16, np.int32), np.full(16, 100, np.int32)
    launch(body, x, y)
    assert x.tolist() == list(range(0, 32, 2))
    assert y.tolist() == list(range(101, 133, 2))


# -- alignment -------------------------------------------------------------------------------------
@pytest.mark.parametrize("start", [1, 2, 3])
def test_a_tensor_that_starts_between_two_vectors(start):
    """The tensor's first element, at offset 0, is not aligned for a vector."""
    x = np.arange(80, dtype=np.float32)[start:]
    body = "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd0]; ret;"
    beyond = f"x[0], an address that is not a multiple of 16 (the remainder is {4 * start}"
    assert beyond in stopped(body, x)
    # Vector accesses work from the next boundary to the last whole vector.
    skip = 16 - 4 * start
    body = f"""add.s64 %rd5, %rd0, {skip}; mul.wide.u32 %rd6, %r0, 16; add.s64 %rd7, %rd5, %rd6;
    setp.gt.u32 %p1, %r0, 18; @%p1 bra END;
    ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd7];
    st.global.v4.b32 [%rd7], {{%r8, %r7, %r6, %r5}}; END: ret;"""
    want = np.arange(80, dtype=np.float32)
    want[4:] = want[4:].reshape(-1, 4)[:, ::-1].reshape(-1)
    launch(body, x)
    assert np.array_equal(x, want[start:])
    assert "past the tensor's end" in stopped(body.replace("18", "19"), x)


# -- shared memory ---------------------------------------------------------------------------------
SHARED = """.shared .align 16 .b8 buffer[64]; mov.b32 %r1, buffer; shl.b32 %r2, %r0, 2;
add.s32 %r3, %r1, %r2;"""


@pytest.mark.parametrize(
    ("access", "says"),
    [
        ("st.shared.b32 [%r3], %r0;",
         "block (0, 0, 0) writes 4 bytes at shared-memory offset 64, but a block has only 64"),
        ("ld.shared.b32 %r5, [%r3+-4];", "shared-memory offset -4, but a block has only 64 bytes"),
        ("ld.shared.v2.b32 {%r5, %r6}, [%r3];",
         "thread (1, 0, 0) of block (0, 0, 0) reads 8 bytes at shared-memory offset 4"),
        # The last bytes of a block's slice are padding, which no block may access.
        ("ld.shared.b32 %r5, [%r1+64];", "offset 64, but a block has only 64 bytes"),
    ],
)  # fmt: skip
def test_shared_memory(access, says):
    message = stopped(f"{SHARED} {access} ret;", grid=2)
    assert says in message
    assert "writes" not in says or ("thread (16, 0, 0)" in message and "more threads" in message)


def test_dynamic_shared_memory():
    head = ".extern .shared .align 16 .b8 dynamic[];"
    body = """mov.b32 %r1, dynamic; shl.b32 %r2, %r0, 2; add.s32 %r3, %r1, %r2;
    st.shared.b32 [%r3], %r0; ret;"""
    launch(body, shared=128, head=head)
    assert "a block has only 124 bytes" in stopped(body, shared=124, head=head)


# -- local memory ----------------------------------------------------------------------------------
def test_vectors_in_local_memory():
    """Each thread has its own vectors; one element of a vector is overwritten."""
    x = np.zeros((32, 4), np.int32)
    launch(
        """.local .align 16 .b8 depot[32]; mov.b64 %rd5, depot; add.u32 %r1, %r0, 100;
        st.local.v4.b32 [%rd5+16], {%r0, %r1, %r0, %r1}; st.local.b32 [%rd5+24], 7;
        ld.local.v4.b32 {%r2, %r3, %r4, %r5}, [%rd5+16]; mul.wide.u32 %rd6, %r0, 16;
        add.s64 %rd7, %rd0, %rd6; st.global.v4.b32 [%rd7], {%r2, %r3, %r4, %r5}; ret;""",
        x,
    )
    lane = np.arange(32)
    assert (x == np.stack([lane, lane + 100, np.full(32, 7), lane + 100], axis=1)).all()


LOCAL = """.local .align 8 .b8 depot[16]; mov.b64 %rd5, depot; mul.wide.u32 %rd6, %r0, 4;
add.s64 %rd7, %rd5, %rd6;"""


def test_local_memory():
    body = f"""{LOCAL} st.local.b32 [%rd5+4], %r0; ld.local.b32 %r5, [%rd5+4];
    mul.wide.u32 %rd8, %r0, 4; add.s64 %rd9, %rd0, %rd8; st.global.b32 [%rd9], %r5; ret;"""
    x = np.zeros(32, np.int32)
    launch(body, x)
    assert x.tolist() == list(range(32))
    message = stopped(LOCAL + "ld.local.b32 %r5, [%rd7]; ret;")
    assert "thread (4, 0, 0)" in message
    assert "reads 4 bytes at local-memory offset 16, but a thread has only 16 bytes." in message


# -- generic addresses -----------------------------------------------------------------------------
def test_generic_addresses_reach_every_space():
    body = """.shared .align 4 .b8 s[128]; .local .align 4 .b8 l[4];
    mov.b32 %r1, s; cvt.u64.u32 %rd5, %r1; cvta.shared.u64 %rd5, %rd5;
    mov.b64 %rd6, l; cvta.local.u64 %rd6, %rd6;
    mul.wide.u32 %rd7, %r0, 4; add.s64 %rd5, %rd5, %rd7; add.s64 %rd8, %rd0, %rd7;
    rem.u32 %r2, %r0, 3;
    setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1;
    selp.b64 %rd9, %rd6, %rd8, %p2; selp.b64 %rd9, %rd5, %rd9, %p1;
    add.s32 %r3, %r0, 100; st.b32 [%rd9], %r3; ld.b32 %r4, [%rd9];
    st.global.b32 [%rd8], %r4; ret;"""
    x = np.zeros(32, np.int32)
    launch(body, x)
    assert x.tolist() == [i + 100 for i in range(32)]


# -- masks -----------------------------------------------------------------------------------------
MASKS = {
    "all": ("setp.ge.u32 %p1, %r0, 0;", lambda b, t: True),
    "none": ("setp.lt.u32 %p1, %r0, 0;", lambda b, t: False),
    "threads": ("setp.lt.u32 %p1, %r0, 5;", lambda b, t: t < 5),
    "blocks": ("setp.eq.u32 %p1, %r1, 1;", lambda b, t: b == 1),
    "both": ("add.s32 %r3, %r0, %r1; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 0;",
             lambda b, t: (b + t) % 2 == 0),
    "one": ("setp.eq.u32 %p1, %r0, 7; setp.eq.and.u32 %p1, %r1, 2, %p1;",
            lambda b, t: (b, t) == (2, 7)),
}  # fmt: skip


@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("value", ["%r0", "%r1", "17", "%r4"])
@pytest.mark.parametrize("width", [1, 2])
def test_stores_under_every_shape_of_mask(name, value, branch, width):
    """Masks and values vary over threads, over blocks, over both, or over neither."""
    mask, keep = MASKS[name]
    one, two = f"b32 [%rd12], {value};", f"v2.b32 [%rd12], {{{value}, {value}}};"
    op = "st.global." + (one if width == 1 else two)
    store = f"@!%p1 bra END; {op} END: ret;" if branch else f"@%p1 {op} ret;"
    body = f"""mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.s32 %r4, %r1, %r2, %r0;
    mul.wide.u32 %rd11, %r4, {4 * width}; add.s64 %rd12, %rd0, %rd11; {mask} {store}"""
    for block in (32, 40):
        x = np.full((3, block, width), -1, np.int32)
        launch(body, x, grid=3, block=block)
        for b in range(3):
            for t in range(block):
                written = {"%r0": t, "%r1": b, "17": 17, "%r4": b * block + t}[value]
                assert (x[b, t] == (written if keep(b, t) else -1)).all()


def test_of_threads_at_one_address_the_last_wins():
    x = np.zeros(1, np.int32)
    body = "mov.u32 %r1, %ctaid.x; mad.lo.s32 %r2, %r1, 100, %r0; st.global.b32 [%rd0], %r2; ret;"
    launch(body, x, grid=3)
    assert x[0] == 231


def test_compress():
    full = np.arange(6).reshape(2, 3)
    row, column, one = np.arange(3)[None], np.arange(2)[:, None], np.array([[7]])
    mask = np.array([[True, False, True], [False, False, True]])
    assert [a.tolist() for a in compress(mask, full, row, column, one)] == [
        [0, 2, 5], [0, 2, 2], [0, 0, 1], [7, 7, 7],
    ]  # fmt: skip
    assert compress(None, full)[0] is full
    assert compress(np.array([[True, False, True]]), full, one)[0].tolist() == [[0, 2], [3, 5]]
    assert compress(np.array([[True], [False]]), full, row)[1].tolist() == [[0, 1, 2]]
    assert [a.size for a in compress(np.array([[False]]), full, one)] == [0, 0]
