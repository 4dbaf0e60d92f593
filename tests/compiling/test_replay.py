"""Test running a kernel again on copies, which share memory if the caller's tensors do."""

import struct

import pytest
import torch

import forgekit as fk
from forgekit.compiling.backends import pack
from forgekit.compiling.replay import bind, copied, run_again
from forgekit.errors import ArgumentMismatchError, UsageError
from tests.kernels import simple


@pytest.fixture(scope="module")
def add():
    x = fk.zeros(8)
    return fk.compile(simple.add, x, x, 0.0, device="virtual")


def test_the_kernel_runs_on_copies(add):
    x, y = fk.arange(8), fk.empty(8)
    copies = run_again(add, (x, y, 2.0))
    assert torch.equal(copies[1], x + 2) and copies[2] == 2.0
    assert torch.equal(x, fk.arange(8)) and y.isnan().all(), "the caller's tensors are unchanged"


def test_views_of_one_storage_stay_views_of_one():
    base = fk.arange(12)
    even, tail, other = copied((base[::2], base[6:], fk.arange(3)))
    assert torch.equal(even, base[::2]) and torch.equal(tail, base[6:])
    assert even.stride() == (2,) and tail.storage_offset() == 6
    tail[0] = -1.0
    assert even[3] == -1.0 and other[0] == 0.0 and base[6] == 6.0


def test_arguments_are_bound_as_a_call_binds_them(add):
    x, y = fk.zeros(8), fk.zeros(8)
    assert bind("profile", add, (x, y, 2.0)) == (x, y, 2.0)
    with pytest.raises(
        UsageError, match=r"profile: got .*needed a compiled kernel; compile it fir"
    ):
        bind("profile", simple.add, (x, y, 2.0))
    with pytest.raises(ArgumentMismatchError, match="arguments of add: got 2, needed 3"):
        bind("profile", add, (x, y))
    with pytest.raises(UsageError, match="argument mX: got a sparse tensor"):
        bind("profile", add, (x.to_sparse(), y, 2.0))


def test_only_what_changes_is_packed():
    """The packed structure contains a pointer, 4-byte sizes and 8-byte strides, each aligned to its
    size."""
    x = torch.empty(3, 5, 7)
    packed = pack(x, fk.spec(x, static=(1,)))
    assert struct.unpack_from("<Qiiq", packed._buffer) == (x.data_ptr(), 3, 7, 35)
