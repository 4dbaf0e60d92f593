"""What a student reads of a finding: who did what where, what it means, what to look at."""

from __future__ import annotations

from typing import NamedTuple

from forgekit.vgpu.sanitizer.shadow import ENGINE, WRITE, Conflict

# kind -> what it is called in a title
KINDS = {
    "out-of-bounds": "Out of bounds",
    "misaligned": "Misaligned access",
    "read-only-write": "Write to a read-only tensor",
    "uninitialised-shared": "Uninitialised shared memory",
    "uninitialised-global": "Uninitialised tensor element",
    "unwritten-output": "Elements never written",
    "shared-race": "Race in shared memory",
    "global-race": "Race in global memory",
    "async-copy": "Asynchronous copy still in flight",
    "proxy-fence": "Missing proxy fence",
    "async-product": "Race with an asynchronous matrix product",
    "product-fence": "Missing wgmma.fence",
    "wgmma": "Misused wgmma",
    "block-lifetime": "Shared memory of a block that may not be there",
    "mbarrier": "Misused mbarrier",
    "tensor-map": "Misused tensor map",
    "divergent-barrier": "Barrier in divergent code",
    "barrier-count": "Wrong barrier count",
    "deadlock": "Deadlock",
    "shuffle-inactive": "Shuffle from a lane that takes no part",
    "member-mask": "Wrong member mask",
    "partial-warp": "Matrix instruction of part of a warp",
    "launch-limits": "Launch beyond the limits",
    "endless": "Instruction budget spent",
    "trap": "Trap",
    "register-pressure": "Register pressure",
}
# What may be meant.
NOTES = ("unwritten-output", "register-pressure")


class Message(NamedTuple):
    """The words of a finding.

    kind: a key of `KINDS`; text: what happened, a line each, with fields that `Report.add`
    fills in; advice: what to look at; note: True for what may be meant, whatever its kind.
    """

    kind: str
    text: str
    advice: str
    note: bool = False


# -- races ----------------------------------------------------------------------------------------
_RACE = """\
{who} {does} {place},
which {other} {did} {where}.
Nothing makes one of them wait for the other."""
_TWO_VALUES = """\
{who} writes {place}, and {other} writes another value there.
Which of the two stays is chance."""

_BLOCKS_WRITE = (
    "Blocks run in any order and at the same time: let each element belong to one block, or add "
    "with an atomic operation (cute.arch.atomic_add)."
)
_BLOCKS_READ = (
    "Blocks run in any order and at the same time: what one block has written another may read in "
    "the next launch, or after an atomic counter that both use."
)
_SAME_INDEX = (
    "Look at the index: two threads compute the same one. To add up use cute.arch.atomic_add, or "
    "let one thread write."
)
_BLOCKS_OF_A_CLUSTER = (
    "Blocks of a cluster run at their own pace: between the two lines put "
    "cute.arch.cluster_arrive() and cute.arch.cluster_wait(), which every thread of the cluster "
    "reaches, or an mbarrier of the block that is written to, at which the writer arrives and for "
    "which the reader waits."
)
_SAME_LINE = (
    "Both are the same line, which reads and writes in one go. To add up use "
    "cute.arch.atomic_add; to move values read into a variable, put cute.arch.sync_threads() "
    "behind it, and store then. In a loop a barrier between the rounds may be missing."
)
_THREADS = (
    "Threads run at their own pace, also those of one warp: put cute.arch.sync_threads() between "
    "the two lines (cute.arch.sync_warp() where only lanes of one warp exchange), and in a loop "
    "between the end of one round and the start of the next."
)


def race(kind: str, c: Conflict, *, same_block: bool, same_line: bool) -> Message:
    """Of two accesses that nothing orders."""
    if kind == "global-race" and not same_block:
        both_write = c.earlier.what == c.later.what == WRITE
        advice = _BLOCKS_WRITE if both_write else _BLOCKS_READ
    elif c.earlier is c.later:
        advice = _SAME_INDEX
    elif not same_block:
        advice = _BLOCKS_OF_A_CLUSTER
    else:
        advice = _SAME_LINE if same_line else _THREADS
    return Message(kind, _TWO_VALUES if c.earlier is c.later else _RACE, advice)


