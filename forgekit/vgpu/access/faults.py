"""Write the errors for faulty accesses: each states the thread, its access and a remedy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forgekit.vgpu.errors import KernelError, MemoryAccessError
from forgekit.vgpu.launch_record import block_coordinates
from forgekit.vgpu.memory import SHARED_RESERVED, SHARED_WINDOW, Allocation, TensorInfo

if TYPE_CHECKING:
    from forgekit.vgpu.batch import Batch
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.memory.storage import Slices
    from forgekit.vgpu.memory.tensor_maps import TensorMap

# An address at most this far from a tensor is reported as outside that tensor.
_NEAR_BYTES = 1 << 31


class Overrun(NamedTuple):
    """The threads whose accesses in one instruction are outside a tensor.

    tensor, shape, strides: the tensor's name, its sizes, and its strides in elements; threads: the
    threads' numbers in the grid; places: the threads' x and y indices in the grid, of shape
    (threads, 2); numbers: for each thread, the offset of the first accessed element from the
    tensor's first element, in elements; width: elements per access; present: the numbers in the
    grid of all threads in the batch; writes: True if the instruction writes.
    """

    tensor: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    threads: Array
    places: Array
    numbers: Array
    width: int
    present: Array
    writes: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


# -- all messages ---------------------------------------------------------------------------------
def _first(m: Batch, bad: Array | None) -> tuple[int, int]:
    """Return the first thread in `bad`, as its block's index in the batch and its index in the
    block."""
    block, thread = np.argwhere(m.expand(bad))[0].tolist()
    return block, thread


def _of_first(m: Batch, array: Array, bad: Array | None) -> int:
    """Return the array's value for the first thread in `bad`."""
    return int(np.broadcast_to(array, m.shape)[_first(m, bad)])


def _error(
    m: Batch, bad: Array | None, kind: str, title: str, does: str, advice: str, place: str = "",
    error: type[KernelError] = MemoryAccessError,
) -> KernelError:  # fmt: skip
    """Return the error for the threads in `bad`; its kind, line, thread and place are also its
    attributes.

    does: the rest of a sentence that begins with the first thread, including the full stop.
    """
    block, thread = _first(m, bad)
    more = int(m.expand(bad).sum()) - 1
    others = f"\n  {_plural(more, 'more thread')} had done the same when the kernel stopped."
    found = error(
        f"{title}: {m.where()}\n  {m.thread_name(block, thread)} {does}{others if more else ''}\n"
        f"{advice}"
    )
    found.who = m.record.coordinates(m.blocks[block], thread)
    found.place = place
    return m.marked(found, kind)


