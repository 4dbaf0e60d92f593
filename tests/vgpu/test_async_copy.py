"""Test `cp.async`: groups, sizes, zero-fill, and copies that arrive as late as the rules allow."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch, line_of

from forgekit.vgpu.errors import MemoryAccessError

HEAD = """.shared .align 16 .b8 s[2048]; mov.b32 %r1, s; shl.b32 %r2, %r0, 4; add.s32 %r3, %r1, %r2;
mul.wide.u32 %rd2, %r0, 16; add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2; """
BACK = (
    " ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r3]; st.global.v4.b32 [%rd4], {%r5, %r6, %r7, %r8}; "
)
FRESH = 0xFFFFFFFF  # unwritten memory


def arrays(threads: int = 32) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, 4 * threads + 1, dtype=np.uint32), np.zeros(4 * threads, np.uint32)


def run(text: str, threads: int = 32) -> np.ndarray:
    x, y = arrays(threads)
    launch(HEAD + text + BACK + "ret;", x, y, block=threads)
    return y.reshape(-1, 4)


def source(threads: int = 32) -> np.ndarray:
    return arrays(threads)[0].reshape(-1, 4)


@pytest.mark.parametrize(
    "form",
    [
        "cp.async.cg.shared.global",
        "cp.async.ca.shared.global",
        "cp.async.cg.shared.global.L2::128B",
    ],
)
def test_a_copy_arrives_with_its_group(form):
    copy = f"{form} [%r3], [%rd3], 16; "
    assert (run(copy + "cp.async.commit_group; cp.async.wait_group 0;") == source()).all()
    assert (run(copy + "cp.async.wait_all;") == source()).all()


@pytest.mark.parametrize("size", [4, 8, 16])
def test_sizes(size):
    y = run(f"cp.async.ca.shared.global [%r3], [%rd3], {size}; cp.async.wait_all;")
    assert (y[:, : size // 4] == source()[:, : size // 4]).all()
    assert (y[:, size // 4 :] == FRESH).all()


@pytest.mark.parametrize(
    "end",
    [
        "",
        "cp.async.commit_group;",
        "cp.async.wait_group 0;",
        "cp.async.commit_group; cp.async.wait_group 1;",
    ],
)
def test_a_copy_is_not_there_before(end):
    """The copy is not committed or not awaited, or the wait covers only an older group."""
    assert (run("cp.async.cg.shared.global [%r3], [%rd3], 16; " + end) == FRESH).all()


@pytest.mark.parametrize("pending", [0, 1, 2, 3])
def test_groups_complete_in_order(pending):
    """There are three groups of 4 bytes each; the kernel waits for all but `pending`."""
    text = "".join(
        f"cp.async.ca.shared.global [%r3+{4 * k}], [%rd3+{4 * k}], 4; cp.async.commit_group; "
        for k in range(3)
    )
    y = run(text + f"cp.async.wait_group {pending};")
    done = 3 - pending
    assert (y[:, :done] == source()[:, :done]).all()
    assert (y[:, done:] == FRESH).all()


def test_empty_groups_count():
    text = "cp.async.cg.shared.global [%r3], [%rd3], 16; " + "cp.async.commit_group; " * 2
    assert (run(text + "cp.async.wait_group 1;") == source()).all()
    assert (run(text + "cp.async.wait_group 2;") == FRESH).all()


@pytest.mark.parametrize("count", [0, 1, 5, 8, 15, 16])
def test_bytes_that_are_not_read_are_zero(count):
    y = run(f"cp.async.ca.shared.global [%r3], [%rd3], 16, {count}; cp.async.wait_all;")
    want = source().copy().view(np.uint8).reshape(-1, 16)
    want[:, count:] = 0
    assert (y.view(np.uint8).reshape(-1, 16) == want).all()


def test_a_thread_that_reads_nothing_may_point_anywhere():
    """A tail's guard sets the size to 0 if the element does not exist."""
    x, y = arrays(20)[0], np.zeros(128, np.uint32)
    text = (
        "setp.lt.u32 %p1, %r0, 20; selp.b32 %r9, 16, 0, %p1; "
        "cp.async.cg.shared.global [%r3], [%rd3], 16, %r9; cp.async.wait_all;"
    )
    launch(HEAD + text + BACK + "ret;", x, y)
    assert (y[:80] == x).all() and (y[80:] == 0).all()


def test_a_predicate_that_skips_the_source():
    copy = "cp.async.ca.shared.global [%r3], [%rd3], 16, %p1; cp.async.wait_all;"
    y = run("setp.ge.u32 %p1, %r0, 20; " + copy)
    assert (y[:20] == source()[:20]).all() and (y[20:] == 0).all()


def test_a_cache_policy_is_not_a_size():
    y = run("cp.async.cg.shared.global.L2::cache_hint [%r3], [%rd3], 16, %rd9; cp.async.wait_all;")
    assert (y == source()).all()


def test_guarded_copies():
    copy = "@%p1 cp.async.cg.shared.global [%r3], [%rd3], 16; cp.async.wait_all;"
    y = run("setp.lt.u32 %p1, %r0, 7; " + copy)
    assert (y[:7] == source()[:7]).all() and (y[7:] == FRESH).all()


def test_groups_are_of_each_thread():
    """Threads commit and wait on separate paths."""
    text = """cp.async.cg.shared.global [%r3], [%rd3], 16; setp.lt.u32 %p1, %r0, 9; @!%p1 bra SKIP;
    cp.async.commit_group; cp.async.wait_group 0; SKIP:"""
    y = run(text)
    assert (y[:9] == source()[:9]).all() and (y[9:] == FRESH).all()


def test_the_source_is_read_when_the_copy_is_carried_out():
    """A kernel that overwrites the source before the wait has a race, and the virtual GPU then
    copies the new values."""
    copy = "cp.async.cg.shared.global [%r3], [%rd3], 16; "
    y = run(copy + "st.global.b32 [%rd3], 7; cp.async.wait_all;")
    assert (y[:, 0] == 7).all()


# -- errors, which name the line of the copy -------------------------------------------------------
@pytest.mark.parametrize("operands, words, says", [
    ("[%r3], [%rd3]", 120, r"thread \(30, 0, 0\).* copies from x\[120\] and the next 3 elements"),
    ("[%r3+1936], [%rd3]", 128, r"thread \(7, 0, 0\).* to 16 bytes at shared-memory offset 2,048"),
    ("[%r3], [%rd3+4]", 256, r"(?s)Misaligned access.*16 bytes at x\[1\]"),
    ("[%r3+8], [%rd3]", 128, "shared-memory offset 8"),
])  # fmt: skip
def test_wrong_addresses(operands, words, says):
    copy = f"cp.async.cg.shared.global {operands}, 16;"
    body = f"{HEAD}\n{copy}\ncp.async.wait_all; ret;"
    with pytest.raises(MemoryAccessError, match=says) as caught:
        launch(body, np.zeros(words, np.uint32), np.zeros(128, np.uint32))
    assert f"PTX line {line_of(body, copy, 2)}:" in str(caught.value)