# -- asynchronous copies and operations -----------------------------------------------------------
COPY_IN_FLIGHT = Message(
    "async-copy",
    "{who} {does} {place}, while the asynchronous copy of {other}\n"
    "to it, started at {line}, may still be in flight.",
    "A copy is complete for its own thread after cp_async_wait_group(n), where n is how many of "
    "the newest committed groups may still be open, and for others after a barrier that follows "
    "the wait.",
)
SOURCE_CHANGED = Message(
    "async-copy",
    "{who} writes {place}, while the asynchronous copy of {other}\n"
    "from it, started at {line}, may still be in flight.",
    "A copy reads its source at any time until cp_async_wait_group(n) says that its group is "
    "complete: overwrite the source after the wait, other threads after a barrier behind it.",
)
_TWO_OPERATIONS = """\
The asynchronous operation of {who} {does} {place}, while that of {other},
started at {line}, may still be in flight."""
_OPERATION_FIRST = """\
{Who} {does} {place}, while the asynchronous operation of {other},
started at {line}, which {other_does} it, may still be in flight."""
_OPERATION_SECOND = """\
The asynchronous operation of {who} {does} {place},
which {other} {did} at {line}.
Nothing makes the operation wait for that."""


_PRODUCT_ADVICE = (
    "A wgmma reads its operands in shared memory at any time until "
    "cute.nvgpu.warpgroup.wait_group(n) says that its group is complete, n being how many of the "
    "newest groups may still be in flight. Who stores over them has to know that: put a barrier, "
    "or an mbarrier, behind the wait. What is stored is there for a product after "
    "cute.arch.fence_proxy and a barrier that stand between."
)
PRODUCT_IN_FLIGHT = Message(
    "async-product",
    "{who} {does} its {place} of a product started at {line},\nwhich may still be in flight.",
    "The registers of a wgmma are its own until cute.nvgpu.warpgroup.wait_group(n), n being how "
    "many of the newest committed groups may still be in flight: put the wait before their use, "
    "commit_group() before the wait, and no group too many into n.",
)
NO_PRODUCT_FENCE = Message(
    "product-fence",
    "{who} starts a product without wgmma.fence since the one before.",
    "Registers that threads have written, accumulators and fragments of A, are there for a wgmma "
    "after cute.nvgpu.warpgroup.fence(): put it before the first cute.gemm of each group.",
)


def operation(c: Conflict, *, product: bool) -> Message:
    """Of an asynchronous operation (a product, of either), and an access that nothing keeps apart
    from it."""
    text = _OPERATION_SECOND
    if c.first & ENGINE:
        text = _TWO_OPERATIONS if c.second & ENGINE else _OPERATION_FIRST
    if product:
        return Message("async-product", text.replace("operation", "product"), _PRODUCT_ADVICE)
    return Message(
        "async-copy",
        text,
        "What a bulk copy or an asynchronous store brings is there after mbarrier_wait() for the "
        "phase that counts its bytes, and what it reads may be changed then; of a copy to global "
        "memory after cp_async_bulk_wait_group(n, read=True). Before a buffer is filled again, "
        "those who used it have to say so, with a barrier or another mbarrier.",
    )


UNFENCED = Message(
    "proxy-fence",
    "The asynchronous copy of {who} reads {place},\n"
    "which {other} stored at {line}, without a proxy fence in between.",
    "Asynchronous copies see shared memory in another way than stores do (the async proxy): every "
    'thread that has stored calls cute.arch.fence_proxy("async.shared", space="cta"), then comes '
    "the barrier, then the copy or the wgmma.",
)

# -- unwritten memory -----------------------------------------------------------------------------
_SHOWS = {
    "store": "What comes of it is stored in {element} by {user}{where}.",
    "atomic": "What comes of it goes into the atomic update of {element} by {user}{where}.",
    "copy": "What comes of it is copied to {element} for {user}{where}.",
    "branch": "It decides which way {user} goes on{where}.",
    "guard": "It decides whether {user} takes part in what follows{where}.",
    "address": "It is part of an index or address that {user} uses{where}.",
    "size": "It decides what an asynchronous operation of {user} does{where}.",
    "lane": "It decides which lane {user} takes a value from{where}.",
}


def uninitialised_shared(shows: str) -> Message:
    """shows: what the undefined value does, a key of `_SHOWS`."""
    return Message(
        "uninitialised-shared",
        "{who} reads {place}, which nobody in its block has written.\n"
        f"{_SHOWS[shows]}\n"
        "A GPU finds there what the block before left.",
        "Every element that counts has to be stored before it is read: look at tails (a tile that "
        "is not full), at the size of the layout, and at partial sums that not every warp stores.",
    )