def _plural(count: int, noun: str) -> str:
    """Return text such as `1 byte` or `1,280 bytes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _bytes(count: int) -> str:
    return _plural(count, "byte")


def _more(width: int, itemsize: int) -> str:
    """Return text about the other elements of a vector access, such as ` and the next 3
    elements`."""
    more = width // itemsize - 1
    return f" and the next {_plural(more, 'element')}" if more > 0 else ""


# -- out of bounds --------------------------------------------------------------------------------
def out_of_bounds(m: Batch, kind: str, address: Array, bad: Array, width: int) -> KernelError:
    value = _of_first(m, address, bad)
    allocation = m.memory.find(value)
    if allocation is None:
        return unmapped(m, kind, address, bad, width)
    offset, size = value - allocation.address, allocation.size_bytes
    if not -_NEAR_BYTES <= offset <= size + _NEAR_BYTES:
        return unmapped(m, kind, address, bad, width)
    info, from_first = allocation.tensor_at(offset)
    if offset < 0:
        side = f"{_bytes(-offset)} before the tensor's start"
    else:
        side = f"up to {_bytes(offset + width - size)} past the tensor's end"
    empty = "" if size else " An empty tensor has no elements to access."
    element, same = info.coordinate(from_first), info.same_address(from_first)
    overrun = _overrun(m, kind, address, bad, width, info, value - from_first)
    error = _error(
        m, bad, "out-of-bounds", "Out of bounds",
        f"{kind} {element}{_more(width, info.itemsize)}, {side}.\n"
        + (f"  {same} {'have' if ' and ' in same else 'has'} the same address.\n" if same else "")
        + f"  {info} has {_bytes(size)}.{empty}",
        _out_of_bounds_advice(m, _first(m, bad), info, from_first, overrun), f"{element} of {info}",
    )  # fmt: skip
    error.overrun = overrun
    return error


def _overrun(
    m: Batch, kind: str, address: Array, bad: Array, width: int, info: TensorInfo, start: int
) -> Overrun:
    """Describe the out-of-bounds accesses. start: the virtual address of the tensor's first
    element."""
    block, thread = np.nonzero(np.broadcast_to(bad, m.shape))
    reached = np.broadcast_to(address, m.shape)[block, thread].astype(np.int64) - start
    blocks = np.asarray(m.blocks)
    present = (blocks[:, None] * m.block_threads + np.arange(m.block_threads)).reshape(-1)
    threads = blocks[block] * m.block_threads + thread
    wide, high, _ = m.record.block
    bx, by, _ = block_coordinates(blocks[block], m.record.grid, m.record.cluster)
    places = np.stack((bx * wide + thread % wide, by * high + thread // wide % high), axis=-1)
    numbers, per_access = reached // info.itemsize, max(width // info.itemsize, 1)
    return Overrun(
        info.name, tuple(info.shape), tuple(info.strides), threads, places, numbers, per_access,
        present, kind == "writes",
    )  # fmt: skip


def _out_of_bounds_advice(
    m: Batch, where: tuple[int, int], info: TensorInfo, from_first: int, overrun: Overrun
) -> str:
    """Return advice that depends on the first offending thread's number and on its element."""
    if from_first < 0:
        return (
            "The index is negative. Unlike in Python, it does not count from the end: it points "
            "before the tensor."
        )
    if len(info.shape) > 1:
        return (
            f"{info.name} has {len(info.shape)} modes: compare each index with its entry in "
            f"`{info.name}.shape`. If the kernel already does, check how it computes the indices."
        )
    elements = math.prod(info.shape)
    number = m.blocks[where[0]] * m.block_threads + where[1]
    index = from_first // info.itemsize
    if number < elements:
        return (
            f"There {_elements(elements)}, and this is thread number {number:,} across all "
            "blocks: check how the index is computed."
        )
    # If thread i accesses element i, too many threads run; otherwise, the index is wrong.
    if index != number or (overrun.threads != overrun.numbers).any():
        return (
            f"There {_elements(elements, 'only ')}, but the index on this line is {index:,}: check "
            f"how the index is computed, and compare it with `{info.name}.shape[0]`."
        )
    return (
        f"There {_elements(elements, 'only ')}, but the index on this line is {index:,}, which is "
        f"also the thread's number across all blocks. Compare it with `{info.name}.shape[0]`."
    )


def _elements(count: int, only: str = "") -> str:
    """Return text such as `are 8 elements` or `is only 1 element`."""
    return f"is {only}1 element" if count == 1 else f"are {only}{count:,} elements"


def unmapped(m: Batch, kind: str, address: Array, mask: Array | None, width: int) -> KernelError:
    value = _of_first(m, address, mask)
    for region in m.memory.on_the_host:
        if region.start <= value < region.start + region.size_bytes:
            return _error(
                m, mask, "out-of-bounds", "Access to host memory",
                f'{kind} {_bytes(width)} of {region.info}, which is on the CPU, not on "cuda".',
                f'Move the tensor: {region.info.name}.to("cuda").', str(region.info),
            )  # fmt: skip
    tensors = [str(r.info) for a in m.memory.allocations for r in a.regions if r.info.shape]
    nearest = m.memory.find(value)
    offset = ""
    if not value:
        offset = " (a null pointer)"
    elif nearest is not None and value < SHARED_WINDOW:
        distance = value - nearest.address
        side = "after" if distance > 0 else "before"
        offset = f" ({_bytes(abs(distance))} {side} the start of {nearest.regions[0].info.name})"
    return _error(
        m, mask, "out-of-bounds", "Out of bounds",
        f"{kind} {_bytes(width)} at address {value:#x}{offset}, which belongs to no tensor in "
        "this launch.",
        f"  Tensors: {', '.join(tensors) or 'none'}.\n"
        "Check the strides and the pointer arithmetic. A tensor whose layout differs from the "
        "compiled layout also causes this error.",
        f"address {value:#x}",
    )  # fmt: skip


