"""Test virtual addresses, overlapping tensors, and coordinates computed from offsets."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
import torch

from forgekit.vgpu.errors import UsageError
from forgekit.vgpu.host import arguments
from forgekit.vgpu.memory import GUARD_BYTES, GlobalMemory, TensorInfo, byte_range
from forgekit.vgpu.memory.storage import block_bytes, local_memory, shared_memory
from forgekit.vgpu.memory.swizzles import swizzled


def memory_of(**tensors: object) -> GlobalMemory:
    memory = GlobalMemory()
    arguments.register(memory, tensors.items())
    return memory


def address(memory: GlobalMemory, tensor: torch.Tensor) -> int:
    found = memory.translate(tensor.data_ptr())
    assert found is not None
    return found


# -- addresses -------------------------------------------------------------------------------------
def test_addresses_are_far_apart_and_the_same_every_time():
    def make() -> list[int]:
        tensors = [torch.zeros(n) for n in (7, 100, 3)]
        memory = memory_of(a=tensors[0], b=tensors[1], c=tensors[2])
        return [address(memory, t) for t in tensors]

    first = make()
    assert first == make()
    assert all(b - a >= GUARD_BYTES for a, b in itertools.pairwise(first))


@pytest.mark.parametrize("start", [0, 1, 3, 16])
def test_a_view_keeps_its_alignment_within_the_storage(start):
    x = torch.zeros(64)[start:]
    assert address(memory_of(x=x), x) % 512 == 4 * start


def test_arrays_of_numpy_count_as_aligned_wherever_they_lie():
    for n in range(1, 20):
        x = np.zeros(n, np.float32)
        memory = memory_of(x=x, tail=x[1:])
        assert memory.translate(x.ctypes.data) % 512 == 0


def test_kernels_work_on_the_real_memory():
    x = torch.arange(6, dtype=torch.int32)
    (allocation,) = memory_of(x=x).allocations
    allocation.view(4, 1)[2] = 42
    assert x[2] == 42
    assert allocation.view(4, 2).shape == (3, 2)


def test_pointers_into_the_middle_and_past_the_end_translate():
    x = torch.zeros(8)
    memory, pointer = memory_of(x=x), x.data_ptr()
    start = memory.translate(pointer)
    assert memory.translate(pointer + 12) == start + 12
    assert memory.translate(pointer + 32) == start + 32
    assert memory.translate(pointer + 36) is None
    assert memory.translate(pointer - 4) is None
    assert memory.holder(start + 31) == (memory.allocations[0], 31)
    assert memory.holder(start + 32) is None and memory.holder(start - 1) is None


# -- the same storage twice ------------------------------------------------------------------------
EIGHT, TWELVE, PAIRS, ROWS = (torch.zeros(n) for n in (8, 12, (4, 2), (4, 10)))


@pytest.mark.parametrize(
    ("tensors", "sizes"),
    [
        ((EIGHT, EIGHT), [32]),  # one tensor twice
        ((ROWS, ROWS[1:, ::2]), [160]),  # a view and its base
        ((ROWS[1:, ::2], ROWS), [160]),
        # An overrun of the first half must not reach the second half unnoticed.
        ((EIGHT[:4], EIGHT[4:]), [16, 16]),
        ((PAIRS[:, 0], PAIRS[:, 1]), [32]),  # interleaved columns
        ((TWELVE[0:5], TWELVE[4:9], TWELVE[8:12]), [48]),  # a chain
        ((torch.zeros(4, 1).expand(4, 1000),), [16]),
    ],
)
def test_tensors_that_overlap_share_one_range(tensors, sizes):
    memory = memory_of(**dict(zip("abc", tensors, strict=False)))
    assert [a.size_bytes for a in memory.allocations] == sizes
    first = tensors[0]
    for other in tensors:
        same = memory.find(address(memory, other)) is memory.find(address(memory, first))
        apart = other.data_ptr() - first.data_ptr()
        assert same == (len(sizes) == 1 or other is first)
        assert not same or address(memory, other) - address(memory, first) == apart


def test_a_message_names_the_first_tensor_that_holds_a_byte():
    (allocation,) = memory_of(a=PAIRS[:, 0], b=PAIRS[:, 1]).allocations
    assert allocation.tensor_at(4)[0].name == "a"  # offset 4 is in both tensors; the first is named
    assert allocation.tensor_at(28) == (allocation.regions[1].info, 24)


def test_reversed_tensors():
    y = np.arange(6, dtype=np.int32)[::-1]
    memory = memory_of(y=y)
    (allocation,) = memory.allocations
    assert allocation.size_bytes == 24
    first = memory.translate(y.__array_interface__["data"][0])
    assert first - allocation.address == 20
    assert allocation.tensor_at(20)[0].coordinate(allocation.tensor_at(20)[1]) == "y[0]"
    assert allocation.tensor_at(0)[0].coordinate(allocation.tensor_at(0)[1]) == "y[5]"


def test_empty_tensors():
    x, e = torch.zeros(4), torch.empty(0, 3)
    memory = memory_of(e=e, x=x, tail=x[4:], head=x[0:0])
    assert address(memory, x) == next(a.address for a in memory.allocations if a.size_bytes == 16)
    assert sorted(a.size_bytes for a in memory.allocations) == [0, 16]  # torch: null pointers


# -- finding tensors -------------------------------------------------------------------------------
def test_tensors_are_found_in_containers():
    x, y, z = torch.zeros(1), torch.zeros(2), np.zeros(3)
    memory = memory_of(pair=(x, [y]), table={"z": z}, n=3, s="text", none=None)
    names = [a.regions[0].info.name for a in memory.allocations]
    assert names == ["pair[0]", "pair[1][0]", "table['z']"]


def test_a_tensor_on_another_device_is_refused():
    with pytest.raises(
        UsageError, match=r"argument `x`: got a tensor on meta, needed a CPU tensor"
    ):
        memory_of(x=torch.zeros(4, device="meta"))


class Pointer:
    """The result of the DSL's make_ptr."""

    def __init__(self, value: int) -> None:
        self._pointer, self._assumed_align = value, 4
        self._dtype = type("Float32", (), {"width": 32})


