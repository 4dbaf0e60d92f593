"""What a student reads when the virtual GPU stops a kernel: who did what, where, and the remedy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forgekit.errors import KernelError, MemoryAccessError
from forgekit.text import plural
from forgekit.vgpu.launch_record import block_coordinates
from forgekit.vgpu.memory import SHARED_RESERVED, SHARED_WINDOW, TensorInfo

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.memory import Allocation
    from forgekit.vgpu.memory.storage import LocalMemory, SharedMemory
    from forgekit.vgpu.memory.tensor_maps import TensorMap

# An address farther than this from every tensor is not described as an overrun of one.
_NEAR_BYTES = 1 << 31


class Overrun(NamedTuple):
    """The threads whose access of one instruction lies outside a tensor.

    tensor, shape, strides: its name, its modes, strides in elements; threads: their numbers,
    counted over all blocks; places: (threads, 2), their x and y, counted over all blocks; numbers:
    of the element each reaches first, counted from the tensor's first one in memory; width:
    elements that each reaches; present: numbers of all threads that ran with them.
    """

    tensor: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    threads: Array
    places: Array
    numbers: Array
    width: int
    present: Array

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


# -- accesses -------------------------------------------------------------------------------------
def _who(m: Machine, bad: Array) -> tuple[str, tuple[int, int], str]:
    """The first offending thread, its index, and `and N more threads`."""
    full = np.broadcast_to(bad, m.shape)
    block, thread = (int(i) for i in np.argwhere(full)[0])
    more = int(full.sum()) - 1
    others = f"\n  {plural(more, 'more thread')} had done so when the kernel was stopped."
    return m.thread_name(block, thread), (block, thread), others if more else ""


def _at(array: Array, m: Machine, where: tuple[int, int]) -> int:
    return int(np.broadcast_to(array, m.shape)[where])


def _marked(
    error: KernelError, m: Machine, kind: str, where: tuple[int, int], place: str = ""
) -> KernelError:
    """The error with what a program can read of it: kind, line, block and thread, place."""
    error.who = m.record.coordinates(m.blocks[where[0]], where[1])
    error.place = place
    return m.marked(error, kind)


def out_of_bounds(m: Machine, kind: str, address: Array, bad: Array, width: int) -> Exception:
    name, where, others = _who(m, bad)
    value = _at(address, m, where)
    allocation = m.memory.find(value)
    if allocation is None:
        return unmapped(m, kind, address, bad, width)
    offset = value - allocation.address
    size = allocation.size_bytes
    if not -_NEAR_BYTES <= offset <= size + _NEAR_BYTES:
        return unmapped(m, kind, address, bad, width)
    info, from_first = allocation.tensor_at(offset)
    if offset < 0:
        side = f"{_bytes(-offset)} before its start"
    else:
        side = f"{_bytes(offset + width - size)} past its end"
    empty = "" if size else " An empty tensor has no element to access."
    error = MemoryAccessError(
        f"Out of bounds: {m.where()}\n"
        f"  {name} {kind} {info.coordinate(from_first)}{_more(width, info.itemsize)}, {side}.\n"
        f"  {info} has {_bytes(size)}.{empty}{others}\n"
        f"{_out_of_bounds_advice(m, where, info, from_first)}"
    )
    place = f"{info.coordinate(from_first)} of {info}"
    error.overrun = _overrun(m, address, bad, width, info, value - from_first)
    return _marked(error, m, "out-of-bounds", where, place)


def _overrun(
    m: Machine, address: Array, bad: Array, width: int, info: TensorInfo, start: int
) -> Overrun:
    """start: the virtual address of the tensor's first element."""
    block, thread = np.nonzero(np.broadcast_to(bad, m.shape))
    reached = np.broadcast_to(address, m.shape)[block, thread].astype(np.int64) - start
    first = m.blocks.start * m.block_threads
    present = first + np.arange(m.n_blocks * m.block_threads)
    threads = first + block * m.block_threads + thread
    wide, high, _ = m.record.block
    bx, by, _ = block_coordinates(m.blocks.start + block, m.record.grid, m.record.cluster)
    places = np.stack((bx * wide + thread % wide, by * high + thread // wide % high), axis=-1)
    numbers, per_access = reached // info.itemsize, max(width // info.itemsize, 1)
    return Overrun(
        info.name, tuple(info.shape), tuple(info.strides), threads, places, numbers, per_access,
        present,
    )  # fmt: skip


def _out_of_bounds_advice(
    m: Machine, where: tuple[int, int], info: TensorInfo, from_first: int
) -> str:
    """What to look at, by what the first offending thread had to work on."""
    if from_first < 0:
        return (
            "The index is negative. Unlike in Python it does not count from the end: it lies "
            "before the tensor."
        )
    if len(info.shape) > 1:
        return (
            f"{info.name} has {len(info.shape)} modes: each index has to be compared with its own "
            f"entry of `{info.name}.shape`. If it is, look at how the indices are computed."
        )
    elements = math.prod(info.shape)
    number = m.blocks[where[0]] * m.block_threads + where[1]
    index = from_first // info.itemsize
    if number >= elements and index != number:
        return (
            f"There {_elements(elements, 'only ')}, and the index in this line is {index:,}: look "
            f"at how the index is computed, and compare it with `{info.name}.shape[0]`."
        )
    if number < elements:
        return (
            f"There {_elements(elements)}, and this is thread number {number:,}, counted over "
            "all blocks: look at how the index is computed, and at the sizes and strides it uses."
        )
    return (
        f"There {_elements(elements, 'only ')}, and this is thread number {number:,}, counted over "
        "all blocks. A thread without an element needs a predicate, such as "
        f"`if {_predicate(info)}:`."
    )


def _predicate(info: TensorInfo) -> str:
    """`i < mX.shape[0]`, or one for each mode of a matrix."""
    index = ("i",) if len(info.shape) != 2 else ("row", "col")
    return " and ".join(f"{i} < {info.name}.shape[{k}]" for k, i in enumerate(index))


def _elements(count: int, only: str = "") -> str:
    """`are 8 elements`, `is only 1 element`"""
    return f"is {only}1 element" if count == 1 else f"are {only}{count:,} elements"


def _more(width: int, itemsize: int) -> str:
    """What a vector access reaches beside its first element."""
    return f" and the {width // itemsize - 1} after it" if width > itemsize else ""


def _bytes(count: int) -> str:
    return plural(count, "byte")


def unmapped(m: Machine, kind: str, address: Array, mask: Array | None, width: int) -> Exception:
    name, where, others = _who(m, np.ones((1, 1), bool) if mask is None else mask)
    value = _at(address, m, where)
    for region in m.memory.on_the_host:
        if region.start <= value < region.start + region.size_bytes:
            error = MemoryAccessError(
                f"Memory of the host: {m.where()}\n  {name} {kind} {_bytes(width)} of "
                f'{region.info}, which is on the CPU: others are on "cuda".{others}\n'
                f'Move it: {region.info.name}.to("cuda").'
            )
            return _marked(error, m, "out-of-bounds", where, str(region.info))
    tensors = [str(r.info) for a in m.memory.allocations for r in a.regions if r.info.shape]
    nearest = m.memory.find(value)
    offset = ""
    if value and nearest is not None and value < SHARED_WINDOW:
        distance = value - nearest.address
        side = "after" if distance > 0 else "before"
        offset = f" ({_bytes(abs(distance))} {side} the start of {nearest.regions[0].info.name})"
    elif not value:
        offset = " (a null pointer)"
    error = MemoryAccessError(
        f"Out of bounds: {m.where()}\n"
        f"  {name} {kind} {_bytes(width)} at address {value:#x}{offset}, which belongs to no "
        f"tensor of this launch.{others}\n  Tensors: {', '.join(tensors) or 'none'}.\n"
        "Look at the strides and the pointer arithmetic; a tensor compiled with one layout and "
        "called with another ends up here too."
    )
    return _marked(error, m, "out-of-bounds", where, f"address {value:#x}")


def read_only(m: Machine, kind: str, address: Array, mask: Array | None, width: int) -> Exception:
    name, where, others = _who(m, np.ones((1, 1), bool) if mask is None else mask)
    value = _at(address, m, where)
    allocation = m.memory.find(value)
    assert allocation is not None
    info, from_first = allocation.tensor_at(value - allocation.address)
    error = MemoryAccessError(
        f"Write to a read-only tensor: {m.where()}\n"
        f"  {name} {kind} {info.coordinate(from_first)}{_more(width, info.itemsize)}.{others}\n"
        f"  {info} was declared read_only in its spec.\n"
        "Are input and output swapped, in the kernel or in the call?"
    )
    place = f"{info.coordinate(from_first)} of {info}"
    return _marked(error, m, "read-only-write", where, place)


def misaligned(
    m: Machine, space: str, kind: str, address: Array, bad: Array, width: int, advice: str = ""
) -> Exception:
    name, where, others = _who(m, bad)
    value = _at(address, m, where)
    what = f"address {value:#x}"
    if space == "shared":
        what = f"shared-memory offset {value - SHARED_RESERVED:,}"
    elif space == "local":
        what = f"local-memory offset {value:,}"
    else:
        allocation = m.memory.find(value)
        if allocation is not None and 0 <= value - allocation.address <= allocation.size_bytes:
            info, from_first = allocation.tensor_at(value - allocation.address)
            what = info.coordinate(from_first)
    advice = advice or (
        f"A {8 * width}-bit access needs a {width}-byte boundary: the start of the tensor, its row "
        "stride and every tile offset must be multiples of it, or use narrower accesses."
    )
    error = MemoryAccessError(
        f"Misaligned access: {m.where()}\n"
        f"  {name} {kind} {_bytes(width)} at {what}, an address that is not a multiple of {width} "
        f"(it is {value % width} beyond one).{others}\n{advice}"
    )
    return _marked(error, m, "misaligned", where, what)


def slice_error(
    m: Machine,
    memory: SharedMemory | LocalMemory,
    space: str,
    kind: str,
    address: Array,
    bad: Array,
    width: int,
) -> Exception:
    name, where, others = _who(m, bad)
    offset = _at(address, m, where) - memory.base
    owner = "a block has" if space == "shared" else "a thread has"
    error = MemoryAccessError(
        f"Out of bounds: {m.where()}\n"
        f"  {name} {kind} {width} bytes at {space}-memory offset {offset:,}; {owner} "
        f"{memory.size_bytes:,} bytes.{others}\n"
        "Compare the index with the layout the tensor was allocated with (padding included)."
    )
    return _marked(error, m, "out-of-bounds", where, f"{space} memory, byte {offset:,}")


def no_such_rank(m: Machine, kind: str, address: Array, bad: Array, width: int) -> Exception:
    name, where, others = _who(m, bad)
    error = MemoryAccessError(
        f"Out of bounds: {m.where()}\n"
        f"  {name} {kind} {_bytes(width)} at shared::cluster address {_at(address, m, where):#x}, "
        f"which is in no block of its cluster of {plural(m.cluster_blocks, 'block')}.{others}\n"
        "The rank given to map_dsmem_ptr() has to be below the number of blocks of the cluster: "
        "look at cluster= of the launch."
    )
    return _marked(error, m, "out-of-bounds", where, "distributed shared memory")


def uneven_size(m: Machine, kind: str, sizes: Array, bad: Array, step: int) -> Exception:
    name, where, others = _who(m, bad)
    error = MemoryAccessError(
        f"Misaligned access: {m.where()}\n"
        f"  {name} {kind} {_bytes(_at(sizes, m, where))} at once, not a multiple of {step}."
        f"{others}\n"
        f"A bulk copy moves whole {step}-byte pieces, from and to addresses that are multiples of "
        f"{step}: copy the rest with ordinary loads and stores."
    )
    return _marked(error, m, "misaligned", where)


def box_out_of_bounds(
    m: Machine, does: str, who: Array, tensor_map: TensorMap, allocation: Allocation,
    at: tuple[int, ...], first: int, last: int,
) -> Exception:  # fmt: skip
    """A box reaches bytes `first` to `last` of an allocation, which is smaller.

    at: the box's coordinates, as the instruction has them.
    """
    name, where, others = _who(m, who)
    beyond = first if first < 0 else max(allocation.size_bytes, first)
    info, from_first = allocation.tensor_at(beyond)
    dense = tensor_map.sizes[0] * tensor_map.itemsize
    advice = (
        "A tensor copy leaves out what lies outside the tensor that its map describes: that one "
        "is larger than the memory. Make the map from the tensor's own shape and strides."
    )
    if does != "copies from" and 0 < last - allocation.size_bytes <= -dense % 16:
        advice = (
            f"A GPU stores whole pieces of 16 bytes; the dense mode ends after {dense:,} bytes: "
            "give the tensor rows of a multiple of 16 bytes, or store its last part by threads."
        )
    side = (
        f"{_bytes(-first)} before its start"
        if first < 0
        else (f"{_bytes(last - allocation.size_bytes)} past its end")
    )
    error = MemoryAccessError(
        f"Out of bounds: {m.where()}\n"
        f"  {name} {does} the box {tensor_map.box} at {at}, {side}.\n"
        f"  {info} has {_bytes(allocation.size_bytes)}; its tensor map says: "
        f"{tensor_map.dtype} {tensor_map.sizes}, strides of {tensor_map.strides} bytes.{others}\n"
        f"{advice}"
    )
    return _marked(error, m, "out-of-bounds", where, f"{info.coordinate(from_first)} of {info}")


def box_corner(
    m: Machine, does: str, who: Array, tensor_map: TensorMap, at: tuple[int, ...], wrong: str
) -> Exception:
    """A tensor copy whose box begins where none may; wrong: of the box, as a clause."""
    name, where, others = _who(m, who)
    error = MemoryAccessError(
        f"Misplaced box: {m.where()}\n"
        f"  {name} {does} the box {tensor_map.box} at {at}, which {wrong}.{others}\n"
        "A GPU stops here with an illegal instruction. Choose tiles that begin at multiples of 16 "
        "bytes, and for a store at coordinates from 0 on: what is beyond the end is left out."
    )
    return _marked(error, m, "misaligned", where)


def tensor_map(m: Machine, who: Array, what: str) -> Exception:
    """A tensor copy is given `what`, with which it cannot work."""
    name, where, others = _who(m, who)
    error = KernelError(
        f"Misused tensor map: {m.where()}\n  {name} gives the copy {what}.{others}\n"
        "A tensor map is made on the host, by make_tiled_tma_atom() of the tensor that this call "
        "passes, and reaches the kernel as its copy atom."
    )
    return _marked(error, m, "tensor-map", where)


def apart(m: Machine, mask: Array) -> Exception:
    """An asynchronous store and its mbarrier are not in the same block."""
    error = KernelError(
        f"Misused mbarrier: {m.where()}\n"
        f"  {m.who(mask)} stores into one block's shared memory, and signals another's mbarrier.\n"
        "The address and the mbarrier of an asynchronous store belong to the same block: map both "
        "to its rank."
    )
    block, thread = (int(i) for i in np.argwhere(mask)[0])
    return _marked(error, m, "mbarrier", (block, thread))


def block_has_left(m: Machine, kind: str, rank: Array, gone: Array) -> Exception:
    name, where, others = _who(m, gone)
    error = MemoryAccessError(
        f"Shared memory of a block that has left the kernel: {m.where()}\n"
        f"  {name} {kind} shared memory of block {_at(rank, m, where)} of its cluster, all threads "
        f"of which have exited.{others}\n"
        "A block has to stay until nobody needs its shared memory: end the kernel with "
        "cluster_arrive() and cluster_wait()."
    )
    return _marked(error, m, "block-lifetime", where)