def slice_error(
    m: Batch, memory: Slices, kind: str, address: Array, bad: Array, width: int
) -> KernelError:
    offset, space = _of_first(m, address, bad) - memory.base, memory.space
    owner = "a block has" if space == "shared" else "a thread has"
    return _error(
        m, bad, "out-of-bounds", "Out of bounds",
        f"{kind} {_bytes(width)} at {space}-memory offset {offset:,}, but {owner} only "
        f"{_bytes(memory.size_bytes)}.",
        "Compare the index with the layout for which the tensor was allocated, including padding.",
        f"{space} memory, byte {offset:,}",
    )  # fmt: skip


def no_such_rank(m: Batch, kind: str, address: Array, bad: Array, width: int) -> KernelError:
    return _error(
        m, bad, "out-of-bounds", "Out of bounds",
        f"{kind} {_bytes(width)} at shared::cluster address {_of_first(m, address, bad):#x}, which "
        f"belongs to no block of its cluster of {_plural(m.cluster_blocks, 'block')}.",
        "The rank passed to map_dsmem_ptr() must be less than the number of blocks in the cluster: "
        "check the launch's cluster= argument.",
        "distributed shared memory",
    )  # fmt: skip


def block_has_left(m: Batch, kind: str, rank: Array, gone: Array) -> KernelError:
    return _error(
        m, gone, "block-lifetime", "Shared memory of a block that has exited",
        f"{kind} shared memory of block {_of_first(m, rank, gone)} of its cluster, but all threads "
        "of that block have exited.",
        "A block must not exit while other blocks use its shared memory: end the kernel with "
        "cluster_arrive() and cluster_wait().",
    )  # fmt: skip


# -- other accesses -------------------------------------------------------------------------------
def read_only(m: Batch, kind: str, address: Array, mask: Array | None, width: int) -> KernelError:
    value = _of_first(m, address, mask)
    allocation = m.memory.find(value)
    assert allocation is not None
    info, from_first = allocation.tensor_at(value - allocation.address)
    element = info.coordinate(from_first)
    return _error(
        m, mask, "read-only-write", "Write to a read-only tensor",
        f"{kind} {element}{_more(width, info.itemsize)}.",
        f"  {info} was declared read_only in its spec.\n"
        "Did you swap the input and the output in the kernel or in the call?",
        f"{element} of {info}",
    )  # fmt: skip


def misaligned(
    m: Batch, space: str, kind: str, address: Array, bad: Array, width: int, advice: str = ""
) -> KernelError:
    value = _of_first(m, address, bad)
    what = f"address {value:#x}"
    if space == "shared":
        signed = value - (1 << 32) * (value >= 1 << 31)  # shared addresses have 32 bits
        what = f"shared-memory offset {signed - SHARED_RESERVED:,}"
    elif space == "local":
        what = f"local-memory offset {value:,}"
    else:
        allocation = m.memory.find(value)
        if allocation is not None and 0 <= value - allocation.address <= allocation.size_bytes:
            info, from_first = allocation.tensor_at(value - allocation.address)
            what = info.coordinate(from_first)
    return _error(
        m, bad, "misaligned", "Misaligned access",
        f"{kind} {_bytes(width)} at {what}, an address that is not a multiple of {width} (the "
        f"remainder is {value % width}).",
        advice or f"A {8 * width}-bit access must begin at a {width}-byte boundary: the tensor's "
        f"start, its row stride and every tile offset must be multiples of {width} bytes. "
        "Otherwise, use narrower accesses.",
        what,
    )  # fmt: skip