def test_a_raw_pointer_is_bounded_by_the_tensor_it_points_into():
    x = torch.zeros(10)
    memory = memory_of(p=Pointer(x.data_ptr() + 8))
    (allocation,) = memory.allocations
    assert allocation.size_bytes == 40
    assert memory.translate(x.data_ptr() + 8) == allocation.address + 8
    assert str(allocation.regions[0].info) == "p: float32 (8,)"


def test_a_raw_pointer_finds_tensors_that_no_variable_holds_and_arrays():
    hidden = [[torch.zeros(10)]]
    memory = memory_of(p=Pointer(hidden[0][0].data_ptr()))
    assert memory.allocations[0].size_bytes == 40
    array = np.zeros(6, np.float32)
    memory = memory_of(p=Pointer(array[2:].ctypes.data))
    assert memory.allocations[0].size_bytes == 24


def test_a_raw_pointer_into_a_known_argument_adds_nothing():
    x = torch.zeros(10)
    assert len(memory_of(x=x, p=Pointer(x.data_ptr() + 4)).allocations) == 1


def test_a_raw_pointer_into_unknown_memory_is_refused():
    buffer = ctypes.create_string_buffer(64)
    with pytest.raises(UsageError, match="memory of unknown size at") as caught:
        memory_of(p=Pointer(ctypes.addressof(buffer)))
    assert "keep the tensor in a variable" in str(caught.value)


def test_tensors_without_memory_of_their_own_do_not_disturb_the_search():
    kept = [torch.zeros(2, 3).to_sparse(), torch.zeros(4, device="meta")]
    x = torch.zeros(10)
    assert len(memory_of(p=Pointer(x.data_ptr())).allocations) == 1
    with pytest.raises(UsageError, match="memory of unknown size at"):
        memory_of(p=Pointer(4096))
    assert len(kept) == 2


# -- coordinates -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("itemsize", "shape", "strides", "offset", "want"),
    [
        (4, (8, 4), (4, 1), 0, "x[0, 0]"), (4, (8, 4), (4, 1), 28, "x[1, 3]"),
        (4, (8, 4), (4, 1), 128, "x[8, 0]"), (4, (8, 4), (4, 1), 132, "x[8, 1]"),
        (4, (8, 4), (4, 1), -4, "x[0, -1]"), (4, (8, 4), (4, 1), -16, "x[-1, 0]"),
        (4, (8, 4), (4, 1), -24, "x[-1, -2]"), (4, (4, 8), (1, 4), 132, "x[1, 8]"),
        (2, (1, 8), (8, 1), 18, "x[0, 9]"), (4, (4, 1000), (1, 0), 12, "x[3, 0]"),
        (4, (4, 5), (10, 2), 52, "x[1, 1] + 1"), (4, (1,), (1,), 20, "x[5]"),
        (4, (8,), (1,), 6, "x[1] + 2 bytes"), (4, (), (), 0, "x[]"),
    ],
)  # fmt: skip
def test_coordinates(itemsize, shape, strides, offset, want):
    assert TensorInfo("x", "f", itemsize, shape, strides).coordinate(offset) == want


def test_byte_ranges():
    assert byte_range((3, 4), (4, 1), 4) == (0, 48)
    assert byte_range((3, 4), (-4, 1), 4) == (-32, 48)
    assert byte_range((3, 0), (4, 1), 4) == (0, 0)
    assert byte_range((3, 9), (1, 0), 2) == (0, 6)
    assert byte_range((), (), 8) == (0, 8)


# -- shared and local memory -----------------------------------------------------------------------
def test_fresh_memory_is_nan():
    shared = shared_memory(3, 40)
    assert shared.view(4, 1).view(np.float32).shape == (3 * 32,)
    assert np.isnan(shared.view(4, 1).view(np.float32)).all()
    local = local_memory((2, 32), 8)
    assert local.owner[1, 5] == 37 and local.stride == 128


def test_bytes_of_a_block():
    assert block_bytes(0, 32, 0) == 0
    assert block_bytes(100, 64, 0) == 128
    assert block_bytes(129, 64, 4) == 256 + 64 * 128


# -- swizzles --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("span", "bits"), [(0, 0), (32, 1), (64, 2), (128, 3)])
def test_a_swizzle_is_that_of_cute(span, bits):
    """Swizzle<bits, 4, 3> XORs bits 4 and up with the bits 3 places above them."""
    address = np.arange(4096, dtype=np.uint32)
    wanted = address ^ ((address & (2**bits - 1 << 7)) >> 3)
    assert (swizzled(address, span) == wanted).all()
    assert (swizzled(swizzled(address, span), span) == address).all()