UNINITIALISED_GLOBAL = Message(
    "uninitialised-global",
    "{who} reads {place}, which nobody has written since it was made by empty().",
    "Is the input meant? Or start from fk.zeros(...) where the kernel adds to its output.",
)
UNWRITTEN = Message(
    "unwritten-output",
    "{count:,} elements of {tensor} were never written, the first is {first}.",
    "Does the grid cover the tensor, and does each thread that has an element store it?",
)

COPIES_STILL = Message(
    "async-copy",
    "A cp.async that {who} has started is still in flight when its block leaves the kernel.",
    "The block never uses what the copy brings. Leave out the copy, or put "
    "cute.arch.cp_async_wait_group(0) before the end: PTX does not say that the shared memory "
    "stays the block's until then.",
    note=True,
)

# -- clusters -------------------------------------------------------------------------------------
NOT_STARTED = Message(
    "block-lifetime",
    "{who} reaches {place}, which may not have started yet.",
    "Before the first access to another block put cute.arch.cluster_arrive() and "
    "cute.arch.cluster_wait(): they are over when every block of the cluster runs.",
)
HAS_LEFT = Message(
    "block-lifetime",
    "{who} reaches {place}, which may have left the kernel by then.",
    "A block has to stay until it knows that others (and its own asynchronous copies) are done "
    "with its shared memory: let it wait for that with an mbarrier, or end the kernel with "
    "cute.arch.cluster_arrive() and cute.arch.cluster_wait().",
)
HAS_LEFT_ITSELF = HAS_LEFT._replace(
    text="An asynchronous operation of {who} may still use its block's shared memory when the "
    "block has left the kernel."
)
# An H200 keeps the memory until then: book/virtual_gpu.md has the experiment.
STORES_STILL = HAS_LEFT._replace(
    text="A copy from shared to global memory, which {who} has started, may still read when its "
    "block has left the kernel.",
    advice="PTX does not promise that the shared memory stays until then; an H200 starts no other "
    "block there before. To rely on no GPU's way, let the thread wait: "
    "cute.arch.cp_async_bulk_wait_group(0, read=True).",
    note=True,
)

# -- warps ----------------------------------------------------------------------------------------
NOT_IN_OWN_MASK = Message(
    "member-mask",
    "{who}, lane {lane}, is not in the member {place} that it gives.",
    "A lane that executes the instruction must name itself; the whole warp is 0xffffffff.",
)
MASKS_DIFFER = Message(
    "member-mask",
    "{who}, lane {lane}, gives member {place}, and lane {other_lane}, which it names, gives "
    "{other_mask:#010x}.",
    "All lanes that take part in one instruction must give the same mask.",
)
INACTIVE_SOURCE = Message(
    "shuffle-inactive",
    "{who}, lane {lane}, reads from {place} of its warp, which {why}.",
    "The value is undefined. Let all 32 lanes take part, with the identity of the operation where "
    "a lane has no element, and keep offsets and mask within those that do.",
)
PART_OF_A_MATRIX = Message(
    "partial-warp",
    "{who} executes `{place}` with {there} of the 32 lanes of its warp.",
    "ldmatrix, stmatrix, mma and wgmma hold a matrix in all 32 lanes, and are undefined without "
    "one: take them out of the `if` or loop that only some lanes enter, and launch whole warps.",
)

# -- barriers of the block ------------------------------------------------------------------------
PART_OF_A_WARP = Message(
    "divergent-barrier",
    "{who} arrives with {there} of the {lanes} lanes of its warp,\nthe others do not come.",
    "A barrier counts whole warps: take it out of the `if` or loop that only some threads enter.",
)
SOME_HAVE_LEFT = Message(
    "divergent-barrier",
    "{who} arrives, and {threads} left the kernel without it, the first is\n"
    "{other}. The barrier neither waits for them nor orders what they did.",
    "Every thread of the block has to reach it: take it out of the `if` that only some threads "
    "enter, and guard the loads and stores instead.",
)
TWO_LINES = Message(
    "divergent-barrier",
    "{who} meets here threads that wait at another line: {line}.",
    "sync_threads() has to be one place that every thread of the block reaches: take it out of the "
    "branches. Threads that wait for each other in different lines need a barrier of their own, "
    "with a number and a count.",
)