def uneven_size(m: Batch, kind: str, sizes: Array, bad: Array, step: int) -> KernelError:
    return _error(
        m, bad, "misaligned", "Misaligned access",
        f"{kind.split()[0]} {_bytes(_of_first(m, sizes, bad))} at once, a size that is not a "
        f"multiple of {step}.",
        f"A bulk copy moves whole {step}-byte pieces between addresses that are multiples of "
        f"{step}: copy the remaining bytes with loads and stores.",
    )  # fmt: skip


def apart(m: Batch, mask: Array) -> KernelError:
    """Return the error for an asynchronous store whose mbarrier is not in the same block."""
    return _error(
        m, mask, "mbarrier", "Misused mbarrier",
        "stores into one block's shared memory and signals another block's mbarrier.",
        "The address and the mbarrier of an asynchronous store must belong to the same block: map "
        "both to that block's rank.", error=KernelError,
    )  # fmt: skip


# -- tensor copies --------------------------------------------------------------------------------
def box_out_of_bounds(
    m: Batch, does: str, who: Array, tensor_map: TensorMap, allocation: Allocation,
    at: tuple[int, ...], first: int, last: int,
) -> KernelError:  # fmt: skip
    """Return the error for a box that covers bytes `first` to `last` of an allocation and extends
    beyond it.

    at: the coordinates of the box in the instruction.
    """
    size = allocation.size_bytes
    info, from_first = allocation.tensor_at(first if first < 0 else max(size, first))
    dense = tensor_map.sizes[0] * tensor_map.itemsize
    advice = (
        "A tensor copy skips elements outside the tensor that its map describes, but this map "
        "describes more memory than the tensor has. Create the map from the tensor's own shape "
        "and strides."
    )
    if does != "copies from" and 0 < last - size <= -dense % 16:
        advice = (
            f"A GPU stores whole 16-byte pieces, but the contiguous mode ends after {dense:,} "
            "bytes: pad the tensor's rows to a multiple of 16 bytes, or let threads store the last "
            "bytes."
        )
    before = f"{_bytes(-first)} before the tensor's start"
    side = before if first < 0 else f"{_bytes(last - size)} past the tensor's end"
    return _error(
        m, who, "out-of-bounds", "Out of bounds",
        f"{does} the box {tensor_map.box} at {at}, {side}.\n"
        f"  {info} has {_bytes(size)}; its tensor map describes "
        f"{tensor_map.dtype} {tensor_map.sizes} with strides of {tensor_map.strides} bytes.",
        advice, f"{info.coordinate(from_first)} of {info}",
    )  # fmt: skip


def box_corner(
    m: Batch, does: str, who: Array, tensor_map: TensorMap, at: tuple[int, ...], wrong: str
) -> KernelError:
    """Return the error for a tensor copy whose box begins at an illegal coordinate.

    wrong: the rest of a sentence about the box.
    """
    return _error(
        m, who, "misaligned", "Misplaced box",
        f"{does} the box {tensor_map.box} at {at}, which {wrong}.",
        "A GPU reports an illegal instruction here. Begin tiles at multiples of 16 bytes. For a "
        "store, no coordinate may be negative; elements beyond the end are skipped.",
    )  # fmt: skip


def tensor_map(m: Batch, who: Array, what: str) -> KernelError:
    """Return the error for a tensor copy whose tensor-map operand is `what`."""
    return _error(
        m, who, "tensor-map", "Misused tensor map", f"passes the copy {what}.",
        "Create the tensor map on the host by calling make_tiled_tma_atom() on the tensor of this "
        "call, and pass it to the kernel as its copy atom.", error=KernelError,
    )  # fmt: skip
